"""What a file asks: one query, a statement, or several queries that are answered together."""
