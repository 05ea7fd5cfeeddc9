"""Policies side by side on a sample of a job's rows."""
