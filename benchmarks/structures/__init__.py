"""Main-memory index structures in numpy, to compare with what a join finds its rows by."""
