"""The streams of a cell: those of its query, or of all its queries."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy.query import Stream
from eddy.query.binding import Binding
from eddy.query.emit import counts_rows
from eddy.tuples.arrow import merge_fields


def name_input(query: str, name: str) -> str:
    """Name an input of a query as the cell does.

    >>> name_input("alerts", "orders"), name_input("", "orders")
    ('alerts.orders', 'orders')
    """
    return f"{query}.{name}" if query else name


def write_place(query: str) -> str:
    """Say of which query something is; of one that is alone nobody has to."""
    return f'query "{query}": ' if query else ""


class CellStream(NamedTuple):
    """A stream of a query, by the cell's name for it."""

    name: str
    query: str
    stream: Stream


@dataclass(frozen=True, kw_only=True)
class CellInputs:
    """What admits the rows of a cell must know of its queries.

    `schemas` are those of sources, and `keys` by the cell's names of streams. Rows need no order where none of them
    meets another one.
    """

    streams: Sequence[CellStream]
    schemas: Mapping[str, pa.Schema]
    keys: Mapping[str, Sequence[str]]
    tick_type: Any
    in_order: bool

    @classmethod
    def of(cls, bindings: Mapping[str, Binding]) -> CellInputs:
        """Collect those of some queries, whose times are of one type."""
        streams = [
            CellStream(name_input(query, stream.name), query, stream)
            for query, binding in bindings.items()
            for stream in binding.query.streams
        ]
        read: dict[str, list[pa.Schema]] = {}
        for one in streams:
            read.setdefault(one.stream.origin, []).append(bindings[one.query].schemas[one.stream.name])
        return cls(
            streams=streams,
            schemas={source: merge_fields(found) for source, found in read.items()},
            keys={one.name: bindings[one.query].keys[one.stream.name] for one in streams},
            tick_type=find_tick_type(bindings.values()),
            in_order=any(_meets_others(binding) for binding in bindings.values()),
        )

    @cached_property
    def sources(self) -> Mapping[str, Sequence[CellStream]]:
        """The streams of each source."""
        return _group(self.streams, lambda one: one.stream.origin)

    @cached_property
    def queries(self) -> Mapping[str, Sequence[CellStream]]:
        """The streams of each query."""
        return _group(self.streams, lambda one: one.query)

    @cached_property
    def delays(self) -> Mapping[str, Mapping[str, int | float] | None]:
        """The delays of each query's streams in ticks.

        A stream without a delay may bring a row of any time, so its query has no watermark at all, and none here.
        """
        return {
            query: None
            if any(one.stream.delay_ticks is None for one in streams)
            else {one.name: self._round_length(one.stream.delay_ticks or 0) for one in streams}
            for query, streams in self.queries.items()
        }

    def _round_length(self, length: int | float) -> int | float:
        """Round a length beside whole times down to whole ticks: then no difference is rounded."""
        return math.floor(length) if self.tick_type is np.int64 else length

    @cached_property
    def orders(self) -> Mapping[tuple[str, ...], Sequence[Sequence[str]]]:
        """The sources of queries in their orders, and the names of the streams of each query that has one."""
        found: dict[tuple[str, ...], list[list[str]]] = {}
        for streams in self.queries.values():
            origins = tuple(one.stream.origin for one in streams)
            found.setdefault(origins, []).append([one.name for one in streams])
        return found


def find_tick_type(bindings: Collection[Binding]) -> Any:
    """Find the type in which times of a cell are compared; queries whose streams have none go by that of the others."""
    timed = [binding for binding in bindings if binding.clock is not None]
    return next(iter([*timed, *bindings])).tick_type


def _group(streams: Sequence[CellStream], by: Any) -> dict[str, list[CellStream]]:
    found: dict[str, list[CellStream]] = {}
    for one in streams:
        found.setdefault(by(one), []).append(one)
    return found


def _meets_others(binding: Binding) -> bool:
    """Tell whether it matters which row came first."""
    # Rows of one stream meet no others, so nobody asks, unless newer ones take their place.
    first, *others = binding.query.streams
    return bool(others) or counts_rows(binding.query.emit, first)
