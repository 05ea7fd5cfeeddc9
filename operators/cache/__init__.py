"""Caches: what a part of a join finds for a key, kept for whoever comes with that key."""
