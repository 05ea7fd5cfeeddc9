"""Tests of the indexes."""
