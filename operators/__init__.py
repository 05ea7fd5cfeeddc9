"""Operators, one a file, and the stored rows behind them."""
