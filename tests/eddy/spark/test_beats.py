"""An answer with a watermark: no result is lost behind the eddy, and the watermark moves on without results."""

from __future__ import annotations

import json
import re
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import eddy
from eddy.observe import wire
from eddy.query.binding import bind
from eddy.query.statements.result_time import find_span
from eddy.spark import cell, checkpoint_guard
from eddy.spark.after.beats import ResultTime, plan_time
from eddy.spark.layout.hashing import label
from eddy.spark.layout.planning import plan_layout
from eddy.spark.parcels import PARCEL_SCHEMA, pack, rows_of
from tests.eddy.spark import feeds
from tests.eddy.spark.test_aggregates import END, QUERY, counted, data, warned
from tests.eddy.spark.test_attach import DAY, SECOND, table
from tests.eddy.spark.test_cell import shipped, state

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW, DELAY = 20, 5
"""Seconds."""

MILLISECOND = 1_000

MOMENT = pa.timestamp("us", "UTC")


def query(window: int = WINDOW, delay: int = DELAY, slow: int = DELAY, **changes: Any) -> eddy.Query:
    delays = {"a": delay, "b": slow}
    streams = [
        eddy.Stream(name, time="ts", window=eddy.Range(f"{window} seconds"), delay=f"{delay} seconds")
        for name, delay in delays.items()
    ]
    select = ["a.ts AS a_ts", "b.v AS v", "a.k AS k"]
    return eddy.Query(**{"streams": streams, "joins": ["a.k = b.k"], "select": select, **changes})


# --- without Spark: what it does with watermarks stands here


class Sparks:
    """A query on a Spark of which only the watermark is left: the least of what its nodes have seen."""

    def __init__(self, asked: eddy.Query, schemas: Mapping[str, pa.Schema], cells: int, time: str | None) -> None:
        bound = bind(asked, schemas)
        query: eddy.Query = bound.query
        self.time: ResultTime | None = None
        if time is not None:
            query, self.time = plan_time(bound, time)
        bound = bind(query, schemas)
        self.layout = plan_layout(bound, cells)
        self.delays = {s.name: -int(-(s.delay_ticks or 0) // MILLISECOND) for s in query.streams}
        self.span = find_span(bound, self.time.name, self.time.stream) if self.time else 0
        beats = self.time.make_beats(self.delays) if self.time else None
        self.given = shipped(query, schemas=schemas, layout=self.layout.describe(), beats=beats)
        self.streams = query.streams
        self.states: dict[int, Any] = {}
        self.nodes = dict.fromkeys([*self.delays, *(["behind"] if self.time else [])], 0)
        self.watermark = self.late = 0

    def run(self, batch: Mapping[str, pa.RecordBatch]) -> list[dict[str, Any]]:
        """The results of a micro-batch."""
        found = [
            parcels
            for stream in self.streams
            for parcels in pack([batch[stream.name]], stream, self.layout, tell=self.time is not None)
        ]
        sent = pa.Table.from_batches(found, PARCEL_SCHEMA)
        for stream, time in zip(*(sent.column(name).to_pylist() for name in ("stream", "time")), strict=True):
            self.see(stream, round(time.timestamp() * SECOND), self.delays[stream])
        frame, results = sent.to_pandas(), []
        for number in range(self.layout.cells):
            came = frame[frame["cell"] == label(number)]
            if len(came):
                results += self.call(number, came)
        self.watermark = max(self.watermark, min(self.nodes.values()))
        return results

    def call(self, number: int, came: pd.DataFrame) -> list[dict[str, Any]]:
        """The results of a cell."""
        held = state(self.states.get(number), watermark=self.watermark)
        sent = list(cell.run(self.given, (label(number),), [came], held))
        self.states[number] = held.get
        told = json.loads(sent[-1]["report"][0])
        self.late += sum(count.late for count in wire.read_streams(told).values())
        rows = [row for part in sent for p in part["payload"] if p is not None for row in rows_of(p).to_pylist()]
        if self.time is None:
            return rows
        for row in rows:
            self.see("behind", round(row.pop(self.time.moment).timestamp() * SECOND), self.span)
        return [row for row in rows if row[self.time.times[0]] is not None]

    def restart(self) -> None:
        """Spark knows its watermark, and no more what its nodes have seen; workers are new."""
        self.nodes = dict.fromkeys(self.nodes, 0)
        self.given = replace(self.given, token=uuid.uuid4().hex)

    def see(self, node: str, micros: int, delay: int) -> None:
        self.nodes[node] = max(self.nodes[node], micros // MILLISECOND - delay)


ROWS = st.lists(st.tuples(st.integers(-30_000_000, 9_000_000), st.integers(0, 3)), max_size=6)
BATCHES = st.lists(st.tuples(ROWS, ROWS), min_size=3, max_size=7)


def batches(drawn: Sequence[Sequence[Sequence[tuple[int, int]]]], behind: int) -> list[dict[str, pa.RecordBatch]]:
    """Micro-batches of which each is 10 seconds later; the second stream is some of them behind."""
    found = []
    for number, streams in enumerate(drawn):
        batch = {}
        for name, rows, late in zip("ab", streams, (0, behind), strict=True):
            seconds = [(number - late) * 10 + micros / SECOND for micros, _ in rows]
            held = table(seconds, [key for _, key in rows], range(len(rows)))
            batch[name] = pa.RecordBatch.from_arrays(
                [column.combine_chunks() for column in held.columns], schema=held.schema
            )
        found.append(batch)
    return found


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    drawn=BATCHES,
    window=st.integers(0, 30),
    delays=st.tuples(st.integers(0, 20), st.integers(0, 20)),
    behind=st.integers(0, 3),
    cells=st.integers(1, 3),
    time=st.sampled_from(["a_ts", "newest"]),
)
def test_every_result_is_on_time_and_cells_know_what_spark_knows_without(
    drawn: Any, window: int, delays: tuple[int, int], behind: int, cells: int, time: str
) -> None:
    came = batches(drawn, behind)
    asked = query(window, *delays)
    schemas = {name: rows.schema for name, rows in came[0].items()}
    plain, timed, stopped = (Sparks(asked, schemas, cells, one) for one in (None, time, time))
    assert timed.span == (window * 1_000 if time == "a_ts" else 0)
    for batch in came:
        watermark = timed.watermark
        results = timed.run(batch)
        assert timed.time is not None
        moments = [max(row[name] for name in timed.time.times).timestamp() for row in results]
        assert all(moment * 1_000 >= watermark for moment in moments)
        shown = [{name: row[name] for name in ("a_ts", "v", "k")} for row in results]
        assert Counter(map(str, shown)) == Counter(map(str, plain.run(batch)))
        assert timed.watermark == (plain.watermark - timed.span if plain.watermark else 0)
        # Where it is stopped before each micro-batch cells know as much; Spark may know less for a while, never more.
        stopped.restart()
        assert Counter(map(str, stopped.run(batch))) == Counter(map(str, results))
        assert stopped.watermark <= timed.watermark
    assert timed.late == plain.late == stopped.late


# --- on Spark


def grouped(frame: DataFrame, time: str, place: Path) -> tuple[Counter[int], feeds.Answer]:
    from pyspark.sql import functions as F  # noqa: N812

    found = feeds.answer(frame.groupBy(F.window(time, "10 seconds")).count(), place)
    rows = found.results.to_pylist()
    return Counter({int(row["window"]["start"].timestamp()) - DAY // SECOND: row["count"] for row in rows}), found


@pytest.mark.parametrize("time", ["a_ts", "newest"])
def test_every_result_is_in_one_group(spark: SparkSession, tmp_path: Path, time: str) -> None:
    """The windows of the streams are 40 times their delays, so a result may be long behind the newest rows."""
    feed = {name: data(seed) for seed, name in enumerate("ab")}
    results = eddy.run_local(QUERY, feed).results.to_pylist()
    times = [[int(row[name].timestamp()) - DAY // SECOND for name in ("a_ts", "b_ts")] for row in results]
    frame = eddy.attach(QUERY, feeds.streams(spark, tmp_path / "in", feed), cells=2, time=time)
    with warned(""):
        groups, found = grouped(frame, time, tmp_path / "checkpoint")
    assert groups == counted([one[0] if time == "a_ts" else max(one) for one in times])
    # Beats are in no count.
    told = found.report.batches()
    assert told["results"].sum() == len(results)
    assert told["late"].sum() == 0
    assert told["rows"].tolist() == [40, 40, 40, 2]


def keys(number: int, every: int, place: int) -> list[int]:
    """One key that both streams have, or one that no other row has."""
    return [0 if number % every == 0 else 1 + 2 * number + place]


@pytest.mark.parametrize(("batches", "every"), [(6, 50), pytest.param(100, 50, marks=pytest.mark.long)])
def test_a_join_without_results_moves_the_watermark_on(
    spark: SparkSession, tmp_path: Path, batches: int, every: int
) -> None:
    feed = {
        name: [table([n * 10], keys(n, every, place), [n]) for n in range(batches)] for place, name in enumerate("ab")
    }
    frame = eddy.attach(query(15, 0, 0), feeds.streams(spark, tmp_path / "in", feed), cells=2, time="a_ts")
    # Spark remembers what it has told of 100 micro-batches, and there is one more without rows.
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "200")
    try:
        # The user's own filter would let no beat pass: it must stand behind the watermark.
        groups, found = grouped(frame.where("v >= 0"), "a_ts", tmp_path / "checkpoint")
    finally:
        spark.conf.unset("spark.sql.streaming.numRecentProgressUpdates")
    watermarks = [pd.Timestamp(told.eventTime["watermark"]).timestamp() for told in found.query.recentProgress]
    # Each micro-batch moves it on: to its newest row, less the window.
    assert watermarks[-batches:] == [DAY // SECOND + n * 10 - 15 for n in range(batches)]
    assert groups == {n * 10: 1 for n in range(0, batches, every)}
    assert found.report.batches()["results"].sum() == len(groups)


def test_late_rows_and_aggregates_are_all_rows_also_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    """One stream is two micro-batches behind, one row of some pairs is late, and some cells are idle."""
    chance = np.random.default_rng(3)
    seconds = np.arange(60) // 12 * 20 + chance.integers(0, 20, 60)
    late = chance.random(60) < 0.2
    parts = [slice(n, n + 12) for n in range(0, 60, 12)]
    feed = {
        "a": [table(seconds[part].tolist(), range(60)[part], range(60)[part]) for part in parts],
        "b": [table([0], [-1], [0])] * 2
        + [table((seconds - late * 300)[part].tolist(), range(60)[part], range(60)[part]) for part in parts],
    }
    groups, lost = Counter[int](), 0
    for part in (slice(0, 4), slice(4, None)):
        for name, tables in feed.items():
            feeds.write(tmp_path / "in" / name, [*tables, table([END], [-2], [0])][part])
        frames = {name: feeds.stream(spark, tmp_path / "in" / name) for name in feed}
        frame = eddy.attach(query(400, 5, 10), frames, cells=3, time="a_ts")
        closed, found = grouped(frame, "a_ts", tmp_path / "checkpoint")
        groups, lost = groups + closed, lost + int(found.report.batches()["late"].sum())
    assert groups == counted(seconds[~late].tolist())
    assert lost == late.sum() > 5


def test_duplicates_are_dropped_within_the_watermark(spark: SparkSession, tmp_path: Path) -> None:
    times = [[0, 1], [10], [100], [200], [300]]
    feed = {name: [table(t, [1, 2][: len(t)], [0] * len(t)) for t in times] for name in "ab"}
    frame = eddy.attach(query(), feeds.streams(spark, tmp_path / "in", feed), cells=2, time="newest")
    found = feeds.answer(frame.dropDuplicatesWithinWatermark(["k"]), tmp_path / "checkpoint")
    rows = [(row["k"], row["newest"].timestamp() - DAY / SECOND) for row in found.results.to_pylist()]
    # Spark forgets a key at the end of a micro-batch whose watermark has passed it: the one at 200 is not, at 300.
    assert sorted(rows) == [(1, 0), (1, 200), (2, 1)]


# --- what a name stands for


def planned(asked: eddy.Query, time: Any, kind: pa.DataType = MOMENT) -> tuple[eddy.Query, ResultTime, int]:
    schema = pa.schema({"ts": kind, "k": pa.int64(), "v": pa.int32()})
    found, result_time = plan_time(bind(asked, dict.fromkeys(asked.inputs, schema)), time)
    bound = bind(found, dict.fromkeys(asked.inputs, schema))
    return found, result_time, find_span(bound, result_time.name, result_time.stream)


UNBOUNDED = [eddy.Stream(name, time="ts", delay="5 seconds") for name in "ab"]
BETWEEN = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 9 SECONDS"


@pytest.mark.parametrize(
    ("asked", "time", "times", "span"),
    [
        (query(), "a_ts", ["a_ts"], 20_000),
        (query(), "A_TS", ["a_ts"], 20_000),
        (query(), "newest", ["a_ts", "b_ts"], 0),
        (query(select=["a.ts AS b_ts"]), "a_ts", ["b_ts", "b_ts_1"], 0),
        (query(select=None), "b_ts", ["b_ts"], 20_000),
        (query(streams=UNBOUNDED, joins=["a.k = b.k", BETWEEN]), "a_ts", ["a_ts"], 9_000),
        (query(streams=UNBOUNDED, joins=["a.k = b.k", BETWEEN], select=["b.ts"]), "ts", ["ts"], 0),
        (query(streams=UNBOUNDED), "newest", ["a_ts", "b_ts"], 0),
        (eddy.Query(streams=UNBOUNDED[:1], select=["a.ts"]), "ts", ["ts"], 0),
        (eddy.Query(streams=UNBOUNDED[:1], select=["a.v"]), "at", ["a_ts"], 0),
    ],
)
def test_a_name_is_that_of_a_column_or_new(asked: eddy.Query, time: str, times: list[str], span: int) -> None:
    before = asked.select
    found, result_time, told = planned(asked, time)
    assert (list(result_time.times), told) == (times, span)
    assert set(times) <= {name for _, name in found.outputs or ()} or before is None
    assert result_time.shown == [name for _, name in asked.outputs or ()] or before is None


@pytest.mark.parametrize(
    ("asked", "time", "message"),
    [
        (query(), 7, "attach: time: expected the name of a column of the answer, or a new one, as .*, got 7"),
        (
            query(),
            "v",
            'attach: time: "v" is b.v, which is no event time of a stream; expected one of "a_ts", or a new name',
        ),
        (
            eddy.Query(streams=[eddy.Stream("a")], select=["a.v"]),
            "at",
            'time of the answer: expected streams with event times, got none for "a"',
        ),
        (
            query(streams=[UNBOUNDED[0], eddy.Stream("b", time="ts")]),
            "at",
            'time of the answer: expected a delay .* got none for "b"',
        ),
        (
            query(streams=UNBOUNDED),
            "a_ts",
            'time of the answer: "a_ts" is the time of "a", .* give "a" a window, or add a condition',
        ),
    ],
)
def test_names_that_stand_for_nothing_say_what_to_do(asked: eddy.Query, time: Any, message: str) -> None:
    with pytest.raises(eddy.QueryError, match=f"^{message}"):
        planned(asked, time)


@pytest.mark.parametrize(("delay", "kind"), [(5, pa.int64()), ("5 seconds", pa.timestamp("us"))])
def test_numbers_and_times_without_a_zone_are_none_of_spark(delay: Any, kind: pa.DataType) -> None:
    asked = query(streams=[eddy.Stream(name, time="ts", delay=delay) for name in "ab"])
    message = rf'expected timestamps with a zone, .*, got {re.escape(str(kind))} in "a.ts"; make one of it before'
    with pytest.raises(eddy.QueryError, match=message):
        planned(asked, "newest", kind)


def test_a_checkpoint_goes_on_with_the_time_that_it_was_begun_with() -> None:
    schemas = {name: table([], [], []).schema for name in "ab"}
    by_a, newest, none = (Sparks(query(), schemas, 2, time).given for time in ("a_ts", "newest", None))
    held = state()
    checkpoint_guard.check(newest, held)
    checkpoint_guard.check(newest, state(held.get))
    for other in (by_a, none):
        with pytest.raises(
            eddy.CheckpointError, match="the watermark of the answer was the newest time, this start has"
        ):
            checkpoint_guard.check(other, state(held.get))
