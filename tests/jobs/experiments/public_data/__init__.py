"""Public data are read as they are, and the answers are those of DuckDB."""
