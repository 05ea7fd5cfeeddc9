"""A job runs: check, start, tell how far it is, stop."""
