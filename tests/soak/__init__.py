"""What takes long and goes looking: many random queries, many bad inputs, many faults, and a summary."""
