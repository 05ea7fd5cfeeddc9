"""Rows are told apart here: values become buckets."""
