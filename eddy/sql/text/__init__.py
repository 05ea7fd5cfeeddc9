"""SQL text becomes a tree."""
