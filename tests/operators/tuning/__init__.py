"""Tests of how indexes are chosen."""
