"""Doing it: arrays behind a plan's names, and the loop that walks the plan."""
