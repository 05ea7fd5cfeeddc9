"""What statements say, beside the same said otherwise.

Windows, the newest rows of each value, one source under two names, and reading the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from benchmarks import feeds
from benchmarks.measure import SEED, WARM, Goal, Line, ratios, setting, summary
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.admission import Mark
from eddy.query.binding import bind
from eddy.spark.cell import unpack_arrivals
from eddy.spark.layout.hashing import label
from eddy.spark.layout.planning import plan_layout
from eddy.spark.layout.shared import SharedLayout
from eddy.spark.parcels import Naming, pack
from eddy.tuples.arrow import one_batch

BY_HAND, AGAIN, WIDE, NONE = "windows by hand", "by hand again (control)", "100 times too wide", "no windows"

BOUND = 3_000
"""By how many ticks the times of two rows that join may differ, by a condition."""

WINDOWS: Mapping[str, Mapping[str, int | None]] = {
    BY_HAND: {"a": 2 * BOUND, "b": BOUND, "c": 2 * BOUND},
    AGAIN: {"a": 2 * BOUND, "b": BOUND, "c": 2 * BOUND},
    WIDE: {"a": 200 * BOUND, "b": 100 * BOUND, "c": 200 * BOUND},
    NONE: dict.fromkeys("abc"),
}

KEYS, TICKS = 500, 10
"""Values of the key, and ticks from one row of a stream to the next."""

REPORTS, CARS, REPORTED = 1_000_000, 100_000, 10_000
"""Reports in all, the cars that send them, and reports of a micro-batch."""

INPUTS, CONDITIONS, TEXTS = 10, 30, 200

THEIRS = "Spark's parser"

TWO, TWO_AGAIN, ONE = "two stores", "two stores again (control)", "one store"

STORES = {TWO: None, TWO_AGAIN: None, ONE: "views"}
"""What the source of both names is called, where it is one."""

USERS, PAGES, FOLLOWING = 5_000, 1_000, 20_000
"""Users and pages, and the ticks within which a user's views follow each other."""

SIZES = {"sent": "of parcels", "saved": "of state", "stored": "of rows and indexes in memory"}

MOST_SHARED = 0.6
"""Of the bytes of two stores, those of one at most."""


def horizons(rows: int = 60_000, batch: int = 1_000) -> Iterator[Line]:
    """Windows much too wide, beside a condition that says how long a row can be met."""
    rng = np.random.default_rng(SEED)
    columns = {n: {"t": np.sort(rng.integers(0, rows * TICKS, rows)), "k": rng.integers(0, KEYS, rows)} for n in "abc"}
    parts = [
        {n: one_batch(n, pa.table(held).slice(at, batch)) for n, held in columns.items()}
        for at in range(0, rows, batch)
    ]
    yield "three streams, times within a bound by conditions; " + setting(rows=rows, batch=batch, seed=SEED)
    engines = {name: _make_engine(windows, parts[0]) for name, windows in WINDOWS.items()}
    stored: dict[str, list[int]] = {name: [] for name in engines}

    def run(name: str, engine: Engine, part: Mapping[str, pa.RecordBatch]) -> pa.Table:
        found = pa.Table.from_batches(engine.run(part), engine.schema)
        stored[name].append(sum(one.nbytes for one in engine.read_counters().streams.values()))
        return found

    contenders = {name: partial(run, name, engine) for name, engine in engines.items()}
    goals: Any = dict.fromkeys((WIDE, NONE), ("at most", 1.1))
    yield from ratios(contenders, parts, baseline=BY_HAND, goals=goals, clock=time.process_time)
    least = float(np.mean(stored[BY_HAND][WARM:]))
    for name, sizes in stored.items():
        times = float(np.mean(sizes[WARM:])) / least
        yield f"{name:<28} {times:6.3f} times the bytes of rows and indexes (goal: at most 1.1): {_tell(times <= 1.1)}"


def newest(reports: int = REPORTS, cars: int = CARS, batch: int = REPORTED) -> Iterator[Line]:
    """The newest report of each car: how many rows are stored."""
    rng = np.random.default_rng(SEED)
    table = pa.table({"t": np.arange(reports), "car": rng.integers(0, cars, reports)})
    asked = pa.table({"t": np.arange(0, reports, 1_000), "car": rng.integers(0, cars, -(-reports // 1_000))})
    query = eddy.Query(
        streams=[
            eddy.Stream("reports", time="t", window=eddy.Rows(1, by="car"), delay=0),
            eddy.Stream("tolls", time="t", window=eddy.Range(0), delay=0),
        ],
        joins=["reports.car = tolls.car"],
    )
    parts = {
        "reports": [table.slice(at, batch) for at in range(0, reports, batch)],
        "tolls": [asked.slice(at // 1_000, -(-batch // 1_000)) for at in range(0, reports, batch)],
    }
    begun = time.process_time()
    run = eddy.run_local(query, parts, policy="fixed")
    seconds = time.process_time() - begun
    counted = run.report.streams()
    most = int(counted[counted["stream"] == "reports"]["stored"].max())
    yield f"{reports:,} reports of {cars:,} cars, the newest of each; micro-batches of {batch:,}"
    told = _tell(most <= 1.2 * cars)
    yield f"at most {most:,} rows are stored: {most / cars:.3f} times the cars (goal: at most 1.2): {told}"
    yield f"{1e6 * seconds / reports:.2f} microseconds a report"


class Cells:
    """A self-join from the packing of its rows to the state of its cells, without Spark."""

    def __init__(self, query: eddy.Query, schema: pa.Schema) -> None:
        self.query = query
        self.schemas = dict.fromkeys([stream.name for stream in query.streams], schema)
        self.layout = plan_layout(bind(query, self.schemas), feeds.CORES)
        self.engines = [self._make_engine(cell) for cell in range(self.layout.cells)]
        self.newest = -1
        self.sent: list[int] = []
        self.saved: list[int] = []
        self.stored: list[int] = []

    def _make_engine(self, cell: int) -> Engine:
        more: Mapping[str, Any] = {"cell": cell, "cells": self.layout.cells}
        return wiring.engine(self.query, self.schemas, "fixed", tables={}, clock=time.perf_counter, seed=SEED, **more)

    def run(self, rows: pa.RecordBatch) -> pa.Table:
        """Pack the rows of a micro-batch, and give what all cells find."""
        sources = {name: [one.name for one in several] for name, several in self.query.sources.items()}
        parcels: list[pa.RecordBatch] = []
        for streams, names in zip(self.query.sources.values(), sources.values(), strict=True):
            naming = Naming(SharedLayout.of(self.layout, names)) if len(names) > 1 else None
            parcels += pack([rows], streams[0], self.layout, naming=naming)
        frame = pa.Table.from_batches(parcels).to_pandas()
        self.sent.append(int(frame["payload"].map(len).sum()))
        found: list[pa.RecordBatch] = []
        saved = 0
        for cell, engine in enumerate(self.engines):
            columns = {source: self.schemas[names[0]] for source, names in sources.items()}
            came = unpack_arrivals([frame[frame["cell"] == label(cell)]], columns, sources)
            found += engine.run(came.rows, Mark.alone(self.newest, came.copies, came.wanted))
            state = engine.snapshot()
            saved += len(state.meta) + len(state.blob)
        self.saved.append(saved)
        self.newest = int(rows.column("at")[-1].as_py())
        counted = [count for engine in self.engines for count in engine.read_counters().streams.values()]
        self.stored.append(sum(count.nbytes for count in counted))
        return pa.Table.from_batches(found, self.engines[0].schema)


def shared(rows: int = 100_000, batch: int = 1_000) -> Iterator[Line]:
    """Views of a user that follow each other: one source under two names, stored once or twice."""
    chance = np.random.default_rng(SEED)
    users, pages = chance.integers(0, USERS, rows), chance.integers(0, PAGES, rows)
    table = pa.table({"id": np.arange(rows), "at": np.arange(rows), "user": users, "price": chance.random(rows)})
    table = table.append_column("page", pa.array([f"/shop/{page}" for page in pages.tolist()]))
    parts = [one_batch("views", table.slice(at, batch)) for at in range(0, rows, batch)]
    yield "a self-join from packed rows to saved state; " + setting(rows=rows, batch=batch, seed=SEED)
    paths = {name: Cells(_make_self_join(source), table.schema) for name, source in STORES.items()}
    yield from ratios(
        {name: path.run for name, path in paths.items()}, parts, baseline=TWO, agree=_agree, clock=time.process_time
    )
    for what in ("sent", "saved", "stored"):
        sizes = {name: float(np.mean(getattr(path, what)[WARM:])) for name, path in paths.items()}
        for name in (TWO_AGAIN, ONE):
            times, goal = sizes[name] / sizes[TWO], "" if name != ONE or what == "stored" else " (goal: at most 0.6)"
            told = f": {_tell(times <= MOST_SHARED)}" if goal else ""
            yield f"{name:<28} {times:6.3f} times the bytes {SIZES[what]}, {sizes[name]:,.0f}{goal}{told}"


def _make_self_join(source: str | None) -> eddy.Query:
    said: Mapping[str, Any] = {"time": "at", "delay": 0, "window": eddy.Range(FOLLOWING), "source": source}
    return eddy.Query(
        streams=[eddy.Stream(name, **said) for name in ("before", "after")],
        joins=["before.user = after.user", "before.id < after.id"],
        # What one name alone reads is stored once in any case; here both read the same columns.
        select=["before.page", "before.price", "after.page AS next", "after.price AS then"],
    )


def _agree(answers: Mapping[str, Any]) -> None:
    """All find the same, in some order."""
    found = [answer.sort_by([(name, "ascending") for name in answer.column_names]) for answer in answers.values()]
    if not all(one.equals(found[0]) for one in found):
        raise AssertionError("one store has other results than two")


def reading(texts: int = TEXTS) -> Iterator[Line]:
    """A statement of ten inputs and thirty conditions, beside Spark's parser once that is warm."""
    inputs = [f"STREAM s{n} WATERMARK at DELAY OF INTERVAL 1 MINUTE AS a{n}" for n in range(INPUTS)]
    joins = [f"a{n}.k = a{n + 1}.k" for n in range(INPUTS - 1)]
    filters = [f"(a{n % INPUTS}.v{n} > {n} OR a{n % INPUTS}.name LIKE 'x{n}%')" for n in range(CONDITIONS - len(joins))]
    text = f"SELECT {', '.join(f'a{n}.v{n}' for n in range(INPUTS))} FROM {', '.join(inputs)} "
    text += f"WHERE {' AND '.join([*joins, *filters])}"
    with feeds.session() as (spark, _):
        parser: Any = spark._jsparkSession.sessionState().sqlParser()  # there is no public way to it
        readers: Mapping[str, Callable[[str], object]] = {
            THEIRS: parser.parsePlan,
            f"{THEIRS} again (control)": parser.parsePlan,
            "eddy.Statement": eddy.Statement,
        }
        taken = np.zeros((texts, len(readers)))
        chance = np.random.default_rng(SEED)
        for turn, which in ((turn, which) for turn in range(texts) for which in chance.permutation(len(readers))):
            # A text of its own in each turn: nobody may know it already.
            one = f"{text} AND a0.v0 <> {turn}"
            begun = time.perf_counter()
            [*readers.values()][which](one)
            taken[turn, which] = time.perf_counter() - begun
        yield f"reading a statement of {INPUTS} inputs and {CONDITIONS} conditions, {texts} times"
        goals: Mapping[str, Goal] = {"eddy.Statement": ("at most", 1.0)}
        yield from summary(list(readers), taken[texts // 2 :], baseline=THEIRS, goals=goals)


def _make_engine(windows: Mapping[str, int | None], first: Mapping[str, pa.RecordBatch]) -> Engine:
    query = eddy.Query(
        streams=[
            eddy.Stream(name, time="t", delay=0, window=eddy.Unbounded() if length is None else eddy.Range(length))
            for name, length in windows.items()
        ],
        joins=[
            "a.k = b.k",
            "b.k = c.k",
            f"b.t BETWEEN a.t - {BOUND} AND a.t + {BOUND}",
            f"c.t BETWEEN b.t - {BOUND} AND b.t + {BOUND}",
        ],
    )
    schemas = {name: rows.schema for name, rows in first.items()}
    return wiring.engine(query, schemas, "fixed", tables={}, clock=time.perf_counter, seed=SEED)


def _tell(is_met: bool) -> str:
    return "met" if is_met else "missed"


BENCHMARKS = (horizons, newest, shared, reading)
