"""Content-based routing: classes of rows by one attribute for each operator."""
