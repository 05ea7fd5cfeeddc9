"""From a tree and the types of columns to an expression."""
