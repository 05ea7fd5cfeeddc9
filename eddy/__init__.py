"""An adaptive query processor for streams: every class of tuples takes the order that is best for it, now."""

from eddy.errors import CheckpointError, EddyError, EngineError, QueryError
from eddy.local import Run, run_local
from eddy.query import Filter, Query, Range, Rows, Stream, Table, Unbounded
from eddy.report import Report

__all__ = [
    "CheckpointError",
    "EddyError",
    "EngineError",
    "Filter",
    "Query",
    "QueryError",
    "Range",
    "Report",
    "Rows",
    "Run",
    "Stream",
    "Table",
    "Unbounded",
    "run_local",
]
