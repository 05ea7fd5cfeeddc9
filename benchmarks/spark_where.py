"""`eddy.where` over batch frames, beside what one would write instead.

A figure is CPU seconds of Spark and all of its Python workers, so that other work on the machine counts little, as a
ratio to ours; contenders take turns in an order that is drawn anew each time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import pandas_udf

import eddy
from benchmarks import feeds, spark_filters
from benchmarks.measure import SEED, Goal, Line, setting, summary
from eddy.jobs.experiments.workloads.burn import add_work
from eddy.jobs.experiments.workloads.stream_star import stream_star

TASKS = 8
REPEATS = 3
WARM = 1
"""Turns that do not count: workers import and compile in them."""

OURS, CONTROL, AUTO = "where, content", "where again (control)", "where, auto"
CHAINED = "chained pandas_udf"
ROWS = {"costly": 100_000, "cheap": 1_000_000, "single": 200_000, "wide": 40_000}
WIDTH = 200

Frames = Mapping[str, Callable[[DataFrame], DataFrame]]
"""What each contender makes of the frame."""


def costly(rows: int = ROWS["costly"], repeats: int = REPEATS) -> Iterator[Line]:
    """Six filters of 20 microseconds, A = 5 %: a frame for each class of rows has its own best order."""
    values = spark_filters.selectivities(0.05)
    work = stream_star(spark_filters.OPERATORS, values.tolist(), rows=rows, seed=SEED, cost_us=spark_filters.COST_US)
    filters = work.query.filters
    judges = [(str(f.columns[0]), f.function) for f in filters if f.columns and f.function]
    static = spark_filters.in_order(judges, spark_filters.best_static(values))
    knows = spark_filters.in_order_of_class(judges, spark_filters.best_per_class(values))
    ours = lambda frame: eddy.where(frame, *filters, policy="content").select("id")  # noqa: E731
    contenders: Frames = {
        OURS: ours,
        CONTROL: ours,
        AUTO: lambda frame: eddy.where(frame, *filters).select("id"),
        CHAINED: lambda frame: spark_filters.chained(frame, judges, deterministic=True),
        spark_filters.STATIC: lambda frame: frame.mapInPandas(static, "id bigint"),
        spark_filters.KNOWS: lambda frame: frame.mapInPandas(knows, "id bigint"),
    }
    goals: dict[str, Goal] = {CHAINED: ("at least", 4.0), spark_filters.KNOWS: ("at least", 0.9)}
    yield from _compare("six filters of 20 microseconds", work.data["s"], contenders, goals, repeats)


def cheap(rows: int = ROWS["cheap"], repeats: int = REPEATS) -> Iterator[Line]:
    """Six comparisons: there is nothing to save, and a step costs what it costs."""
    chance = np.random.default_rng(SEED)
    table = pa.table({f"x{n}": chance.random(rows) for n in range(6)})
    functions = [_less(f"x{n}", 0.9) for n in range(6)]

    def by_hand(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield reduce(lambda left, n: left.filter(pa.array(left.column(f"x{n}").to_numpy() < 0.9)), range(6), batch)

    ours = lambda frame: eddy.where(frame, *functions)  # noqa: E731
    contenders: Frames = {
        AUTO: ours,
        CONTROL: ours,
        "one mapInArrow, by hand": lambda frame: frame.mapInArrow(by_hand, frame.schema),
    }
    goals: dict[str, Goal] = {"one mapInArrow, by hand": ("at least", 1 / 1.05)}
    yield from _compare("six cheap comparisons", table, contenders, goals, repeats)


def single(rows: int = ROWS["single"], repeats: int = REPEATS) -> Iterator[Line]:
    """One filter of five microseconds, which nothing can order."""
    table = pa.table({"x": np.random.default_rng(SEED).random(rows)})
    judge = add_work(lambda values: values < 0.5, 5)

    def passes(x: pd.Series) -> pd.Series:
        return pd.Series(judge(x.to_numpy()))

    make: Any = pandas_udf
    ours = lambda frame: eddy.where(frame, passes)  # noqa: E731
    contenders: Frames = {
        AUTO: ours,
        CONTROL: ours,
        "a plain pandas_udf": lambda frame: frame.where(make(passes, "boolean")("x")),
    }
    goals: dict[str, Goal] = {"a plain pandas_udf": ("at least", 1 / 1.02)}
    yield from _compare("one filter of 5 microseconds", table, contenders, goals, repeats)


def wide(rows: int = ROWS["wide"], repeats: int = REPEATS) -> Iterator[Line]:
    """Two filters over two columns, and 200 columns that only pass through."""
    chance = np.random.default_rng(SEED)
    table = pa.table({f"x{n}": chance.random(rows) for n in range(WIDTH)})
    functions = [_less("x0", 0.5), _less("x1", 0.5)]

    def by_hand(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield frame[(frame["x0"] < 0.5) & (frame["x1"] < 0.5)]

    ours = lambda frame: eddy.where(frame, *functions)  # noqa: E731
    contenders: Frames = {
        AUTO: ours,
        CONTROL: ours,
        "mapInPandas, by hand": lambda frame: frame.mapInPandas(by_hand, frame.schema),
    }
    goals: dict[str, Goal] = {"mapInPandas, by hand": ("at least", 1 / 0.8)}
    yield from _compare(f"{WIDTH} columns that only pass through", table, contenders, goals, repeats)


def _less(column: str, bound: float) -> eddy.Filter:
    return eddy.Filter(f"less_{column}", on="s", function=_below(bound), columns=[column])


def _below(bound: float) -> Callable[[np.ndarray[Any, Any]], Any]:
    def below(values: np.ndarray[Any, Any]) -> Any:
        return values < bound

    return below


def _compare(
    title: str, table: pa.Table, contenders: Frames, goals: Mapping[str, Goal], repeats: int
) -> Iterator[Line]:
    yield f"{title}: CPU seconds of a batch of {table.num_rows:,} rows in {TASKS} tasks"
    names, chance = list(contenders), np.random.default_rng(SEED)
    times = np.zeros((WARM + repeats, len(names)))
    with feeds.session() as (spark, _), tempfile.TemporaryDirectory() as folder:
        frame = _written(spark, table, Path(folder))
        for turn in range(WARM + repeats):
            counts: dict[str, int] = {}
            for which in chance.permutation(len(names)):
                before = count_cpu()
                counts[names[which]] = contenders[names[which]](frame).toArrow().num_rows
                times[turn, which] = count_cpu() - before
            if len(set(counts.values())) > 1:
                raise AssertionError(f"the contenders do not agree: {counts}")
    yield setting(rows=table.num_rows * repeats, batch=table.num_rows, seed=SEED)
    yield from summary(names, times[WARM:], baseline=names[0], goals=goals)


def _written(spark: SparkSession, table: pa.Table, folder: Path) -> DataFrame:
    for task in range(TASKS):
        first, last = (table.num_rows * edge // TASKS for edge in (task, task + 1))
        pq.write_table(table.slice(first, last - first), folder / f"{task}.parquet")
    spark.conf.set("spark.sql.files.openCostInBytes", str(128 << 20))  # a file is a task
    return spark.read.parquet(str(folder))


def count_cpu() -> float:
    """Add up the CPU seconds of this process and of all that it has started, ended ones included."""
    parents, spent = {}, {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(place.name)], spent[int(place.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent[process] for process in ours if process in spent) / os.sysconf("SC_CLK_TCK")


BENCHMARKS = (costly, cheap, single, wide)
