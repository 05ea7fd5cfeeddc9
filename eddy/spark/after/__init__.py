"""What comes behind an eddy in the same streaming query."""
