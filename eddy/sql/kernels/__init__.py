"""Functions and operators of SQL over Arrow arrays."""
