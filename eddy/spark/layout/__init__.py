"""Cells, and which of them a row goes to."""
