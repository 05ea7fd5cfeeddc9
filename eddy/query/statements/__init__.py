"""A query as one SQL statement, read and written."""
