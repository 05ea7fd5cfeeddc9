"""What `eddy` can do, one command in each file."""
