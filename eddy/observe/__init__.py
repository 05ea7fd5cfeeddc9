"""Statistics, counters and reports: what happened, and what it took."""
