"""Looks of probes into the parts of a STeM's rows: where each finds runs of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eddy.kernels.arguments import NO_BOUNDS, Lookup, Lookups, Narrowing, Places, Rising
from eddy.kernels.choice import choose_kernels
from eddy.kernels.narrowing import narrow
from eddy.operators.index.builder import Builder
from eddy.operators.index.counts import Served
from eddy.operators.index.parts import Part
from eddy.operators.index.structures.contracts import Index
from eddy.operators.index.structures.key_map import KeyMap
from eddy.tuples.arrays import Integers
from eddy.tuples.request import Request
from eddy.tuples.runs import Reach, Runs, find_probes


class Ready(NamedTuple):
    """An index of a part, None for its rows as they stand, and where those are among all that a search may find."""

    built: Index | None
    begin: int
    runs: Runs


class Look(NamedTuple):
    """A look into a part, by its number among all."""

    number: int
    part: Part
    key_map: KeyMap | None
    ready: Ready

    @property
    def in_order(self) -> bool:
        """Rows that match stand as they came: all have one code, and in this by time, and came so."""
        return self.key_map is None or (self.part.rises and self.ready.runs.exact)


class Looks:
    """What probes of one pattern do, as long as rows are as they are."""

    def __init__(self, looks: Sequence[Look], pattern: int, builder: Builder) -> None:
        self.served: Sequence[tuple[Served, int]] = [((look.key_map, pattern), look.part.start) for look in looks]
        self.rows = [look.part.rows for look in looks]
        self.key_maps = {look.key_map for look in looks}
        self.in_order = all(look.in_order for look in looks)
        self._looks = looks
        self._pattern = pattern
        self._builder = builder
        self._wide = max((look.ready.runs.width for look in looks), default=1)
        made = {look.number: self._make_lookup(look) for look in looks} if self._wide == 1 else {}
        self._lookups = Lookups([lookup for lookup in made.values() if lookup is not None])
        self._others = [look for look in looks if made.get(look.number) is None]

    def find(self, request: Request, within: Narrowing, reach: Reach | None, parts: int) -> tuple[Places, list[int]]:
        """Find where the runs of probes start and how many rows they have; counts those with rows, by part."""
        size = len(request), self._wide * (parts if reach is None else reach.width)
        places = Places(np.zeros(size, np.int64), np.zeros(size, np.int64), reach)
        counted = choose_kernels().kernels.look_up(self._lookups, request.hashes, within, places)
        if not self._others:
            return places, counted
        found = dict(zip((one.number for one in self._lookups.parts), counted, strict=True))
        found |= {look.number: self._look_into(look, request, within, places) for look in self._others}
        return places, [found[look.number] for look in self._looks]

    def _make_lookup(self, look: Look) -> Lookup | None:
        """Say what a kernel needs for a look; None where it would take more than that."""
        index, begin, runs = look.ready
        table = None if index is None else index.table(self._pattern)
        if table is None:
            return None
        is_rising = runs.exact and look.part.newest > look.part.least
        times = Rising(self._builder.read_times(look.part), look.part.least, look.part.newest) if is_rising else None
        return Lookup(table, look.number, begin, times)

    def _look_into(self, look: Look, request: Request, within: Narrowing, places: Places) -> int:
        """Write down what some probes find in one part; counts the runs with rows."""
        slot, probes, size = find_probes(places.reach, look.number, len(request))
        index, begin, runs = look.ready
        if index is None:
            first, many = np.array(begin), np.array(look.part.rows)
        else:
            first, many = index.search(request, probes)
            self._narrow(look, within, probes, first, many)
            first += begin
        if self._wide == 1:
            places.starts[probes, slot], places.counts[probes, slot] = first, many
        else:
            _put_wide(places, runs.width, np.asarray(slot) * self._wide, probes, first, many)
        return size if index is None else int(np.count_nonzero(many))

    def _narrow(self, look: Look, within: Narrowing, probes: slice | Integers, first: Integers, many: Integers) -> None:
        """Leave out what is out of bounds, by the time that rows of one code stand in order of."""
        index, _, runs = look.ready
        is_rising = runs.exact and look.part.newest > look.part.least
        if index is None or not is_rising or within.bounds is NO_BOUNDS:
            return
        long = np.flatnonzero(many >= within.least_saved)
        if len(long):
            times, extent = self._builder.read_times(look.part), (look.part.least, look.part.newest)
            bounds = within.bounds.take(probes)
            narrow(first, many, long, bounds, times, index.order, extent, within.least_saved)


def _put_wide(places: Places, own: int, slots: Any, probes: slice | Integers, first: Integers, many: Integers) -> None:
    """Put several runs of each probe where there is room for the most that there are."""
    rows = np.arange(len(places.starts))[probes]
    at = (rows[:, None], np.atleast_1d(slots)[:, None] + np.arange(own))
    places.starts[at], places.counts[at] = (one if one.ndim == 2 else one.reshape(-1, 1) for one in (first, many))
