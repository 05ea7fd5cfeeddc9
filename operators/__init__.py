"""What can be done to tuples: one operator per file."""
