"""The engine without Spark: tests, notebooks, experiments."""

from eddy.local.feeds import BATCH_ROWS, Data, make_table
from eddy.local.run import Run, Running, iter_local, run_local
from eddy.local.together import RunningTogether, RunTogether

__all__ = [
    "BATCH_ROWS",
    "Data",
    "Run",
    "RunTogether",
    "Running",
    "RunningTogether",
    "iter_local",
    "make_table",
    "run_local",
]
