"""A cell's calls without Spark around them, on Spark's own group state."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StructType

import eddy
from eddy.engine.snapshot import pack
from eddy.query import fingerprint
from eddy.query.binding import bind
from eddy.spark import cell, checkpoint_guard, parcels, worker_cache
from eddy.spark.layout.hashing import label
from eddy.spark.layout.planning import plan_layout
from eddy.spark.parcels import PARCEL_SCHEMA, rows_of, write
from eddy.spark.shipped import Shipped, ShippedQuery, pack_code
from eddy.wiring import PolicyChoice
from tests.eddy.spark.test_attach import local, query, rows, table
from tests.eddy.test_same_answer import rows_of as counted

Saved = tuple[Any, ...]

STREAMS = {"a": rows(1), "b": rows(2)}


def shipped(asked: eddy.Query, policy: PolicyChoice = "content", **changes: Any) -> Shipped:
    """What workers get of a query, with a stream's usual columns unless others are said."""
    schemas = changes.pop("schemas", {stream.name: STREAMS["a"][0].schema for stream in asked.streams})
    code, functions = pack_code({"": asked}, policy)
    own: dict[str, Any] = {
        key: changes.pop(key) for key in ("parts", "layout", "ticks_per_ms", "pushed", "beats") if key in changes
    }
    told: dict[str, Any] = {
        "schemas": schemas,
        "parts": {} if "parts" in own else fingerprint.of(bind(asked, schemas)),
        "layout": {"cells": 1},
        "ticks_per_ms": 1_000,
        **own,
    }
    return Shipped(
        **{
            "token": uuid.uuid4().hex,
            "code": code,
            "functions": functions,
            "queries": {"": ShippedQuery(**told)},
            "tables": {},
            "seed": 0,
            "flush": 5,
            "sources": {source: [one.name for one in streams] for source, streams in asked.sources.items()},
            "columns": {source: schemas[streams[0].name] for source, streams in asked.sources.items()},
            **changes,
        }
    )


def state(saved: Saved | None = None, *, watermark: int = 0) -> GroupState:
    """The state of a group as Spark hands it to a worker."""
    return GroupState(
        optionalValue=Row(*saved or ()),
        batchProcessingTimeMs=0,
        eventTimeWatermarkMs=watermark,
        timeoutConf=GroupStateTimeout.NoTimeout,
        hasTimedOut=False,
        watermarkPresent=True,
        defined=saved is not None,
        updated=False,
        removed=False,
        timeoutTimestamp=-1,
        keyAsUnsafe=b"",
        valueSchema=StructType(),
    )


def parcel(**tables: pa.Table) -> pd.DataFrame:
    """What comes for a cell in one micro-batch."""
    payloads = [write(table.combine_chunks().to_batches()[0]) for table in tables.values()]
    return pd.DataFrame({"stream": list(tables), "time": pd.Timestamp("2024-01-01", tz="UTC"), "payload": payloads})


def call(given: Shipped, came: pd.DataFrame, saved: Saved | None = None) -> tuple[list[pd.DataFrame], Saved]:
    """One call of cell 0: what it sends, and the state that it leaves."""
    held = state(saved)
    sent = list(cell.run(given, (label(0),), [came], held))
    return sent, held.get


def results(sent: Sequence[pd.DataFrame]) -> Counter[tuple[Any, ...]]:
    found = [pa.Table.from_batches([rows_of(p)]) for frame in sent for p in frame["payload"] if p is not None]
    return counted(pa.concat_tables(found)) if found else Counter()


def batches() -> Iterator[pd.DataFrame]:
    for a, b in zip(*STREAMS.values(), strict=True):
        yield parcel(a=a, b=b)


def test_calls_in_turn_give_the_answer() -> None:
    given, saved, found = shipped(query()), None, Counter[tuple[Any, ...]]()
    for came in batches():
        sent, saved = call(given, came, saved)
        found += results(sent)
    assert found == local(query(), STREAMS)


def test_another_index_goes_on_from_the_same_state() -> None:
    """How rows are found is no part of what a state depends on."""
    given, saved, found = shipped(query()), None, Counter[tuple[Any, ...]]()
    choices: list[Any] = [None, "bits", {"kind": "chosen", "migrate": "all"}]
    for came, index in zip(batches(), choices, strict=True):
        sent, saved = call(replace(given, index=index), came, saved)
        worker_cache.ENGINES.clear()
        found += results(sent)
    assert found == local(query(), STREAMS)


# --- large results


def test_large_results_are_sent_on_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker holds what it is given until it is many rows, and ours are few and large."""
    monkeypatch.setattr(parcels, "PAYLOAD_BYTES", 2_000)
    monkeypatch.setattr(parcels, "GATHERED_BYTES", 2_000)
    monkeypatch.setattr(cell, "FLUSH_BYTES", 5_000)
    came = parcel(a=table([1] * 40, [1] * 40, range(40)), b=table([1] * 40, [1] * 40, range(40)))
    asked = query(filters=[])
    sent, _ = call(shipped(asked), came)
    sizes = [None if frame["payload"][0] is None else len(frame["payload"][0]) for frame in sent[:-1]]
    assert sizes.count(None) > 5
    held = 0
    for size in sizes:
        assert held <= 5_000 if size is not None else held > 5_000
        held = 0 if size is None else held + size
    flushed = [frame for frame in sent[:-1] if frame["payload"][0] is None]
    assert all(len(frame) == 5 and frame.isna().all(axis=None) for frame in flushed)
    assert sum(results(sent).values()) == 1_600
    assert results(sent) == results(call(shipped(asked, flush=0), came)[0])


# --- large state


def test_a_state_that_is_too_large_is_refused_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    given = shipped(query())
    first, second, _ = batches()
    _, saved = call(given, first)
    monkeypatch.setattr(cell, "LARGEST_STATE", len(saved[1]) + len(saved[2]))
    held = state(saved)
    message = r"cell 0: its state has grown to 0 MB, more than .* begin a new checkpoint with more cells, or with short"
    with pytest.raises(eddy.QueryError, match=message):
        list(cell.run(given, (label(0),), [second], held))
    assert held.get == saved
    assert (given.token, 0) not in worker_cache.ENGINES


# --- engines that a worker keeps


def test_an_engine_is_kept_for_the_state_that_it_wrote() -> None:
    given = shipped(query())
    first, second, _ = batches()
    _, saved = call(given, first)
    _, kept = worker_cache.ENGINES[given.token, 0]
    call(given, second, saved)
    assert worker_cache.ENGINES[given.token, 0][1] is kept


def test_a_task_that_is_tried_again_does_not_meet_the_engine_of_the_first_try() -> None:
    """The first try has gone through, and its engine is one micro-batch ahead of the state."""
    given = shipped(query())
    first, second, third = batches()
    _, one = call(given, first)
    tries = [call(given, second, one) for _ in range(3)]
    assert results(tries[0][0]) == results(tries[1][0]) == results(tries[2][0]) != Counter()
    ends = [results(call(given, third, saved)[0]) for _, saved in tries]
    assert ends[0] == ends[1] == ends[2] != Counter()


def test_a_call_that_fails_half_way_leaves_no_engine(tmp_path: Path) -> None:
    def fails(v: npt.NDArray[np.int32]) -> Any:
        if (tmp_path / "armed").exists():
            raise RuntimeError("the network is down")
        return v % 2 == 1

    given = shipped(query(filters=[eddy.Filter("odd", on="b", function=fails)]))
    first, second, _ = batches()
    sent, saved = call(given, first)
    (tmp_path / "armed").touch()
    with pytest.raises(eddy.QueryError, match="the network is down"):
        call(given, second, saved)
    (tmp_path / "armed").unlink()
    assert (given.token, 0) not in worker_cache.ENGINES
    again, _ = call(given, second, saved)
    asked = query(filters=[eddy.Filter("odd", on="b", where="v % 2 = 1")])
    assert results(sent) + results(again) == local(asked, {name: tables[:2] for name, tables in STREAMS.items()})


def test_states_of_one_size_are_told_apart() -> None:
    """Two cells' worth of rows that differ in values alone."""
    given = shipped(query(filters=[]))
    one = call(given, parcel(a=table([1], [1], [1]), b=table([1], [2], [1])))[1]
    other = call(given, parcel(a=table([1], [1], [7]), b=table([1], [2], [7])))[1]
    assert len(one[2]) == len(other[2])
    sent, _ = call(given, parcel(b=table([1], [1], [5])), one)
    assert [row[2] for row in results(sent)] == [1]


def test_few_engines_are_kept() -> None:
    given = [shipped(query()) for _ in range(worker_cache.MOST_ENGINES + 2)]
    first = next(batches())
    for one in given:
        call(one, first)
    assert list(worker_cache.ENGINES) == [(one.token, 0) for one in given[2:]]


# --- state that cannot be gone on from


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda s: (s[0], s[1], s[2][:-1]), r"the state cannot be read, ValueError: expected \d+ bytes of rows"),
        (lambda s: (s[0] + 1, s[1], s[2]), "expected state of format 1 to 3, got format 4"),
        (lambda s: (s[0], None, None), "the state cannot be read, AttributeError"),
        (lambda s: astuple(pack({"other": 1}, {})), "the state cannot be read, KeyError: 'query'"),
    ],
)
def test_damaged_state_is_refused_with_the_cell_it_is_of(damage: Callable[[Saved], Saved], message: str) -> None:
    given = shipped(query())
    _, saved = call(given, next(batches()))
    with pytest.raises(eddy.CheckpointError, match=f"^cell 0: checkpoint: {message}.* begin a new"):
        call(given, next(batches()), damage(saved))


def test_a_state_that_is_larger_than_any_we_write_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given = shipped(query())
    _, saved = call(given, next(batches()))
    monkeypatch.setattr(cell, "LARGEST_STATE", len(saved[2]))
    with pytest.raises(eddy.CheckpointError, match=r"^cell 0: checkpoint: its state is 0 MB, more than 0 MB"):
        call(given, next(batches()), saved)


def test_what_a_checkpoint_was_begun_with_is_refused_when_it_is_damaged() -> None:
    given, held = shipped(query()), state()
    checkpoint_guard.check(given, held)
    damaged = state((held.get[0], held.get[1], b"x"))
    with pytest.raises(eddy.CheckpointError, match=r"^what the checkpoint was last written by: checkpoint: the state"):
        checkpoint_guard.check(given, damaged)


def test_a_checkpoint_of_another_layout_is_refused() -> None:
    schemas = {name: tables[0].schema for name, tables in STREAMS.items()}
    layouts = [plan_layout(bind(query(), schemas), cells).describe() for cells in (2, 3)]
    held = state()
    checkpoint_guard.check(shipped(query(), layout=layouts[0]), held)
    again = state(held.get)
    checkpoint_guard.check(shipped(query(), layout=layouts[0]), again)
    with pytest.raises(eddy.CheckpointError, match="cells: the checkpoint has 2, this start has 3"):
        checkpoint_guard.check(shipped(query(), layout=layouts[1]), again)


def test_each_task_with_rows_asks_the_guard() -> None:
    """In every micro-batch and process: what a lost task has sent, and another sends again, must be the same."""
    times = pa.array([0], pa.timestamp("us", "UTC"))
    columns = [pa.array([label(0)]), pa.array(["a"]), times, pa.array([b"x"])]
    sent = pa.RecordBatch.from_arrays(columns, schema=PARCEL_SCHEMA)
    found = checkpoint_guard.label_with_state(iter([sent, sent]))
    labels = [name.as_py() for batch in found for name in batch.column("cell")]
    assert labels == [checkpoint_guard.LABEL, label(0), label(0)]
    assert list(checkpoint_guard.label_with_state(iter([]))) == []


def test_the_guard_knows_the_queries_sources_and_cells_of_a_set() -> None:
    schemas = {name: tables[0].schema for name, tables in STREAMS.items()}
    alone = shipped(query(), layout=plan_layout(bind(query(), schemas), 2).describe())
    (asked,) = alone.queries.values()
    given, held = replace(alone, queries={"x": asked, "y": asked}, cells=4), state()
    assert checkpoint_guard.check(given, held) == ""
    another = replace(asked, parts={'table "t"': "a table"})
    others = [
        (replace(given, cells=2), "its queries share 4 cells, this start has 2"),
        (replace(given, unread=["z"]), 'its sources are "a", "b", this start has "a", "b", "z"'),
        (alone, "it belongs to several queries, this start has one query"),
        (replace(given, queries={"x": another}), 'query "x": checkpoint: it belongs to another query'),
    ]
    for other, message in others:
        with pytest.raises(eddy.CheckpointError, match=message):
            checkpoint_guard.check(other, state(held.get))
    told = checkpoint_guard.check(replace(given, queries={"y": asked, "z": asked}), state(held.get))
    added = 'queries added: "z"; they begin now, and see no row that came before'
    assert told == f'{added}; queries removed: "x"; what they knew is forgotten'


def test_the_guard_writes_once() -> None:
    schemas = {name: tables[0].schema for name, tables in STREAMS.items()}
    given, held = shipped(query(), layout=plan_layout(bind(query(), schemas), 2).describe()), state()
    checkpoint_guard.check(given, held)
    again = state(held.get)
    checkpoint_guard.check(given, again)
    assert [json.loads(one.json())["updated"] for one in (held, again)] == [True, False]
