"""Tests of the algorithms behind Query Mesh."""
