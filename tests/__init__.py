"""The tests, in the shape of the tree."""
