"""One query's way through a cell: its operators, its policy, its results."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.classes.classifier import Classifier, Look
from eddy.contracts import Chance, Clock, Policy
from eddy.engine import emission
from eddy.engine.admission import AdmittedRows, Tick
from eddy.engine.cell_inputs import name_input, write_place
from eddy.engine.counting import Came, Counting, Settled, Taken
from eddy.engine.emission import Emission
from eddy.engine.machinery import HeldResults, Machinery
from eddy.engine.rounds import Rounds, StoredTuples
from eddy.engine.snapshot import pack_array, read_array, restore_policy
from eddy.errors import Within
from eddy.observe.counters import StreamCount
from eddy.observe.prices import Prices
from eddy.predicates.setup import prepare
from eddy.query import fingerprint
from eddy.query.binding import Binding
from eddy.query.fingerprint import FilterChange
from eddy.query.pushed_filter import PushedFilter
from eddy.routing.router import Router
from eddy.tuples import Tuples
from eddy.tuples.arrays import RowIds
from eddy.tuples.packed import Packed

Part = tuple[dict[str, Any], dict[str, Sequence[Packed]]]
"""A part of a state: plain values, and tables."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A query of a cell, and by whom and how it is answered there.

    `parts` are what its state depends on, where that is more than the query says, and `pushed` which filters rows have
    passed before. `working` is the clock of steps, and `by_clock` says that rounds may depend on what they take.
    """

    binding: Binding
    machinery: Machinery
    policy: Policy
    policy_name: str
    prices: Prices
    clock: Clock
    working: Clock
    parts: Mapping[str, str] | None = None
    pushed: Sequence[PushedFilter] = ()
    by_clock: bool = True


class Lane:
    """Routes the rows of one query, which the cell has stored; other queries of the cell have lanes of their own."""

    def __init__(self, name: str, asked: Asked) -> None:
        self.name, self.binding, self.pushed = name, asked.binding, asked.pushed
        self.within = Within(write_place(name))
        # Each stream by the query's name for it, and by the cell's.
        self._names = [(stream, name_input(name, stream.name)) for stream in asked.binding.query.streams]
        self.parts = fingerprint.of(asked.binding) if asked.parts is None else asked.parts
        streams = asked.binding.query.streams
        made, policy, policy_name = asked.machinery, asked.policy, asked.policy_name
        self._setups = [(f.name, f.setup) for f in asked.binding.query.filters if f.setup is not None]
        self._streams = {stream.name: made.stores[stream.name] for stream in streams}
        self.faults = made.faults
        self.outlet = Emission(asked.binding, made.stores, made.faults)
        self.held = made.held
        self._classifier = Classifier(policy.features, {s.name: asked.binding.schemas[s.name] for s in streams})
        self._router = Router(
            made.operators,
            policy,
            policy_name,
            self._classify,
            asked.working,
            asked.prices,
            made.tariff,
            made.taps,
            sifts=made.sifts,
        )
        self._rounds = Rounds(self._router, policy, asked.prices, by_clock=asked.by_clock)
        self._policy, self._policy_name = policy, policy_name
        self._clock = asked.clock
        self._indexes, self._caches = made.indexes, made.caches
        self._costs = made.tariff.seconds
        self.counting = Counting(policy, policy_name, self._classifier.names, made, by_clock=asked.by_clock)

    def begin(self) -> None:
        """Begin a micro-batch."""
        self.counting.last = None
        self.faults.begin()
        prepare(self._setups)

    def arrive(self, admitted: Mapping[str, AdmittedRows], stored: Mapping[str, RowIds]) -> list[StoredTuples]:
        """Take note of rows that have been stored, source by source, as new tuples of its streams."""
        found = []
        for stream, name in self._names:
            (rows, _, _, streams), ids = admitted[stream.origin], stored[stream.origin]
            (arrivals, taken), *_ = streams[name]
            self._classifier.arrive(stream.name, rows, int(ids[0]) if len(ids) else 0)
            own, numbers = (ids, arrivals) if taken is None else (ids.take(taken), arrivals.take(taken))
            found.append(StoredTuples(Tuples(self._router.machine.start(stream.name), {stream.name: own}), numbers))
        return found

    def route(self, arrived: Sequence[StoredTuples], chance: Chance) -> Iterator[Tuples]:
        """Route new tuples; yields those that complete."""
        return self._rounds.route(arrived, chance)

    def emit(self, done: Iterator[Tuples], watermark: Tick | None) -> Iterator[pa.RecordBatch]:
        """Give the results; those that are told later wait for the watermark behind this micro-batch."""
        return self.outlet.batches(done) if self.held is None else self._hold(self.held, done, watermark)

    def _hold(self, held: HeldResults, done: Iterator[Tuples], watermark: Tick | None) -> Iterator[pa.RecordBatch]:
        """Let what is done wait; tell what the watermark behind this micro-batch has passed."""
        for lot in self.outlet.tuples(done):
            held.append(lot.ids, self.outlet.gather(lot))
        held.note_outrun()
        # The results of this micro-batch are those that it tells, whenever they were found.
        for rows in held.release(watermark):
            self.outlet.count(rows.num_rows)
            yield rows

    def settle(self, seconds: float) -> Settled:
        """Choose how the rows are found that are left; to let go of the others took so many seconds."""
        started = self._clock()
        indexed = self._indexes.settle()
        # The indexes have what room rows leave, and caches what is left then.
        tuning = self._clock() - started
        held = 0 if self.held is None else len(self.held)
        return Settled(indexed, seconds, tuning, self._caches.settle(), self.outlet.results, held)

    def check_room(self, stand: Callable[[str], str]) -> None:
        """Stop before the machine does; `stand` says of a query how far its streams have come."""
        most = self.binding.query.max_state
        if most is not None:
            held = 0 if self.held is None else self.held.count_bytes()
            emission.check_state_limit(self._streams, most, stand(self.name), held)

    def count(
        self,
        batch: int,
        admitted: Mapping[str, AdmittedRows],
        watermark: Tick | None,
        settled: Settled,
        newest: Mapping[str, Tick],
        stop_clock: Callable[[], Taken],
    ) -> None:
        """Count what a micro-batch has done."""
        came = Came(self._count_streams(admitted, newest), watermark, self.binding.clock)
        self.counting.count(batch, came, self._router.routing, settled, stop_clock)

    def _count_streams(
        self, admitted: Mapping[str, AdmittedRows], newest: Mapping[str, Tick]
    ) -> dict[str, StreamCount]:
        """Count the rows that came, and those that are stored now."""
        found = {}
        for stream, name in self._names:
            part, store = admitted[stream.origin].streams[name], self._streams[stream.name]
            found[stream.name] = StreamCount(
                rows=part.came,
                **part.dropped,
                copies=part.copies,
                stored=len(store),
                nbytes=store.nbytes,
                newest=newest.get(name),
            )
        return found

    def snapshot(self) -> Part:
        """Give what must survive a restart, but for the rows."""
        tables: dict[str, Sequence[Packed]] = {}
        state = self._policy.snapshot()
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        tables |= {f"policy {name}": [pack_array(array)] for name, array in arrays.items()}
        meta = {
            "query": dict(self.parts),
            "statistics": self._router.statistics.snapshot(),
            "prices": self._router.prices.snapshot(),
            "least round": self._rounds.least,
            "policy": self._policy_name,
            "after": self._after(),
            "costs": dict(self._costs),
            "classifier": self._classifier.snapshot(),
            "shapes": {name: array.shape for name, array in arrays.items()},
            "state": {name: value for name, value in state.items() if name not in arrays},
            **self.counting.snapshot(),
        }
        if tuning := self._indexes.snapshot():
            meta["tuning"] = tuning
        if self.held is not None:
            meta["held"], tables["held"] = self.held.snapshot()
        caches, saved = self._caches.snapshot()
        if caches:
            meta["caches"], tables = caches, {**tables, **saved}
        return meta, tables

    def restore(
        self,
        meta: Mapping[str, Any],
        tables: Mapping[str, Sequence[Packed]],
        change: FilterChange,
        *,
        is_joined: bool = False,
    ) -> None:
        """Go on from a snapshot, over its rows; some of which may have become one store.

        Another policy starts learning anew. So does the same one where filters are others: what it knows speaks of
        them. What others cost and let pass is kept.
        """
        if self.held is not None:
            self.held.restore(meta["held"], tables["held"])
        is_as_dear = self._restore_costs(meta, change.forgotten)
        self._rounds.least = meta.get("least round", 0)
        self.counting.restore(meta)
        self._indexes.restore(meta.get("tuning", {}))
        # Rows that other filters have let go of, or keep, have no combinations that are saved, nor have those of stores
        # that have become one.
        if not (change or is_joined):
            self._caches.restore(meta.get("caches", {}), tables)
        # Buckets are numbered for a policy's features; another one has others, and could not read what was learned. Nor
        # is it of use where filters wait for others than before: routes that were learned may not be legal any more.
        is_same = not change and meta["policy"] == self._policy_name
        if is_same and meta.get("after", {}) == self._after() and is_as_dear:
            self._classifier.restore(meta["classifier"])
            arrays = {name: read_array(tables[f"policy {name}"], shape) for name, shape in meta["shapes"].items()}
            restore_policy(self._policy, self._policy_name, {**meta["state"], **arrays})
            self.counting.restore_learned(meta)

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
        return {f.name: sorted(f.after) for f in self.binding.query.filters if f.after}

    def _classify(self, tuples: Tuples) -> Look:
        """Look at the buckets of the rows that set tuples off."""
        origin = tuples.lineage.origin
        return self._classifier.buckets(origin, tuples.ids[origin])
