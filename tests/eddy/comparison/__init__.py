"""What the comparison of policies does."""
