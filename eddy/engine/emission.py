"""Lets complete tuples out, within the limits of the query.

Whatever limits the answer is counted here and not on the way: which tuples are formed on the way depends on the
routing, and what comes out of it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy.contracts import Store
from eddy.errors import QueryError
from eddy.predicates.faults import Faults, mask_rejected
from eddy.query.binding import Binding
from eddy.query.shorthand import find_free
from eddy.tuples import Tuples
from eddy.tuples.arrays import ROWS_PER_LOT, RowIds
from eddy.tuples.tuples import merge

FanoutCounts = dict[str, np.ndarray[Any, np.dtype[np.int64]]]

MEGABYTE = 1 << 20


class Picked(NamedTuple):
    """The places of the rows that passed, in their order.

    Where tables are joined a row stands there once for each of its combinations, and beside it the selected columns.
    """

    places: RowIds
    found: pa.RecordBatch | None


class Rejected(NamedTuple):
    """The place of a row that was put aside, the predicate that has no answer for it, and why."""

    place: int
    predicate: str
    why: str


def name_reasons(aside: Sequence[Rejected], columns: Sequence[str]) -> dict[str, list[str]]:
    """Give the two columns that say why rows were put aside, under names that no other column has."""
    return {
        find_free("rejected_by", columns): [row.predicate for row in aside],
        find_free("rejected_because", columns): [row.why for row in aside],
    }


class Emission:
    """Lets complete tuples out as rows of the answer."""

    def __init__(self, binding: Binding, stores: Mapping[str, Store], faults: Faults) -> None:
        self._binding = binding
        self._stores = stores
        self._faults = faults
        self._outputs = [(str(c.stream), stores[str(c.stream)].column(c.name)) for c, _ in binding.outputs]
        self.results = 0
        self.rejected: list[Tuples] = []

    def batches(self, done: Iterator[Tuples]) -> Iterator[pa.RecordBatch]:
        """Give the results of a micro-batch, in lots of one size."""
        return map(self.gather, self.tuples(done))

    def tuples(self, done: Iterator[Tuples]) -> Iterator[Tuples]:
        """Give the results as tuples, and gather no column; those that are told later are counted then."""
        self.results, self.rejected = 0, []
        # Results are counted before they are gathered into lots: an answer that is too large fails before it is made.
        for lot in gather_lots(self._count(done)):
            if len(passed := self._settle_faults(lot)):
                yield passed

    def _count(self, done: Iterator[Tuples]) -> Iterator[Tuples]:
        """Give the same tuples, as long as they are not too many."""
        query = self._binding.query
        fanned: FanoutCounts = {}
        for tuples in done:
            if self._binding.own_time is None:
                self.count(len(tuples))
            if query.max_fanout is not None:
                self._check_fanout(tuples, fanned, query.max_fanout)
            yield tuples

    def count(self, results: int) -> None:
        """Count results of the micro-batch, as long as they are not too many."""
        self.results += results
        most = self._binding.query.max_results
        if most is not None and self.results > most:
            raise QueryError(
                f"query: a micro-batch has more results than the {most:,} that max_results allows; "
                "take fewer rows into a micro-batch, narrow the windows, add a condition, or raise max_results"
            )

    def _check_fanout(self, tuples: Tuples, fanned: FanoutCounts, most: int) -> None:
        """Refuse a row that sets off too many results.

        A row sets off those in which it arrives last, whatever the routing.
        """
        origin = tuples.lineage.origin
        # The origin is the row that arrived last, so whichever route its tuples took, they are counted at one row.
        new, known = np.bincount(tuples.ids[origin]), fanned.get(origin, np.empty(0, np.int64))
        counts = np.zeros(max(len(new), len(known)), np.int64)
        counts[: len(known)] += known
        counts[: len(new)] += new
        fanned[origin] = counts
        if counts.max(initial=0) <= most:
            return
        row = {origin: np.array([counts.argmax()])}
        raise QueryError(
            f'query: one row of "{origin}", with {self._describe_times(row)}, has more results than the {most:,} that '
            f"max_fanout allows{self._describe_keys(origin, row[origin])}; narrow the windows, add a condition, or "
            "raise max_fanout"
        )

    def _describe_keys(self, origin: str, row: RowIds) -> str:
        """Write the columns by which a row is joined, for a search."""
        read = dict.fromkeys(c for p in self._binding.query.predicates for c in p.columns if c.stream == origin)
        shown = [f"{column} = {self._stores[origin].column(column.name).take(row)[0]}" for column in read]
        return f"; it is joined by {', '.join(shown)}" if shown else ""

    def _settle_faults(self, done: Tuples) -> Tuples:
        """Raise the fault of a tuple that has come to its end; put those aside that are rejected."""
        if done.faults is None or not done.faults.any():
            return done
        aside = mask_rejected(done.faults)
        faulty = np.flatnonzero(done.faults.astype(np.bool_) & ~aside)
        if len(faulty):
            first = done.take(faulty[:1])
            fault = self._faults.find(int(done.faults[faulty[0]]))
            raise QueryError(
                f"{fault.text}\nEverything else lets it pass: the first of {len(faulty):,} such rows or combinations "
                f"{self._locate(first.ids)}; {self._find_cure(fault.predicate)}"
            )
        if self._binding.own_time is None:
            self.results -= int(aside.sum())
        self.rejected.append(done.take(np.flatnonzero(aside)))
        return done.take(np.flatnonzero(~aside))

    def _find_cure(self, predicate: str) -> str:
        """Say what to do about a predicate without an answer; a join has no on_error, and a function no text."""
        found = next((f for f in self._binding.query.filters if f.name == predicate), None)
        if found is None:
            return "mend it, or guard the text"
        guard = "mend it" if found.where is None else "mend it, guard the text"
        return f'{guard}, or give the filter on_error = "drop", "keep" or "reject"'

    def _locate(self, ids: Mapping[str, RowIds]) -> str:
        """Say how a person finds the first tuple.

        A stream without a time is the only one of its query, so its rows are counted.
        """
        if times := self._describe_times(ids):
            return f"has {times}"
        (row,) = next(iter(ids.values())).tolist()
        return f"is row {row + 1:,} of what came with it"

    def _describe_times(self, ids: Mapping[str, RowIds]) -> str:
        """Write the event times of the first tuple."""
        streams = [(s.name, s.time) for s in self._binding.query.streams if s.name in ids]
        times = [(name, time, self._stores[name].column(time).take(ids[name][:1])[0]) for name, time in streams if time]
        return ", ".join(f"{name}.{time} = {value}" for name, time, value in times)

    def gather(self, done: Tuples) -> pa.RecordBatch:
        """Gather the selected columns, which nobody needed before."""
        columns = [held.take(done.ids[name]) for name, held in self._outputs]
        return pa.RecordBatch.from_arrays(columns, schema=self._binding.selected)


def gather_lots(parts: Iterator[Tuples]) -> Iterator[Tuples]:
    """Give the same tuples in parts of one size.

    Their lineages matter no more.
    """
    held: list[Tuples] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= ROWS_PER_LOT:
            # Merged first and cut then: a lot of many small parts is gathered at once.
            lot = merge(held)
            while len(lot) >= ROWS_PER_LOT:
                yield lot.first(ROWS_PER_LOT)
                lot = lot.rest(ROWS_PER_LOT)
            held = [lot]
    if any(map(len, held)):
        yield merge(held)


def check_state_limit(stores: Mapping[str, Store], most: int, stand: str, held: int = 0) -> None:
    """Refuse to hold more rows, and more bytes of results that wait, than `max_state` allows.

    The error names the streams, and which of them holds the others up. Indexes take only what the rows leave of it.
    """
    sizes = {name: store.row_bytes for name, store in stores.items()}
    grown = sum(sizes.values()) + held
    if grown <= most:
        return
    parts = [f'"{name}" {len(stores[name]):,} rows in {size / MEGABYTE:.1f} MB' for name, size in sizes.items()]
    parts += [f"results that wait to be told in {held / MEGABYTE:.1f} MB"] if held else []
    raise QueryError(
        f"query: the stored rows have grown to {grown:,} bytes, and max_state allows {most:,}: "
        f"{', '.join(parts)}; {stand}; narrow the windows, take fewer rows into a micro-batch, divide the work among "
        "more cells, or raise max_state"
    )
