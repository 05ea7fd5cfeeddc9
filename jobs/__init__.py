"""What people launch."""
