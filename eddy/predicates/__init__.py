"""Filters are asked about rows here, and rows without an answer are found."""
