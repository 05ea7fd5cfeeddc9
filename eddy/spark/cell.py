"""One call of a cell: restore, run a micro-batch, emit, save.

Facts about Spark 4.3 that shape it:

* Without a timeout, `applyInPandasWithState` gets all rows, also those below the watermark. (With one by event
  time, Spark would drop late parcels, and the rows on time in them.) So the cell sees every late row, drops it, and
  counts it.
* The watermark is 0 while any of the streams has shown no row.
* What a call yields is held by the worker until it is more rows than `spark.sql.execution.arrow.maxRecordsPerBatch`,
  over all cells of a task, and a row of ours is a parcel with thousands of rows in it. Rows of nulls, which the next
  step ignores, make it send on what it holds.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.state import GroupState

from eddy.engine import Engine
from eddy.engine.admission import Mark
from eddy.engine.cell_inputs import name_input
from eddy.engine.snapshot import Snapshot
from eddy.errors import CheckpointError, EddyError, QueryError
from eddy.observe import wire
from eddy.observe.counters import Counters
from eddy.query.together.queries import LONE, widen
from eddy.spark import checkpoint_guard, worker_cache
from eddy.spark.layout.hashing import cell_of
from eddy.spark.parcels import MarkedRows, payloads, read_marked, read_ticks, report_text, rows_of
from eddy.spark.shipped import Shipped, ShippedQuery
from eddy.tuples.arrays import Mask
from eddy.tuples.arrow import no_rows, one_batch

STATE = "format int, meta string, blob binary"
"""The state of a cell: one row, of a schema that never changes."""

LARGEST_STATE = 1 << 30
"""Bytes of a cell's state: Spark writes it as one row, pickled and with copies, and no row can reach 2 GB."""

FLUSH_BYTES = 64 << 20
"""Bytes of results after which they are sent on: much more than the price of doing it, much less than a worker has."""


def run(
    shipped: Shipped, key: tuple[Any, ...], frames: Iterable[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    """Process what came for one cell."""
    label = int(key[0])
    try:
        if label == checkpoint_guard.LABEL:
            if told := checkpoint_guard.check(shipped, state):
                yield pd.DataFrame({"payload": [None], "report": [report_text({"note": told})]})
        else:
            yield from _Call(shipped, cell_of(label), state).run(frames)
    except EddyError as error:
        # Said once, and without the way to it: Spark shows the person a long text as it is.
        raise error.with_traceback(None) from None


@dataclass(frozen=True, kw_only=True)
class Arrivals:
    """The rows of each source in one batch, and what is known of them in its streams.

    `copies` says which are copies of rows that are counted in another cell, `wanted` which are a stream's, where not
    all are, and `newest` how far streams have come, with the rows of all cells; streams without any are not in them.
    """

    rows: Mapping[str, pa.RecordBatch]
    copies: Mapping[str, Mask]
    wanted: Mapping[str, Mask]
    newest: Mapping[str, int]


def unpack_arrivals(
    frames: Iterable[pd.DataFrame],
    schemas: Mapping[str, pa.Schema],
    sources: Mapping[str, Sequence[str]] | None = None,
) -> Arrivals:
    """Read the frames of Spark, which bring parcels in any order.

    Sources have schemas, and the names of their streams, if these are not their own.
    """
    sources = sources or {name: (name,) for name in schemas}
    held: dict[str, list[MarkedRows]] = {source: [] for source in sources}
    newest: dict[str, int] = {}
    for source, payload in _sort_parcels(frames):
        names = sources[source]
        if (ticks := read_ticks(payload)) is not None:
            told = [(name, tick) for name, tick in zip(names, ticks, strict=True) if tick is not None]
            newest |= {name: max(tick, newest.get(name, tick)) for name, tick in told}
        else:
            held[source].append(read_marked(rows_of(payload), schemas[source], names))
    found = {name: held[source] for source, names in sources.items() for name in names}
    copied = {name: [(part.rows, part.copied.get(name)) for part in parts] for name, parts in found.items()}
    wanted = {name: [(part.rows, part.wanted.get(name)) for part in parts] for name, parts in found.items()}
    return Arrivals(
        rows={
            source: one_batch(source, pa.Table.from_batches([part.rows for part in parts]))
            if parts
            else no_rows(schemas[source])
            for source, parts in held.items()
        },
        copies=_join_masks(copied, usual=False),
        wanted=_join_masks(wanted, usual=True),
        newest=newest,
    )


def _join_masks(found: Mapping[str, Sequence[tuple[pa.RecordBatch, Mask | None]]], *, usual: bool) -> dict[str, Mask]:
    """Put the masks of parts together; those that are as usual everywhere are left out."""
    joined = {}
    for name, parts in found.items():
        if any(mask is not None and bool((mask != usual).any()) for _, mask in parts):
            masks = [np.full(rows.num_rows, usual) if mask is None else mask for rows, mask in parts]
            joined[name] = np.concatenate(masks)
    return joined


class QueryMarks(NamedTuple):
    """The watermarks of a query before and behind a micro-batch, and how far its streams are, in ticks.

    `known` is the one behind it in milliseconds.
    """

    now: int | None
    following: int | None
    newest: Mapping[str, int]
    known: int | None


class _Call:
    """One call, and the time that its parts take."""

    def __init__(self, shipped: Shipped, cell: int, state: GroupState) -> None:
        self._shipped = shipped
        self._cell = cell
        self._state = state

    def run(self, frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Go on from the state, answer, and leave the state behind."""
        came = unpack_arrivals(frames, self._shipped.columns, self._shipped.sources)
        started = time.perf_counter()
        engine = self._resume()
        restoring = time.perf_counter() - started
        results = self._run(engine, came)
        # Results leave as they are found. The state is saved after the last of them, so a failure leaves the old one.
        working = yield from self._emit(payloads(results))
        started = time.perf_counter()
        state = self._save(engine)
        saving = time.perf_counter() - started
        told = engine.read_each()
        packing = working - sum(counters.seconds for counters in told.values())
        # What is done for all queries is divided evenly among them.
        own: dict[str, Any] = {
            "restoring": restoring / len(told),
            "packing": packing / len(told),
            "saving": saving / len(told),
        }
        reports = [
            self._write_report(name, replace(counters, **own, state=state // len(told)))
            for name, counters in told.items()
        ]
        yield pd.DataFrame({"payload": [None] * len(told), "report": reports})

    def _write_report(self, query: str, counters: Counters) -> str:
        """Tell of a query; one that is alone has no name."""
        name = {"query": query} if query != LONE else {}
        return report_text({"cell": self._cell, **name, **wire.to_plain(counters)})

    def _resume(self) -> Engine:
        """Restore the engine; an error names the cell."""
        saved = Snapshot(*self._state.get) if self._state.exists else None
        try:
            if saved is not None and _size(saved) > LARGEST_STATE:
                raise CheckpointError(f"checkpoint: {self._describe_too_large('is', saved)}")
            return worker_cache.resume(self._shipped, self._cell, saved)
        except CheckpointError as error:
            raise CheckpointError(f"cell {self._cell}: {error}") from error

    def _run(self, engine: Engine, came: Arrivals) -> Iterator[pa.RecordBatch]:
        """Process the rows, under the watermark of all cells in the engine's ticks."""
        asked, answer = self._shipped.queries, self._shipped.answer
        marks = {name: self._find_marks(name, one, engine.newest, came.newest) for name, one in asked.items()}
        mark = Mark(
            watermarks={name: one.now for name, one in marks.items()},
            copies=came.copies,
            wanted=came.wanted,
            newest={name: tick for one in marks.values() for name, tick in one.newest.items()},
            following={name: one.following for name, one in marks.items()},
        )
        if answer is not None:
            return (widen(name, rows, answer) for name, rows in engine.run_each(came.rows, mark))
        results, beats = engine.run(came.rows, mark), asked[LONE].beats
        return results if beats is None else beats.add(results, engine.schema, marks[LONE].known, self._cell)

    def _find_marks(
        self, query: str, asked: ShippedQuery, before: Mapping[str, float], came: Mapping[str, int]
    ) -> QueryMarks:
        """Find the watermarks of a query: Spark's, or those that follow from what the cell hears of its streams."""
        ticks, beats = asked.ticks_per_ms, asked.beats
        if beats is None:
            known = self._state.getCurrentWatermarkMs() if ticks else 0
            now = known * ticks if known else None
            return QueryMarks(now, now, {}, None)
        # Spark's watermark may be that of the results, or of other queries' streams, so this one is worked out here.
        own = {name_input(query, name): name for name in beats.delays}
        heard = beats.count_ticks({name: tick for name, tick in came.items() if name in own})
        known_before = {own[name]: tick for name, tick in before.items() if name in own}
        after = {own[name]: max(tick, before.get(name, tick)) for name, tick in heard.items()}
        marked, next_one = (beats.find_watermark(known) for known in (known_before, {**known_before, **after}))
        now, following = (None if known is None else known * ticks for known in (marked, next_one))
        return QueryMarks(now, following, heard, next_one)

    def _emit(self, results: Iterator[bytes]) -> Generator[pd.DataFrame, None, float]:
        """Send results, and give the seconds that making them took.

        The time in which others had their turn does not count.
        """
        held, working = 0, 0.0
        started = time.perf_counter()
        for payload in results:
            working += time.perf_counter() - started
            yield _result_rows([payload])
            held += len(payload)
            if held > FLUSH_BYTES:
                # Rows of nulls fill Spark's buffer, so that it sends on the payloads before them.
                yield _result_rows([None] * self._shipped.flush)
                held = 0
            started = time.perf_counter()
        return working + time.perf_counter() - started

    def _save(self, engine: Engine) -> int:
        """Write the state, and give its size in bytes."""
        snapshot = engine.snapshot()
        if _size(snapshot) > LARGEST_STATE:
            raise QueryError(f"cell {self._cell}: {self._describe_too_large('has grown to', snapshot)}")
        self._state.update((snapshot.format, snapshot.meta, snapshot.blob))
        worker_cache.keep(self._shipped, self._cell, engine, snapshot)
        return _size(snapshot)

    def _describe_too_large(self, verb: str, snapshot: Snapshot) -> str:
        return (
            f"its state {verb} {_size(snapshot) >> 20} MB, more than {LARGEST_STATE >> 20} MB, which is about what one "
            "row of Spark's state store can hold; begin a new checkpoint with more cells, or with shorter windows"
        )


def _size(snapshot: Snapshot) -> int:
    """Count characters and bytes.

    A part that is neither text nor bytes is refused when it is read.
    """
    return sum(len(part) for part in (snapshot.meta, snapshot.blob) if part)


def _result_rows(payloads: list[bytes] | list[None]) -> pd.DataFrame:
    return pd.DataFrame({"payload": payloads, "report": [None] * len(payloads)})


def _sort_parcels(frames: Iterable[pd.DataFrame]) -> list[tuple[str, bytes]]:
    """Put parcels into an order that a retried task finds again."""
    # Spark hands parcels over in the order of the shuffle, which may differ in a retry; sorted, the routes do not.
    found = [row for f in frames for row in zip(f["stream"], f["time"], f["payload"], strict=True)]
    return [(name, payload) for name, _, payload in sorted(found)]
