"""Policies compared side by side on the same data."""
