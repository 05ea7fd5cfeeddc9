"""Tests of when indexes are chosen."""
