"""Statistics, counters and reports of what happened."""
