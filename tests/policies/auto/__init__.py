"""`auto`: a module of tests for each of its own."""
