"""Counts by which keys a STeM is searched, each way of counting in its own file."""
