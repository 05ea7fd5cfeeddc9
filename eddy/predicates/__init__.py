"""Asks filters about rows, and finds rows without an answer."""
