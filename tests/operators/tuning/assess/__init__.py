"""Tests of how searches are counted."""
