"""Tests of how key maps are chosen."""
