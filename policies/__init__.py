"""Who goes first: one routing policy per file."""
