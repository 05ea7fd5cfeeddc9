"""Orders for operators that depend on each other, from profiles of rows that all of them have seen."""
