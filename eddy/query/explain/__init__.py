"""What a query asks for, and what a run did, in words."""

from eddy.query.explain.describe import describe_query
from eddy.query.explain.run import explain

__all__ = ["describe_query", "explain"]
