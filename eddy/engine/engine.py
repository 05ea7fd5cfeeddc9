"""One cell: admit, build, route, emit, evict."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import Classifier, Look
from eddy.contracts import Clock, Others, Policy
from eddy.engine import emission
from eddy.engine.admission import AdmittedRows, Gate, Mark
from eddy.engine.counting import Came, Counting, Settled
from eddy.engine.emission import Emission, Picked, Rejected
from eddy.engine.machinery import HeldResults, Machinery
from eddy.engine.rounds import Rounds, StoredTuples
from eddy.engine.snapshot import (
    Snapshot,
    guard_restore,
    pack,
    pack_array,
    read_array,
    restore_policy,
    unpack,
)
from eddy.errors import EngineError
from eddy.observe.counters import Counters, StreamCount
from eddy.observe.prices import Prices
from eddy.predicates.setup import prepare
from eddy.query import Stream, fingerprint
from eddy.query.binding import Binding
from eddy.query.pushed_filter import PushedFilter
from eddy.routing.router import Router
from eddy.tuples import Tuples
from eddy.tuples.arrays import RowIds
from eddy.tuples.arrow import no_rows
from eddy.tuples.packed import Packed
from eddy.tuples.tuples import merge

Emitted = TypeVar("Emitted")


class Engine:
    """Answers a query, one micro-batch after the other.

    The same batches, policy and seed give the same routes; the same batches alone give the same answer. `seed` is that
    of the query, and the number of the cell. `by_clock` says that rounds may depend on what steps take, too.
    """

    def __init__(  # noqa: PLR0913  all that a cell is made of, most of it by keyword
        self,
        binding: Binding,
        machinery: Machinery,
        policy: Policy,
        prices: Prices,
        *,
        policy_name: str,
        clock: Clock,
        working: Clock,
        seed: tuple[int, int],
        parts: Mapping[str, str] | None = None,
        pushed: Sequence[PushedFilter] = (),
        by_clock: bool = True,
    ) -> None:
        self._binding = binding
        self._setups = [(f.name, f.setup) for f in binding.query.filters if f.setup is not None]
        self._parts = fingerprint.of(binding) if parts is None else parts
        self._pushed = pushed
        self._stores, self._rows = machinery.stores, machinery.rows
        self._streams = {s.name: machinery.stores[s.name] for s in binding.query.streams}
        self._faults = machinery.faults
        self._outlet = Emission(binding, self._stores, self._faults)
        self._held = machinery.held
        self._gate = Gate(binding)
        self._classifier = Classifier(policy.features, {s.name: binding.schemas[s.name] for s in binding.query.streams})
        operators, tariff, taps = machinery.operators, machinery.tariff, machinery.taps
        self._router = Router(
            operators, policy, policy_name, self._classify, working, prices, tariff, taps, sifts=machinery.sifts
        )
        self._rounds = Rounds(self._router, policy, prices, by_clock=by_clock)
        self._policy, self._policy_name = policy, policy_name
        self._clock = clock
        self._seed = seed
        self._batch, self._under_way = 0, False
        self._places: Mapping[str, RowIds | None] = {}
        self._indexes, self._caches = machinery.indexes, machinery.caches
        self._costs = tariff.seconds
        self._counting = Counting(policy, policy_name, self._classifier.names, machinery, by_clock=by_clock)

    @property
    def schema(self) -> pa.Schema:
        """The schema of the answer."""
        return self._binding.schema

    @property
    def newest(self) -> Mapping[str, float]:
        """How far each stream that has shown a row has come, in ticks, for all that this cell knows."""
        return dict(self._gate.newest)

    def run(self, batch: Mapping[str, pa.RecordBatch], mark: Mark | None = None) -> Iterator[pa.RecordBatch]:
        """Process one micro-batch, the rows of each source; it is over when the iterator is.

        The watermark is that of the rows of earlier micro-batches, unless `next_mark` says what it is: one of several
        cells sees only a part of the rows.

        One that fails or is abandoned has left its rows behind: then the engine is of no use any more, and another
        one goes on from the last snapshot.
        """
        emit = self._outlet.batches if self._held is None else partial(self._hold, self._held, mark)
        yield from self._run(batch, mark, emit)

    def _hold(self, held: HeldResults, mark: Mark | None, done: Iterator[Tuples]) -> Iterator[pa.RecordBatch]:
        """Let what is done wait; tell what the watermark behind this micro-batch has passed."""
        for lot in self._outlet.tuples(done):
            held.append(lot.ids, self._outlet.gather(lot))
        held.note_outrun()
        # The results of this micro-batch are those that it tells, whenever they were found.
        for rows in held.release(self._find_next(mark)):
            self._outlet.count(rows.num_rows)
            yield rows

    def _find_next(self, mark: Mark | None) -> float | None:
        """Find the watermark behind a micro-batch, as far as it is known."""
        known = mark or self._gate.next_mark()
        return known.watermark if known.following is None else known.following

    def pick(self, rows: pa.RecordBatch) -> Picked:
        """Process one micro-batch of a query over one stream; tell which of the rows that came passed, in their order.

        Whoever holds the rows needs no copy of them. Rows that take no part, since they are bad, have not passed.
        """
        (source,) = self._binding.query.sources
        for picked in list(self._run({source: rows}, None, self._pick)):
            return picked
        return Picked(np.empty(0, np.int64), None if self._is_alone else no_rows(self.schema))

    def _pick(self, done: Iterator[Tuples]) -> Iterator[Picked]:
        """Find the places of what is done, at once."""
        (name,) = self._streams
        parts = list(self._outlet.tuples(done))
        if not parts:
            return
        whole = merge(parts)
        places = self._find_places(name, whole.ids[name])
        if self._is_alone:
            yield Picked(np.sort(places), None)
            return
        # Routing says in which order combinations come out; they are told by row, then in the order of the tables.
        order = np.lexsort([*(whole.ids[table] for table in reversed(self._binding.query.inputs[1:])), places])
        yield Picked(places.take(order), self._outlet.gather(whole.take(order)))

    @property
    def _is_alone(self) -> bool:
        return len(self._binding.query.inputs) == 1

    def read_rejected(self) -> list[Rejected]:
        """Tell which rows of the last `pick` were put aside, since a predicate has no answer for them."""
        (name,) = self._streams
        return [
            Rejected(place, *self._faults.find(code)[:2])
            for part in self._outlet.rejected
            for place, code in zip(
                self._find_places(name, part.ids[name]).tolist(), part.read_faults().tolist(), strict=True
            )
        ]

    def _find_places(self, name: str, ids: RowIds) -> RowIds:
        """Find the places of rows among all that came."""
        places = self._places[name]
        return ids if places is None else places[ids]

    def _run(
        self,
        batch: Mapping[str, pa.RecordBatch],
        mark: Mark | None,
        emit: Callable[[Iterator[Tuples]], Iterator[Emitted]],
    ) -> Iterator[Emitted]:
        """Process one micro-batch, and hand on what `emit` makes of the tuples that complete."""
        self._begin()
        prepare(self._setups)
        paused, started = 0.0, self._clock()
        before = mark or self._gate.next_mark()
        admitted = self._gate.admit(batch, self._batch, before)
        self._places = {name: part.places for part in admitted.values() for name in part.streams}
        arrived = self._build(admitted)
        self._check_room()
        for emitted in emit(self._rounds.route(arrived, self._chance())):
            left = self._clock()
            yield emitted
            paused += self._clock() - left
        known = mark or self._gate.next_mark()
        settled = self._settle(known.watermark)
        self._check_room()
        came = Came(self._count_streams(admitted), before.watermark, self._binding.clock)
        self._counting.count(self._batch, came, self._router.routing, settled, lambda: self._clock() - started - paused)
        self._batch += 1
        self._under_way = False

    def _settle(self, watermark: float | None) -> Settled:
        """Let go of the rows that are past, and choose how the others are found."""
        started = self._clock()
        for rows in self._rows.values():
            rows.settle(watermark)
        settled = self._clock()
        indexed = self._indexes.settle()
        # The indexes have what room rows leave, and caches what is left then.
        tuned = self._clock()
        held = 0 if self._held is None else len(self._held)
        caches = self._caches.settle()
        return Settled(indexed, settled - started, tuned - settled, caches, self._outlet.results, held)

    def _check_room(self) -> None:
        """Stop before the machine does."""
        if self._binding.query.max_state is not None:
            held = 0 if self._held is None else self._held.count_bytes()
            emission.check_state_limit(self._streams, self._binding.query.max_state, self._gate.describe(), held)

    def _begin(self) -> None:
        self._check_between("run")
        self._counting.last = None
        self._under_way = True
        self._faults.begin()

    def _check_between(self, what: str) -> None:
        """Some things can be done between micro-batches only."""
        if self._under_way:
            raise EngineError(
                f"engine: {what}: micro-batch {self._batch} was begun and not run to its end, because it failed or its "
                "results were not all taken; build another engine and restore the last snapshot"
            )

    def _count_streams(self, admitted: Mapping[str, AdmittedRows]) -> dict[str, StreamCount]:
        """Count the rows that came, and those that are stored now."""
        parts = {name: part for rows in admitted.values() for name, part in rows.streams.items()}
        return {
            name: StreamCount(
                rows=part.came,
                **part.dropped,
                copies=part.copies,
                stored=len(self._streams[name]),
                nbytes=self._streams[name].nbytes,
                newest=self._gate.newest.get(name),
            )
            for name, part in ((name, parts[name]) for name in self._streams)
        }

    def read_counters(self) -> Counters:
        """Give the counters of the last micro-batch."""
        if self._counting.last is None:
            raise EngineError("engine: no micro-batch has been run to its end, so there is nothing to report")
        return self._counting.last

    def snapshot(self) -> Snapshot:
        """Give the whole state, between two micro-batches."""
        self._check_between("snapshot")
        numbers: dict[str, Any] = {}
        tables: dict[str, Sequence[Packed]] = {}
        for source, streams in self._binding.query.sources.items():
            name = _name_rows(streams)
            numbers[name], tables[f"stream {name}"] = self._rows[source].snapshot()
        state = self._policy.snapshot()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        tables |= {f"policy {name}": [pack_array(array)] for name, array in arrays.items()}
        meta = {
            "query": dict(self._parts),
            "batch": self._batch,
            "gate": self._gate.snapshot(),
            "numbers": numbers,
            "statistics": self._router.statistics.snapshot(),
            "prices": self._router.prices.snapshot(),
            "least round": self._rounds.least,
            "policy": self._policy_name,
            "after": self._after(),
            "costs": dict(self._costs),
            "classifier": self._classifier.snapshot(),
            "shapes": {name: array.shape for name, array in arrays.items()},
            "state": {name: value for name, value in state.items() if name not in arrays},
            **self._counting.snapshot(),
        }
        if tuning := self._indexes.snapshot():
            meta["tuning"] = tuning
        if self._held is not None:
            meta["held"], tables["held"] = self._held.snapshot()
        caches, saved = self._caches.snapshot()
        if caches:
            meta["caches"], tables = caches, {**tables, **saved}
        return pack(meta, tables)

    def check(self, snapshot: Snapshot) -> None:
        """Refuse a snapshot that is damaged, or of another query: also one with other filters."""
        meta, _ = unpack(snapshot)
        fingerprint.check_same(meta["query"], self._parts)

    @guard_restore
    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot of the same query.

        Another policy keeps the rows and starts learning anew. So does the same one where filters are others: what it
        knows speaks of them. What others cost and let pass is kept.
        """
        meta, tables = unpack(snapshot)
        change = fingerprint.check(meta["query"], self._parts, self._pushed)
        self._batch = meta["batch"]
        self._gate.restore(meta["gate"])
        is_joined = [
            self._restore_rows(source, meta["numbers"], tables, change.forgotten)
            for source in self._binding.query.sources
        ]
        if self._held is not None:
            self._held.restore(meta["held"], tables["held"])
        is_as_dear = self._restore_costs(meta, change.forgotten)
        self._rounds.least = meta.get("least round", 0)
        self._counting.restore(meta)
        self._indexes.restore(meta.get("tuning", {}))
        # Rows that other filters have let go of, or keep, have no combinations that are saved, nor have those of stores
        # that have become one.
        if not (change or any(is_joined)):
            self._caches.restore(meta.get("caches", {}), tables)
        # Buckets are numbered for a policy's features; another one has others, and could not read what was learned. Nor
        # is it of use where filters wait for others than before: routes that were learned may not be legal any more.
        is_same = not change and meta["policy"] == self._policy_name
        if is_same and meta.get("after", {}) == self._after() and is_as_dear:
            self._classifier.restore(meta["classifier"])
            arrays = {name: read_array(tables[f"policy {name}"], shape) for name, shape in meta["shapes"].items()}
            restore_policy(self._policy, self._policy_name, {**meta["state"], **arrays})
            self._counting.restore_learned(meta)

    def _restore_rows(
        self,
        source: str,
        numbers: Mapping[str, Mapping[str, int]],
        tables: Mapping[str, Sequence[Packed]],
        forgotten: frozenset[str],
    ) -> bool:
        """Go on with the rows of a source; tells whether each of its streams had its own in the snapshot."""
        streams = self._binding.query.sources[source]
        new = [one for one in self._pushed if one.name in forgotten]
        others = [Others(forgotten, [one for one in new if one.stream == stream.name]) for stream in streams]
        if (name := _name_rows(streams)) in numbers:
            self._rows[source].restore(numbers[name], tables[f"stream {name}"], others)
            return False
        self._rows[source].adopt([(numbers[s.name], tables[f"stream {s.name}"]) for s in streams], others)
        return True

    def _restore_costs(self, meta: Mapping[str, Any], forgotten: Collection[str]) -> bool:
        """Go on with what operators cost and let pass, but for some; tells whether it still holds."""
        self._router.statistics.restore([row for row in meta["statistics"] if row[0] not in forgotten])
        # Where filters cost something else than before, all that was learned of costs was about other ones.
        saved = meta.get("costs", {})
        is_as_dear = all(saved.get(f) == self._costs.get(f) for f in {*saved, *self._costs}.difference(forgotten))
        prices = [row for row in meta.get("prices", []) if row[0] not in forgotten]
        self._router.prices.restore(prices if is_as_dear else [])
        return is_as_dear

    def _after(self) -> dict[str, list[str]]:
        """List the filters that wait for others, and for which."""
        return {f.name: sorted(f.after) for f in self._binding.query.filters if f.after}

    def _chance(self) -> Callable[[], np.random.Generator]:
        """Give the micro-batch's generator, made when it is needed.

        A retry draws as the first try did.
        """
        seed, made = (*self._seed, self._batch), list[np.random.Generator]()

        def chance() -> np.random.Generator:
            if not made:
                made.append(np.random.default_rng(seed))
            return made[0]

        return chance

    def _build(self, admitted: Mapping[str, AdmittedRows]) -> list[StoredTuples]:
        """Store the rows of each source, unfiltered, as new tuples of its streams."""
        built: dict[str, StoredTuples] = {}
        for source, (rows, ticks, _, streams) in admitted.items():
            ids = self._rows[source].append(rows, ticks, [part.seen for part in streams.values()])
            for name, ((arrivals, taken), *_) in streams.items():
                self._classifier.arrive(name, rows, int(ids[0]) if len(ids) else 0)
                own, numbers = (ids, arrivals) if taken is None else (ids.take(taken), arrivals.take(taken))
                built[name] = StoredTuples(Tuples(self._router.machine.start(name), {name: own}), numbers)
        return [built[name] for name in self._streams]

    def _classify(self, tuples: Tuples) -> Look:
        """Look at the buckets of the rows that set tuples off."""
        origin = tuples.lineage.origin
        return self._classifier.buckets(origin, tuples.ids[origin])


def _name_rows(streams: Sequence[Stream]) -> str:
    """Name the rows of a source in a state: by the streams that have them, however the source is called."""
    return ", ".join(sorted(stream.name for stream in streams))
