"""Experiments from files, and their tables."""
