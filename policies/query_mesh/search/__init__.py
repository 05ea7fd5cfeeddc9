"""Routes for classes: the search over sets of routes."""
