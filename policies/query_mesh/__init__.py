"""Query Mesh: a tree gives each row a whole route."""
