"""SQL text of a whole query becomes a tree."""
