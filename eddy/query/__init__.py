"""Queries, checked when built and against their schemas."""

from eddy.query.emit import Every
from eddy.query.filter import Filter
from eddy.query.inputs import Range, Rows, Stream, Table, Unbounded, Window
from eddy.query.query import Query
from eddy.query.statements.statement import Statement

__all__ = ["Every", "Filter", "Query", "Range", "Rows", "Statement", "Stream", "Table", "Unbounded", "Window"]
