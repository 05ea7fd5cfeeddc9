"""Several queries over the same streams, which are answered together."""

from eddy.query.together.queries import Queries

__all__ = ["Queries"]
