"""What comes for the cells: rows that several of them have are counted in one, and together they answer."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import asdict
from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.observe.wire import from_plain
from eddy.query.binding import bind
from eddy.spark import cell, worker_cache
from eddy.spark.cell import unpack_arrivals
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import plan_layout
from eddy.spark.layout.shared import SharedLayout
from eddy.spark.parcels import PARCEL_SCHEMA, Naming, pack, write
from eddy.tuples.arrow import one_batch
from tests import joins, reference
from tests.eddy.spark.test_attach import cut
from tests.eddy.spark.test_cell import results, shipped, state

SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.timestamp("us", "UTC"), "k": pa.int64(), "m": pa.int64()})

SECOND = 1_000_000


def rows(count: int) -> pa.RecordBatch:
    """Of every five rows one is late, one has no time, and one has no key."""
    numbers = range(count)
    columns = {
        "id": numbers,
        "ts": [None if n % 5 == 1 else (10 if n % 5 == 2 else 100) * SECOND for n in numbers],
        "k": [None if n % 5 == 3 else n % 7 for n in numbers],
        "m": [n % 3 for n in numbers],
    }
    return pa.RecordBatch.from_arrays([pa.array(columns[f.name], f.type) for f in SCHEMA], schema=SCHEMA)


def chain(**more: Any) -> tuple[eddy.Query, Layout]:
    """Three streams that share no key, so that two of them are copied."""
    streams = [eddy.Stream(name, time="ts", window=eddy.Range("1 hour"), delay="0 seconds") for name in "abc"]
    asked = eddy.Query(streams=streams, joins=["a.k = b.k", "b.m = c.m"], select=["a.id"])
    return asked, plan_layout(bind(asked, dict.fromkeys("abc", SCHEMA)), 4, **more)


def parcels(asked: eddy.Query, layout: Layout, count: int) -> list[pd.DataFrame]:
    """What Spark hands to each cell."""
    packed = [batch for stream in asked.streams for batch in pack([rows(count)], stream, layout)]
    frame = pa.Table.from_batches(packed).to_pandas()
    return [group for _, group in frame.groupby("cell")]


def test_a_row_is_counted_once_however_many_cells_have_it() -> None:
    asked, layout = chain(sizes={"a": 100, "b": 100, "c": 100})
    sent_out = shipped(asked, schemas=dict.fromkeys("abc", SCHEMA))
    found: dict[str, Counter[str]] = {name: Counter() for name in "abc"}
    for group in parcels(asked, layout, 100):
        sent = list(cell.run(sent_out, (group["cell"].iloc[0],), [group], state(watermark=50_000)))
        told = from_plain(json.loads(sent[-1]["report"][0]))
        for name, count in told.streams.items():
            found[name].update(asdict(count))
    copies = layout.replication()
    assert sorted(copies.values()) == [1, 2, 2]
    for name, counts in found.items():
        assert (counts["rows"], counts["untimed"], counts["late"]) == (100, 20, 20)
        assert counts["keyless"] == (0 if name == "c" else 20)
        # A row without a key is in one cell.
        keyed = 100 if name == "c" else 80
        assert counts["copies"] == keyed * (copies[name] - 1)


def test_a_heavy_value_is_copied_and_counted_once() -> None:
    asked, layout = chain(heavy={"a.k": [0]})
    held: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for group in parcels(asked, layout, 70):
        came = unpack_arrivals([group], dict.fromkeys("abc", SCHEMA))
        for name, batch in came.rows.items():
            held[name] += batch.num_rows
            counted[name] += batch.num_rows - (int(came.copies[name].sum()) if name in came.copies else 0)
    assert counted == dict.fromkeys("abc", 70)
    assert held["b"] > layout.replication()["b"] * 70 * 4 / 5


def test_copies_stay_among_the_other_rows_in_the_order_of_their_source() -> None:
    """Rows of one time arrive as their source has them, which a window of rows goes by."""
    asked, layout = chain(heavy={"a.k": [0]})
    together = False
    for group in parcels(asked, layout, 70):
        came = unpack_arrivals([group], dict.fromkeys("abc", SCHEMA))
        for name, batch in came.rows.items():
            numbers = batch.column("id").to_pylist()
            assert numbers == sorted(numbers)
            together |= name in came.copies and 0 < came.copies[name].sum() < len(numbers)
    assert together


# --- any query, in cells as Spark would call them, without Spark


class Cells:
    """The cells of a random query; times are whole numbers, which Spark counts as milliseconds."""

    def __init__(self, case: joins.Case, cells: int) -> None:
        self.case, self.asked, data = case, case.query(), case.data()
        self.layout = plan_layout(bind(self.asked, {name: table.schema for name, table in data.items()}), cells)
        self.newest = dict.fromkeys(case.streams, 0)
        self.saved: dict[int, Any] = {}
        self.delays = {name: source.delay for name, source in case.streams.items() if source.delay is not None}
        self.shipped = shipped(
            self.asked,
            "fixed",
            schemas={name: case.schema(name) for name in case.streams},
            tables={name: write(one_batch(name, data[name])) for name in case.tables},
            parts={},
            ticks_per_ms=int(len(self.delays) == len(case.streams)),
            sources={source: [one.name for one in several] for source, several in self.asked.sources.items()},
        )

    def run(self, batch: dict[str, list[dict[str, Any]]]) -> list[pd.DataFrame]:
        """What a micro-batch makes each cell send."""
        marks = [self.newest[name] - math.floor(delay) for name, delay in self.delays.items()]
        watermark = max(min(marks, default=0), 0)
        packed: list[pa.RecordBatch] = []
        for first, *others in self.asked.sources.values():
            rows = pa.RecordBatch.from_pylist(batch[first.name], schema=self.case.schema(first.name))
            named = [first.name, *(one.name for one in others)]
            naming = Naming(SharedLayout.of(self.layout, named)) if others else None
            packed += pack([rows], first, self.layout, naming=naming)
        found = pa.Table.from_batches(packed, PARCEL_SCHEMA).to_pandas()
        sent = []
        for label in found["cell"].unique().tolist():
            held = state(self.saved.get(label), watermark=watermark)
            sent += list(cell.run(self.shipped, (label,), [found[found["cell"] == label]], held))
            self.saved[label] = held.get
        for source, time in zip(found["stream"], found["time"], strict=True):
            for name in (one.name for one in self.asked.sources[source]):
                self.newest[name] = max(self.newest[name], time.value // 1_000_000)
        return sent


@settings(max_examples=30)
@given(case=joins.cases(by_rows=False, clocks=False).map(cut), count=st.integers(1, 6), restarts=st.booleans())
def test_cells_give_the_naive_answer_together(case: joins.Case, count: int, restarts: bool) -> None:
    """Rows that are late or ahead are so in every cell, and a row that is ahead makes none late in another one."""
    cells, sent = Cells(case, count), []
    for batch in case.batches():
        sent += cells.run(batch)
        if restarts:
            worker_cache.ENGINES.clear()
    told = (case.question(), case.batches())
    assert results(sent) == reference.answer(*told)
    reports = [from_plain(json.loads(text)) for frame in sent for text in frame["report"] if text is not None]
    counted = [s for report in reports for s in report.streams.values()]
    assert sum(s.ahead for s in counted) == reference.ahead_rows(*told)
    assert sum(s.late for s in counted) == reference.late_rows(*told)


def test_parcels_are_read_in_one_order_in_whichever_they_come() -> None:
    """A task that is tried again is given them in another order, and must find the rows where they were."""
    asked, layout = chain()
    schemas = dict.fromkeys("abc", SCHEMA)
    pieces = [batch for stream in asked.streams for n in (7, 11) for batch in pack([rows(n)], stream, layout)]
    frame = pa.Table.from_batches(pieces).to_pandas()
    for _, group in frame.groupby("cell"):
        came, again = (unpack_arrivals(frames, schemas) for frames in ([group], [group[::-1][:2], group[::-1][2:]]))
        assert came.rows == again.rows
