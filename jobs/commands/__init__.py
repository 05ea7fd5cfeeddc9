"""The commands of `eddy`, one in each file."""
