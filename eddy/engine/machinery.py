"""What an engine is made of, besides its policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from eddy.contracts import Operator, Others, Store
from eddy.observe.caching import CacheCount
from eddy.observe.indexing import Indexed
from eddy.observe.tariff import NO_TARIFF, Tariff
from eddy.predicates.faults import Faults
from eddy.routing.sieve import NO_SIFTS, Sift
from eddy.taps import NO_TAPS, Taps
from eddy.tuples import Packed
from eddy.tuples.arrays import RowIds
from eddy.tuples.event_time import Ticks
from eddy.tuples.tuples import Appearance


class SourceRows(Protocol):
    """The rows of one source, which the query has under one name or several: each has a store of its own."""

    def append(self, rows: pa.RecordBatch, ticks: Ticks, seen: Sequence[Appearance]) -> RowIds:
        """Keep rows, in the order of their arrival; says under which ids. `seen` is how they appear under each name."""

    def settle(self, watermarks: Sequence[float | None] | None) -> None:
        """End the micro-batch: let go of the rows that nothing can meet any more.

        Each name has a watermark, in the order of `append`; None where rows have no time.
        """

    def snapshot(self) -> tuple[dict[str, int], Sequence[Packed]]:
        """What must survive a restart: numbers, and rows."""

    def adopt(
        self, states: Sequence[tuple[Mapping[str, int], Sequence[Packed]]], others: Sequence[Others] = ()
    ) -> None:
        """Go on from snapshots of stores that each name had for itself, in a store that is empty."""

    def restore(self, numbers: Mapping[str, int], packed: Sequence[Packed], others: Sequence[Others] = ()) -> None:
        """Go on from a snapshot; called on a store that is empty.

        Where filters are others than before, what they have said is forgotten, and rows that they drop are left out.
        `others` are those of each name.
        """


class Indexes(Protocol):
    """The indexes of all inputs, and who chooses them."""

    def settle(self) -> Indexed:
        """End the micro-batch, once the rows that are past have gone: choose the indexes of the next one."""

    def snapshot(self) -> Mapping[str, Any]:
        """What must survive a restart, as JSON can hold it; empty if nothing was learned."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot, over the rows of it; from an empty one, learn anew."""


class _NoIndexes:
    """Those of a query that joins nothing."""

    def settle(self) -> Indexed:
        return Indexed()

    def snapshot(self) -> Mapping[str, Any]:
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        pass


NO_INDEXES: Indexes = _NoIndexes()


class Caches(Protocol):
    """What parts of a join have found, kept for who comes next."""

    def settle(self) -> Sequence[CacheCount]:
        """End the micro-batch, once the rows that are past have gone; says what was done in it."""

    def snapshot(self) -> tuple[Mapping[str, Any], Mapping[str, Sequence[Packed]]]:
        """What of them is to be saved, as JSON can hold it and as tables; empty if nothing is."""

    def restore(self, state: Mapping[str, Any], tables: Mapping[str, Sequence[Packed]]) -> None:
        """Go on from a snapshot, over the rows of it; what cannot be read begins anew."""


class _NoCaches:
    """Those of a query that joins nothing."""

    def settle(self) -> Sequence[CacheCount]:
        return ()

    def snapshot(self) -> tuple[Mapping[str, Any], Mapping[str, Sequence[Packed]]]:
        return {}, {}

    def restore(self, state: Mapping[str, Any], tables: Mapping[str, Sequence[Packed]]) -> None:
        pass


NO_CACHES: Caches = _NoCaches()


class HeldResults(Protocol):
    """Combinations that have been found, and are told later."""

    def __len__(self) -> int:
        """How many wait."""

    def count_bytes(self) -> int:
        """Count the bytes that they occupy."""

    def append(self, ids: Mapping[str, RowIds], rows: pa.RecordBatch) -> None:
        """Let combinations wait; `rows` have their columns of the answer."""

    def note_outrun(self) -> None:
        """Note which of them have a row that newer ones have outrun in this micro-batch."""

    def release(self, watermark: float | None) -> Iterator[pa.RecordBatch]:
        """Tell what is known by now, and let go of what is over."""

    def snapshot(self) -> tuple[Mapping[str, Any], Sequence[Packed]]:
        """What must survive a restart."""

    def restore(self, numbers: Mapping[str, Any], packed: Sequence[Packed]) -> None:
        """Go on from a snapshot; nothing waits yet."""


class Machinery(NamedTuple):
    """What a query is answered with, besides its policy; `stores` has those of all its inputs."""

    operators: Sequence[Operator]
    stores: Mapping[str, Store]
    faults: Faults
    indexes: Indexes = NO_INDEXES
    caches: Caches = NO_CACHES
    tariff: Tariff = NO_TARIFF
    taps: Taps = NO_TAPS
    sifts: Mapping[str, Sift] = NO_SIFTS
    held: HeldResults | None = None
