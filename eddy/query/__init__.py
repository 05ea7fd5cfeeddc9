"""A query, checked when it is built and against the schemas of its inputs."""

from eddy.query.filter import Filter
from eddy.query.inputs import Range, Rows, Stream, Table, Unbounded, Window
from eddy.query.query import Query

__all__ = ["Filter", "Query", "Range", "Rows", "Stream", "Table", "Unbounded", "Window"]
