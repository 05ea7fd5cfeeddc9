"""The cost of an eddy in Spark that has nothing to gain.

It is held against its bare skeleton, without state and with much of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import eddy
from benchmarks import feeds, spark_joins
from benchmarks.measure import Goal, Line, summary
from benchmarks.skeleton import Steps, skeleton
from benchmarks.suite import SETTLING, Suite
from benchmarks.turns import WARM, Contender, start_all, turns
from benchmarks.workloads import COMMON, STREAMS

OURS, CONTROL, BARE = "eddy", "eddy again (control)", "bare skeleton"
STATELESS = "eddy, without a delay"
"""Nothing can be late and nothing is kept, so it has neither a shuffle nor a state store."""

STEPS = {
    BARE: Steps(),
    "and the guard": Steps(guarded=True),
    "and reports": Steps(guarded=True, reported=True),
    "and unpacking": Steps(guarded=True, reported=True, unpacked=True),
}

ROWS, REPEATS = 1_000, 9
THROUGH_ROWS = 20_000
"""Rows of a micro-batch of the query that passes everything through."""

THROUGH_GOALS: dict[str, Goal] = {BARE: ("at least", 0.8)}
FIXED_GOALS: dict[str, Goal] = {BARE: ("at least", 0.87)}
"""The time that the skeleton must take at least, in times of ours; the second is our share of 15 %."""

STATE_GOAL = 0.15
"""Seconds that a state of 20 MB in each cell may cost in every micro-batch."""

WIDE = 1_300
"""Bytes of a row that is stored: two streams have 20 MB in each of two cells with so many rows as a window has."""

WINDOWS = (100, 4_000, 15_000)
"""In rows: next to nothing, 5 MB a cell, and 20 MB a cell."""


def through(rows: int = THROUGH_ROWS, repeats: int = REPEATS, warm: int = WARM) -> Iterator[Line]:
    """One stream that passes through, with no filter and no join."""
    suite = Suite(warm=ROWS, sizes=(rows,), repeats=repeats, warm_batches=warm, files=feeds.CORES)
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts", window=eddy.Range("1 second"), delay="0 seconds")])
    light = eddy.Query(streams=[eddy.Stream("a")])
    yield "a query that passes every row through, beside a skeleton from which nothing comes out"
    with feeds.session() as (spark, place):
        suite.write(place, spark_joins.tables({"a": COMMON.data(suite.rows)["a"]}))

        def source(spark: SparkSession) -> DataFrame:
            return feeds.stream(spark, place / "a", feeds.CORES)

        def ours(spark: SparkSession) -> DataFrame:
            return eddy.attach(asked, {"a": source(spark)}, policy="fixed", cells=feeds.CORES)

        contenders = {
            OURS: Contender(frame=ours),
            CONTROL: Contender(frame=ours),
            STATELESS: Contender(frame=lambda spark: eddy.attach(light, {"a": source(spark)}, policy="fixed")),
            BARE: Contender(frame=lambda spark: skeleton([source(spark)], Steps(), "id bigint")),
        }
        yield from suite.compare(spark, contenders, place, baseline=OURS, goals=(THROUGH_GOALS,), agree=_agree)


def fixed(rows: int = ROWS, repeats: int = REPEATS, warm: int = WARM) -> Iterator[Line]:
    """A small four-way join, beside the skeleton and the steps that are added to it."""
    suite = Suite(warm=rows, sizes=(rows,), repeats=repeats, warm_batches=warm)
    yield "four streams that join, beside the skeleton that they need and further steps, each with those before it"
    with feeds.session() as (spark, place):
        suite.write(place, spark_joins.tables(COMMON.data(suite.rows)))
        ours = spark_joins.contenders(COMMON, place)[spark_joins.OURS]
        contenders = {OURS: ours, CONTROL: ours} | {name: _bare(steps, place) for name, steps in STEPS.items()}
        yield from suite.compare(spark, contenders, place, baseline=OURS, goals=(FIXED_GOALS,), agree=_agree)


def _bare(steps: Steps, place: Path) -> Contender:
    def frame(spark: SparkSession) -> DataFrame:
        streams = [feeds.stream(spark, place / s).select("ts", "id", "k") for s in STREAMS]
        return skeleton(streams, steps, "a bigint, b bigint, c bigint, d bigint")

    return Contender(frame=frame)


def state(
    repeats: int = REPEATS, windows: tuple[int, ...] = WINDOWS, wide: int = WIDE, warm: int = WARM
) -> Iterator[Line]:
    """Compare windows of several sizes.

    Over rows that join others of the same time only. The largest window is held a second time over rows of texts.
    """
    fill = -(-max(windows) // ROWS) + SETTLING
    suite = Suite(warm=ROWS, sizes=(ROWS,), repeats=repeats, warm_batches=max(fill, warm))
    with feeds.session() as (spark, place):
        suite.write(place / NOISE, _wide(suite.rows, wide, _make_noise))
        suite.write(place / TEXTS, _wide(suite.rows, wide, _make_lines))
        contenders = {f"window of {window:,} rows": _windowed(window, place / NOISE) for window in windows}
        contenders[f"window of {max(windows):,} rows, {TEXTS}"] = _windowed(max(windows), place / TEXTS)
        with start_all(spark, contenders, place) as running:
            turns(running, suite.warm_batches - 1 + SETTLING)
            times = turns(running, repeats, agree=_same_of_noise)
            reports = [eddy.report_of(one.query) for one in running.values()]
            held = [report.batches()["state_bytes"].iloc[-1] for report in reports]
            stored = [report.streams()["nbytes"].iloc[-len("ab") :].sum() for report in reports]
    yield f"micro-batches of {ROWS:,} rows of {wide:,} bytes, two streams, {feeds.CORES} cells"
    yield from summary(list(contenders), times, baseline=next(iter(contenders)))
    more = np.median(times - times[:, :1], axis=0)
    for name, size, rows, seconds in zip(contenders, held, stored, more, strict=True):
        cell = f"{rows / feeds.CORES / 1e6:.1f} MB of rows a cell, {size / feeds.CORES / 1e6:.1f} MB of state"
        yield f"{name}: {cell}, {seconds:.3f} s more than with the smallest"
    for name, seconds in list(zip(contenders, more, strict=True))[-2:]:
        yield f"{name}: goal: at most {STATE_GOAL} s more: {'met' if seconds <= STATE_GOAL else 'missed'}"


def _wide(rows: int, wide: int, make: Callable[[np.random.Generator, int], bytes]) -> dict[str, pa.Table]:
    """Rows with a key of their own in each stream, and some bytes."""
    rng = np.random.default_rng(0)
    kind = pa.timestamp("us", "UTC")
    numbers = np.arange(rows)
    times = pa.array(numbers * spark_joins.TICK, kind)
    return {
        s: pa.table({"ts": times, "k": numbers, "bytes": pa.array([make(rng, wide) for _ in range(rows)], pa.binary())})
        for s in "ab"
    }


def _make_noise(rng: np.random.Generator, wide: int) -> bytes:
    """Bytes that no compression makes smaller."""
    return rng.bytes(wide)


def _make_lines(rng: np.random.Generator, wide: int) -> bytes:
    """Fields of a log, each with a number that is nearly its own: zstd makes a third of them."""
    kinds, numbers = rng.integers(0, len(FIELDS), wide), rng.integers(0, 1_000_000, wide)
    line = b" ".join(FIELDS[k] + b"%d" % n for k, n in zip(kinds[: wide // 4], numbers, strict=False))
    return line[:wide]


NOISE, TEXTS = "noise", "texts"

FIELDS = tuple(b"%s%d=" % (name, n) for name in (b"user-agent-", b"path-/shop/", b"session-") for n in range(100))
"""Names of fields, as many as make lines of a log differ."""


def _windowed(window: int, place: Path) -> Contender:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(f"{window} milliseconds"), delay="0 seconds") for s in "ab"]
    asked = eddy.Query(
        streams=streams,
        joins=["a.k = b.k"],
        filters=[eddy.Filter("apart", on=("a", "b"), where="a.bytes <= b.bytes")],
        select=["a.k as k"],
    )

    def frame(spark: SparkSession) -> DataFrame:
        return eddy.attach(asked, {s: feeds.stream(spark, place / s) for s in "ab"}, policy="fixed", cells=feeds.CORES)

    return Contender(frame=frame)


def _agree(answers: Mapping[str, Any]) -> None:
    """All of ours must find the same; nothing comes out of a skeleton."""
    _same({name: answers[name] for name in (OURS, CONTROL, STATELESS) if name in answers})


def _same_of_noise(answers: Mapping[str, Any]) -> None:
    """Which rows pass depends on their bytes, so those of texts find others."""
    _same({name: answer for name, answer in answers.items() if TEXTS not in name})


def _same(answers: Mapping[str, Any]) -> None:
    found = [sorted(zip(*answer.to_pydict().values(), strict=True)) for answer in answers.values()]
    if any(rows != found[0] for rows in found) or not found[0]:
        raise AssertionError(f"the contenders do not agree: {[len(rows) for rows in found]} rows")


BENCHMARKS = (through, fixed, state)
