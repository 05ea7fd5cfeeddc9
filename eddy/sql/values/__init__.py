"""Values of SQL: types, arrays, zones, sessions, bound steps."""
