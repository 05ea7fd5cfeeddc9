"""Policies side by side on the same data: runs, figures, a verdict, plots and a report."""
