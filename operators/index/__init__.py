"""Indexes, by which a STeM finds the rows that may match."""
