"""Vocabulary: arrays, memory and random numbers on a device."""
