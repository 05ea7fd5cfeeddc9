"""A tree and the types of columns become an expression that can be evaluated."""
