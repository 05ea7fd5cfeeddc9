"""One cell: admit, build, route, emit, evict."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from eddy.contracts import Clock, Others
from eddy.engine.admission import AdmittedRows, Gate, Mark, Tick, Watermarks
from eddy.engine.cell_inputs import CellInputs, CellStream, write_place
from eddy.engine.counting import Taken
from eddy.engine.emission import Picked, Rejected
from eddy.engine.lane import Asked, Lane, Part
from eddy.engine.machinery import SourceRows
from eddy.engine.snapshot import Snapshot, guard_restore, pack, unpack
from eddy.errors import CheckpointError, EngineError
from eddy.observe.counters import Counters
from eddy.query import fingerprint
from eddy.query.fingerprint import FilterChange
from eddy.query.together.queries import LONE
from eddy.tuples import Tuples
from eddy.tuples.arrays import RowIds
from eddy.tuples.arrow import no_rows
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.tuples import merge

Emitted = TypeVar("Emitted")

Emit = Callable[[Lane, Iterator[Tuples]], Iterator[Emitted]]
"""What is made of the tuples of a lane that complete."""


class Engine:
    """Answers a query, one micro-batch after the other; or several, which share the rows.

    The same batches, policies and seed give the same routes; the same batches alone give the same answers. `seed` is
    that of the query, and the number of the cell. A query that has the engine for itself is called `LONE`.
    """

    def __init__(
        self, asked: Mapping[str, Asked], rows: Mapping[str, SourceRows], *, clock: Clock, seed: tuple[int, int]
    ) -> None:
        self.lanes = {name: Lane(name, one) for name, one in asked.items()}
        self._inputs = CellInputs.of({name: one.binding for name, one in asked.items()})
        self._gate = Gate(self._inputs)
        self._rows = rows
        self._clock = clock
        self._seed = seed
        self._batch, self._under_way = 0, False
        self._places: Mapping[str, RowIds | None] = {}

    @property
    def _alone(self) -> Lane:
        return self.lanes[LONE]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer of a query that is alone."""
        return self._alone.binding.schema

    @property
    def newest(self) -> Mapping[str, float]:
        """How far each stream that has shown a row has come, in ticks, for all that this cell knows."""
        return dict(self._gate.newest)

    def run(self, batch: Mapping[str, pa.RecordBatch], mark: Mark | None = None) -> Iterator[pa.RecordBatch]:
        """Process one micro-batch of a query that is alone; see `run_each`."""
        for _, rows in self.run_each(batch, mark):
            yield rows

    def run_each(
        self, batch: Mapping[str, pa.RecordBatch], mark: Mark | None = None
    ) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Process one micro-batch, the rows of each source; it is over when the iterator is.

        Gives results, with the name of their query. Watermarks are those of the rows of earlier micro-batches, unless
        a mark says what they are: one of several cells sees only a part of the rows.

        One that fails or is abandoned has left its rows behind: then the engine is of no use any more, and another
        one goes on from the last snapshot.
        """
        yield from self._run(
            batch, mark, lambda lane, done: lane.emit(done, (mark or self._gate.next_mark()).after[lane.name])
        )

    def pick(self, rows: pa.RecordBatch) -> Picked:
        """Process one micro-batch of a query over one stream; tell which of the rows that came passed, in their order.

        Whoever holds the rows needs no copy of them. Rows that take no part, since they are bad, have not passed.
        """
        (source,) = self._inputs.sources
        for _, picked in list(self._run({source: rows}, None, self._pick)):
            return picked
        return Picked(np.empty(0, np.int64), None if self._reads_one else no_rows(self.schema))

    def _pick(self, lane: Lane, done: Iterator[Tuples]) -> Iterator[Picked]:
        """Find the places of what is done, at once."""
        (name,) = self._places
        parts = list(lane.outlet.tuples(done))
        if not parts:
            return
        whole = merge(parts)
        places = self._find_places(name, whole.ids[name])
        if self._reads_one:
            yield Picked(np.sort(places), None)
            return
        # Routing says in which order combinations come out; they are told by row, then in the order of the tables.
        order = np.lexsort([*(whole.ids[table] for table in reversed(lane.binding.query.inputs[1:])), places])
        yield Picked(places.take(order), lane.outlet.gather(whole.take(order)))

    @property
    def _reads_one(self) -> bool:
        return len(self._alone.binding.query.inputs) == 1

    def read_rejected(self) -> list[Rejected]:
        """Tell which rows of the last `pick` were put aside, since a predicate has no answer for them."""
        lane, (name,) = self._alone, self._places
        return [
            Rejected(place, *lane.faults.find(code)[:2])
            for part in lane.outlet.rejected
            for place, code in zip(
                self._find_places(name, part.ids[name]).tolist(), part.read_faults().tolist(), strict=True
            )
        ]

    def _find_places(self, name: str, ids: RowIds) -> RowIds:
        """Find the places of rows among all that came."""
        places = self._places[name]
        return ids if places is None else places[ids]

    def _run(
        self, batch: Mapping[str, pa.RecordBatch], mark: Mark | None, emit: Emit[Emitted]
    ) -> Iterator[tuple[str, Emitted]]:
        """Process one micro-batch, and hand on what `emit` makes of the tuples that complete."""
        self._begin()
        started = self._clock()
        before = mark or self._gate.next_mark()
        admitted = self._gate.admit(batch, self._batch, before)
        self._places = {name: part.places for part in admitted.values() for name in part.streams}
        stored = {
            source: self._rows[source].append(rows, ticks, [part.seen for part in streams.values()])
            for source, (rows, ticks, _, streams) in admitted.items()
        }
        common, own = self._clock() - started, {}
        for name, lane in self.lanes.items():
            with lane.within:
                begun, paused = self._clock(), 0.0
                arrived = lane.arrive(admitted, stored)
                lane.check_room(self._gate.describe)
                for emitted in emit(lane, lane.route(arrived, self._make_chance())):
                    left = self._clock()
                    yield name, emitted
                    paused += self._clock() - left
                own[name] = self._clock() - begun - paused
        known = mark or self._gate.next_mark()
        settling = self._settle(known.watermarks)
        for name, lane in self.lanes.items():
            with lane.within:
                taken = Taken(own[name], common + settling, len(self.lanes))
                self._end(lane, admitted, before.watermarks[name], settling / len(self.lanes), taken)
        self._batch += 1
        self._under_way = False

    def _settle(self, watermarks: Watermarks) -> float:
        """Let go of the rows that are past; gives the seconds that it took."""
        started = self._clock()
        sources = self._inputs.sources
        for source, rows in self._rows.items():
            rows.settle([watermarks[one.query] for one in sources[source]] if source in sources else None)
        return self._clock() - started

    def _end(
        self, lane: Lane, admitted: Mapping[str, AdmittedRows], watermark: Tick | None, settling: float, taken: Taken
    ) -> None:
        """End a query's part of a micro-batch; `settling` are its seconds of those in which rows were let go of."""
        begun = self._clock()
        settled = lane.settle(settling)
        lane.check_room(self._gate.describe)
        lane.count(
            self._batch,
            admitted,
            watermark,
            settled,
            self._gate.newest,
            lambda: Taken(taken.own + self._clock() - begun, taken.shared, taken.sharers),
        )

    def _begin(self) -> None:
        self._check_between("run")
        self._under_way = True
        for lane in self.lanes.values():
            with lane.within:
                lane.begin()

    def _check_between(self, what: str) -> None:
        """Some things can be done between micro-batches only."""
        if self._under_way:
            raise EngineError(
                f"engine: {what}: micro-batch {self._batch} was begun and not run to its end, because it failed or its "
                "results were not all taken; build another engine and restore the last snapshot"
            )

    def read_counters(self) -> Counters:
        """Give the counters of the last micro-batch of a query that is alone."""
        return self.read_each()[LONE]

    def read_each(self) -> dict[str, Counters]:
        """Give the counters of the last micro-batch of each query."""
        found = {name: lane.counting.last for name, lane in self.lanes.items()}
        known = {name: last for name, last in found.items() if last is not None}
        if len(known) < len(found):
            raise EngineError("engine: no micro-batch has been run to its end, so there is nothing to report")
        return known

    def snapshot(self) -> Snapshot:
        """Give the whole state, between two micro-batches."""
        self._check_between("snapshot")
        numbers: dict[str, Any] = {}
        tables: dict[str, Sequence[Packed]] = {}
        for source, streams in self._inputs.sources.items():
            name = _name_rows(source, streams)
            numbers[name], tables[f"stream {name}"] = self._rows[source].snapshot()
        meta = {"batch": self._batch, "gate": self._gate.snapshot(), "numbers": numbers}
        if LONE in self.lanes:
            own, more = self._alone.snapshot()
            return pack({**meta, **own}, {**tables, **more})
        parts: dict[str, Any] = {}
        for name, lane in self.lanes.items():
            parts[name], more = lane.snapshot()
            tables |= {f"{write_place(name)}{table}": packed for table, packed in more.items()}
        # Queries say much the same of themselves, so together they are compressed to little more than one of them.
        told = pa.record_batch({"query": [*parts], "told": [json.dumps(part) for part in parts.values()]})
        return pack(meta, {**tables, QUERIES: [pack_rows(told)]})

    def check(self, snapshot: Snapshot) -> None:
        """Refuse a snapshot that is damaged, or of another query: also one with other filters."""
        saved = read_parts(*unpack(snapshot))
        check_number(saved, self.lanes)
        for name, lane in self.lanes.items():
            fingerprint.check_same(saved[name][0]["query"], lane.parts)

    @guard_restore
    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot of the same query; of several some may have gone, and others may be new.

        A new one begins as it would alone: it does not see the rows that are stored.
        """
        meta, tables = unpack(snapshot)
        saved = read_parts(meta, tables)
        check_number(saved, self.lanes)
        changes: dict[str, FilterChange] = {}
        for name, (own, _) in saved.items():
            if name in self.lanes:
                lane = self.lanes[name]
                with lane.within:
                    changes[name] = fingerprint.check(own["query"], lane.parts, lane.pushed)
        self._batch = meta["batch"]
        self._gate.restore(meta["gate"])
        is_joined = [self._restore_rows(source, meta["numbers"], tables, changes) for source in self._inputs.sources]
        for name, change in changes.items():
            with self.lanes[name].within:
                self.lanes[name].restore(*saved[name], change, is_joined=any(is_joined))

    def _restore_rows(
        self,
        source: str,
        numbers: Mapping[str, Mapping[str, int]],
        tables: Mapping[str, Sequence[Packed]],
        changes: Mapping[str, FilterChange],
    ) -> bool:
        """Go on with the rows of a source; tells whether each of its streams had its own in the snapshot."""
        streams = self._inputs.sources[source]
        others = [self._find_others(one, changes) for one in streams]
        if (name := _name_rows(source, streams)) in numbers:
            self._rows[source].restore(numbers[name], tables[f"stream {name}"], others)
            return False
        if LONE in self.lanes:
            self._rows[source].adopt([(numbers[s.name], tables[f"stream {s.name}"]) for s in streams], others)
            return True
        if known := [one for one in streams if one.query in changes]:
            raise CheckpointError(
                f'checkpoint: it has no rows of "{source}", which "{known[0].name}" reads; go back to the source that '
                "it was begun with, give the query another name, so that it begins anew, or begin a new checkpoint"
            )
        return False

    def _find_others(self, one: CellStream, changes: Mapping[str, FilterChange]) -> Others:
        """Find what is other of a stream's filters than in a snapshot; nothing of a query that was not in it is."""
        change = changes.get(one.query)
        if change is None:
            return Others(is_new=True)
        new = [f for f in self.lanes[one.query].pushed if f.name in change.forgotten and f.stream == one.stream.name]
        return Others(change.forgotten, new)

    def _make_chance(self) -> Callable[[], np.random.Generator]:
        """Give a query's generator of the micro-batch, made when it is needed.

        A retry draws as the first try did, and a query of several as it would alone.
        """
        seed, made = (*self._seed, self._batch), list[np.random.Generator]()

        def chance() -> np.random.Generator:
            if not made:
                made.append(np.random.default_rng(seed))
            return made[0]

        return chance


QUERIES = "queries"
"""The table of a state that has what each of several queries says of itself."""


def read_parts(meta: Mapping[str, Any], tables: Mapping[str, Sequence[Packed]]) -> dict[str, Part]:
    """Read the parts of a state that queries have for themselves."""
    if QUERIES not in tables:
        return {LONE: (dict(meta), dict(tables))}
    (told,) = tables[QUERIES]
    parts = ((row["query"], json.loads(row["told"])) for row in told.read().to_pylist())
    return {
        name: (own, {table.removeprefix(begin): packed for table, packed in tables.items() if table.startswith(begin)})
        for name, own, begin in ((name, own, write_place(name)) for name, own in parts)
    }


def check_number(saved: Collection[str], wanted: Collection[str]) -> None:
    """Refuse the state of one query for several, and the other way round: their rows are named in other ways."""
    if (LONE in saved) == (LONE in wanted):
        return
    names = ("one query", "several queries")
    before, now = names if LONE in saved else names[::-1]
    raise CheckpointError(
        f"checkpoint: it belongs to {before}, this start has {now}; go back to what it was begun with, or begin a new "
        "checkpoint"
    )


def _name_rows(source: str, streams: Sequence[CellStream]) -> str:
    """Name the rows of a source in a state: of a query that is alone by the streams that have them.

    Then it may call their source otherwise.
    """
    return ", ".join(sorted(one.name for one in streams)) if streams[0].query == LONE else source
