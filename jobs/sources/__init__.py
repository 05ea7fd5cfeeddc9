"""Where the rows of a job come from, one kind in each file."""
