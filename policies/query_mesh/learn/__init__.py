"""The classifier of Query Mesh, learned from samples."""
