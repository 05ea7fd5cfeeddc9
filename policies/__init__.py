"""The routing policies, one in each file."""
