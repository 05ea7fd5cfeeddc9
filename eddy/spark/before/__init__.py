"""What Spark does before the eddy: frames are read, and filters that it may evaluate are left to it."""
