"""The structures that find rows by their keys, each of them over the rows of one part."""
