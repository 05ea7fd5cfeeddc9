"""An adaptive query processor for streams: every class of tuples takes the order that is best for it, now."""

from eddy.version import __version__  # isort: skip  it says what is too old before anything else fails

from eddy.comparison.compare import compare
from eddy.comparison.result import Comparison, plot_regret
from eddy.errors import CheckpointError, EddyError, EddyWarning, EngineError, QueryError
from eddy.local import Run, Running, RunningTogether, RunTogether, iter_local, run_local
from eddy.observe.report import Report
from eddy.query import Every, Filter, Query, Range, Rows, Statement, Stream, Table, Unbounded
from eddy.query.explain import explain
from eddy.query.shorthand import predicate
from eddy.query.together import Queries
from eddy.query.together.report import ReportTogether
from eddy.spark.attach import attach
from eddy.spark.monitoring.follow import follow
from eddy.spark.progress import report_of
from eddy.spark.together.answers import each, of
from eddy.where import rejected, where

__all__ = [
    "CheckpointError",
    "Comparison",
    "EddyError",
    "EddyWarning",
    "EngineError",
    "Every",
    "Filter",
    "Queries",
    "Query",
    "QueryError",
    "Range",
    "Report",
    "ReportTogether",
    "Rows",
    "Run",
    "RunTogether",
    "Running",
    "RunningTogether",
    "Statement",
    "Stream",
    "Table",
    "Unbounded",
    "__version__",
    "attach",
    "compare",
    "each",
    "explain",
    "follow",
    "iter_local",
    "of",
    "plot_regret",
    "predicate",
    "rejected",
    "report_of",
    "run_local",
    "where",
]
