"""Sources of a job's rows, one kind in each file."""
