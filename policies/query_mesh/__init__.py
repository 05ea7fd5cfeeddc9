"""Query Mesh: routes for classes of rows, the tree that tells the classes apart, and the search for both."""
