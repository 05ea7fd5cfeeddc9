"""Tests of what people launch."""
