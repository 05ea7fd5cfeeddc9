"""Tests of which rows get new indexes."""
