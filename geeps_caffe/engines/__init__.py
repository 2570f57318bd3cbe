"""Vocabulary: the operations that matter for speed, one folder per engine."""
