"""Eight streaming queries as one, beside eight streaming queries of ours and of Spark's own.

Each is a four-way join by one key with four filters; see `query_sets`. Filters are SQL, so that Spark's own queries
have them in compiled code. A row comes every millisecond, windows hold 10,000 rows of a stream, and a micro-batch has
1,000 rows of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

import eddy
from benchmarks import feeds, spark_joins
from benchmarks.measure import SEED, Goal, Line, setting, summary
from benchmarks.query_sets import QuerySet, agree, make_data
from benchmarks.spark_joins import ROCKSDB, STORES
from benchmarks.suite import SETTLING, Suite
from benchmarks.turns import Contender, Several, Steps, start_all, turns
from benchmarks.workloads import COMMON, STREAMS

OURS, CONTROL = "a set of eight", "a set again (control)"
APART, AFTER = "eight, at the same time", "eight, one after the other"
EACH = "a set, a function for each"
WARM_ROWS = 2_500
FULL = 5
"""Micro-batches of so many rows a stream that fill the windows."""

BATCH = 1_000
REPEATS = 5
FEW = 3
"""Micro-batches that count where there are eight in each."""

OWN_GOALS: dict[str, Goal] = {APART: ("at least", 4.0), AFTER: ("at least", 5.0)}
NATIVE_GOALS: dict[str, Goal] = {APART: ("at least", 6.0), AFTER: ("at least", 10.0)}
LOOSEST_GOALS: tuple[dict[str, Goal], ...] = (
    dict.fromkeys(STORES, ("at least", 1.8)),
    dict.fromkeys(STORES, ("at least", 2.5)),
)

COUNTS = (1, 8, 16, 32, 64)
FURTHER_GOAL = 0.03
"""The share of a micro-batch of one query that one more may take."""

EIGHT = QuerySet()


def own(batch: int = BATCH, repeats: int = FEW, warm: int = FULL) -> Iterator[Line]:
    """A set of eight, beside the eight as queries of ours."""
    queries = EIGHT.write(list_streams())

    def make(place: Path) -> dict[str, Contender]:
        return {name: Contender(frame=partial(attach_one, query, place)) for name, query in queries.items()}

    yield from _compare_apart("queries of ours", make, OWN_GOALS, (batch, repeats, warm))


def native(batch: int = BATCH, repeats: int = FEW, warm: int = FULL) -> Iterator[Line]:
    """A set of eight, beside eight of Spark's stream-stream joins, with the store that is faster for so few rows."""

    def make(place: Path) -> dict[str, Contender]:
        settings = STORES[ROCKSDB]
        return {
            f"q{number}": Contender(frame=partial(join_natively, EIGHT.list_bounds(number), place), settings=settings)
            for number in range(EIGHT.count)
        }

    yield from _compare_apart(f"Spark's own, {ROCKSDB}", make, NATIVE_GOALS, (batch, repeats, warm))


class _Sizes(NamedTuple):
    batch: int
    repeats: int
    warm: int


def _compare_apart(
    what: str, make: Callable[[Path], Mapping[str, Contender]], goals: Mapping[str, Goal], sizes: tuple[int, int, int]
) -> Iterator[Line]:
    """Compare the set with eight queries, which run at the same time, and then one after the other."""
    size = _Sizes(*sizes)
    suite = Suite(warm=WARM_ROWS, sizes=(size.batch,) * 2, repeats=size.repeats, warm_batches=size.warm)
    with feeds.session() as (spark, place):
        write(suite, place)
        yield f"eight queries, beside {what}; " + setting(rows=size.repeats * size.batch, batch=size.batch, seed=SEED)
        sets = {name: Contender(frame=partial(attach_set, EIGHT, place)) for name in (OURS, CONTROL)}
        with start_all(spark, {**sets, **make(place)}, place) as running:
            ours = {name: running.pop(name) for name in sets}
            turns({**ours, APART: Several(running, at_once=True)}, size.warm - 1, agree=agree)
            for number, name in enumerate((APART, AFTER), 1):
                contenders: dict[str, Steps] = {**ours, name: Several(running, at_once=name == APART)}
                turns(contenders, SETTLING, agree=agree)
                times = turns(contenders, size.repeats, agree=agree, seed=SEED + number)
                for ratio in summary([*contenders], times, baseline=OURS, goals=goals):
                    yield ratio
                    yield f"    {1e3 * ratio.each:,.0f} ms a micro-batch"


def loosest(sizes: Sequence[int] = (BATCH, 10 * BATCH), repeats: int = REPEATS, warm: int = FULL) -> Iterator[Line]:
    """A set of eight, beside one native join with the loosest conditions and eight filters behind it."""
    suite = Suite(warm=WARM_ROWS, sizes=sizes, repeats=repeats, warm_batches=warm)
    every = [EIGHT.list_bounds(number) for number in range(EIGHT.count)]
    loose = {s: max(bounds[s] for bounds in every) for s in STREAMS}
    with feeds.session() as (spark, place):
        write(suite, place)
        ours = Contender(frame=partial(attach_set, EIGHT, place))
        contenders = {
            OURS: ours,
            CONTROL: ours,
            EACH: Contender(frame=ours.frame, collect=collect_each),
            **{
                name: Contender(frame=partial(join_natively, loose, place), settings=settings, collect=filter_each)
                for name, settings in STORES.items()
            },
        }
        yield "eight queries, beside one native join with the loosest conditions and eight filters in foreachBatch"
        yield from suite.compare(spark, contenders, place, baseline=OURS, goals=LOOSEST_GOALS, agree=agree)


def growth(
    counts: Sequence[int] = COUNTS, batch: int = BATCH, repeats: int = 2 * REPEATS, warm: int = FULL
) -> Iterator[Line]:
    """One query to 64, each number of them as one set."""
    suite = Suite(warm=WARM_ROWS, sizes=(batch,), repeats=repeats, warm_batches=warm)
    with feeds.session() as (spark, place):
        write(suite, place)
        named = {f"{count} queries": QuerySet(count=count) for count in counts}
        again = f"{counts[0]} queries again (control)"
        sets = {**named, again: QuerySet(count=counts[0])}
        contenders = {name: Contender(frame=partial(attach_set, one, place)) for name, one in sets.items()}
        yield "sets of queries; " + setting(rows=repeats * batch, batch=batch, seed=SEED)
        with start_all(spark, contenders, place) as running:
            turns(running, warm - 1 + SETTLING)
            times = turns(running, repeats)
        first, *_ = contenders
        yield from summary([*contenders], times, baseline=first)
        ratios = times / times[:, [0]]
        for column, count in enumerate(counts):
            if count > counts[0]:
                low, middle, high = np.percentile((ratios[:, column] - 1) / (count - counts[0]), [25, 50, 75])
                told = f"{middle:.4f} [{low:.4f} .. {high:.4f}] of the micro-batch of {counts[0]}"
                met = "met" if middle <= FURTHER_GOAL else "missed"
                yield f"one more query, up to {count}: {told} (goal: at most {FURTHER_GOAL}): {met}"


def write(suite: Suite, place: Path) -> None:
    """Write the files of all streams."""
    suite.write(place, spark_joins.tables(make_data(suite.rows)))


def list_streams() -> list[eddy.Stream]:
    """List the streams with times that Spark takes for such."""
    window = eddy.Range(f"{COMMON.window} milliseconds")
    return [eddy.Stream(s, time="ts", window=window, delay="0 seconds") for s in STREAMS]


def attach_set(queries: QuerySet, place: Path, spark: SparkSession) -> DataFrame:
    """Give the common answer of a set."""
    asked = eddy.Queries([*queries.write(list_streams()).values()])
    return eddy.attach(asked, read_sources(spark, place), cells=feeds.CORES)


def attach_one(query: eddy.Query, place: Path, spark: SparkSession) -> DataFrame:
    """Give the answer of one query."""
    return eddy.attach(query, read_sources(spark, place), cells=feeds.CORES)


def join_natively(bounds: Mapping[str, int], place: Path, spark: SparkSession) -> DataFrame:
    """Join in Spark's own words, with the filters before the joins, as its optimizer would have them."""
    frames = {s: frame.where(F.col("v") < bounds[s]) for s, frame in read_sources(spark, place).items()}
    return spark_joins.native(COMMON, frames, values=("v",))


def read_sources(spark: SparkSession, place: Path) -> dict[str, DataFrame]:
    """Read the files of all streams."""
    return {s: feeds.stream(spark, place / s) for s in STREAMS}


def collect_each(frame: DataFrame) -> dict[str, pa.Table]:
    """Collect the answer of a micro-batch query by query, as functions for each of them do."""
    found: dict[str, pa.Table] = {}

    def take(name: str, rows: DataFrame, _batch: int) -> None:
        found[name] = rows.toArrow()

    eddy.each({f"q{number}": partial(take, f"q{number}") for number in range(EIGHT.count)})(frame, 0)
    return found


def filter_each(frame: DataFrame) -> dict[str, pa.Table]:
    """Filter what the loosest conditions let pass, for each query."""
    frame.persist()
    try:
        return {
            f"q{number}": frame.where(" and ".join(f"{s}_v < {bound}" for s, bound in bounds.items()))
            .select(*STREAMS)
            .toArrow()
            for number, bounds in enumerate(map(EIGHT.list_bounds, range(EIGHT.count)))
        }
    finally:
        frame.unpersist()


BENCHMARKS = (own, native, loosest, growth)
