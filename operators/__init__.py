"""What can be done to tuples, one operator a file, and the stored rows behind them."""
