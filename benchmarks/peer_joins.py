"""Growth of joins beside DuckDB, Polars, and a loop by hand.

All streams share one key with as many values as the window has rows. The others are given an order; with one key and
alike streams none is better. What is gained where orders differ is in `joins`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks import joins, plots
from benchmarks.contenders import ByHand, Duck, make_engine, run_whole
from benchmarks.growth import COUNTED, Case, Growth, growth
from benchmarks.measure import WARM, Line
from benchmarks.polars_joins import PolarsJoins
from benchmarks.workloads import Batch, Workload, batches

OURS, CONTROL, BY_HAND, DUCK, POLARS = "eddy, content", "eddy again (control)", "numpy, by hand", "duckdb", "polars"

ROWS, WINDOW, STREAMS = 1_000, 10_000, 4
ROW_SIZES = (250, 1_000, 4_000)
WINDOW_SIZES = (1_000, 10_000, 40_000)
STREAM_SIZES = (2, 3, 4, 5)
NAMES = "abcde"


def rows(sizes: Sequence[int] = ROW_SIZES, folder: Path = plots.FIGURES) -> Iterator[Line | Growth]:
    """By the rows of a micro-batch."""
    yield f"join of {STREAMS} streams, window of {WINDOW:,} rows"
    made = lambda size: case(size, WINDOW, STREAMS)  # noqa: E731
    yield from growth("rows a stream of a micro-batch", sizes, made, rows=int, folder=folder, file="join_rows.svg")


def window(sizes: Sequence[int] = WINDOW_SIZES, folder: Path = plots.FIGURES) -> Iterator[Line | Growth]:
    """By the rows of a window."""
    yield f"join of {STREAMS} streams, {ROWS:,} rows a stream"
    made = lambda size: case(ROWS, size, STREAMS)  # noqa: E731
    yield from growth("rows of a window", sizes, made, rows=lambda _: ROWS, folder=folder, file="join_window.svg")


def streams(sizes: Sequence[int] = STREAM_SIZES, folder: Path = plots.FIGURES) -> Iterator[Line | Growth]:
    """By the number of streams."""
    yield f"join with a window of {WINDOW:,} rows, {ROWS:,} rows a stream"
    made = partial(case, ROWS, WINDOW)
    yield from growth("streams", sizes, made, rows=lambda _: ROWS, folder=folder, file="join_streams.svg")


def case(size: int, width: int, count: int, counted: int = COUNTED) -> Case:
    """A join of so many streams; what fills the windows does not count."""
    names = NAMES[:count]
    workload = Workload(name="one key", keys={"k": names}, domains=lambda _: [width], window=width)
    warm = max(WARM, -(-width // size)) + 1
    parts = batches(workload.data((warm + counted) * size), size)
    contenders: dict[str, Callable[[Batch], object]] = {
        OURS: run_whole(make_engine(workload, parts[0], "content")),
        CONTROL: run_whole(make_engine(workload, parts[0], "content")),
        BY_HAND: ByHand(workload, names),
        DUCK: Duck(workload),
        POLARS: PolarsJoins(workload, names),
    }
    return Case(contenders=contenders, batches=parts, warm=warm, agree=joins.agree)


BENCHMARKS = (rows, window, streams)
