"""Do the flights leave and arrive when they did, and is the answer the one that DuckDB gives."""
