"""Cells, and the cells that each row goes to."""
