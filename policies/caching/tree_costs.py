"""What a tree of joins has to look at, by what is known of single probes.

Everything is counted in rows and candidates looked at, whatever the clock says: a probe looks at its tuples and their
candidates, a look-up in a subresult at its tuples and what they find, and a subresult is kept up by what its own inputs
look at, and what comes out of that.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from eddy.contracts import Hop, Task
from eddy.policies.caching.trees import Part
from eddy.query.join_graph import probe_target, whole_name

LEAST_RATE = 1e-6
"""Matches of a tuple below which a probe is not told from one that finds nothing; products of them stay above 0."""


class Way(NamedTuple):
    """A row's way through a part of the join: the tuples that it becomes for each row, and what it looks at."""

    route: Sequence[Hop]
    tuples: float
    looks: float


class TreeCosts:
    """What joins of parts cost, where `rows` of each stream went by the tasks that are given."""

    def __init__(self, tasks: Mapping[str, Task], rows: Mapping[str, int], inputs: Collection[str]) -> None:
        self._tasks, self._rows, self._all = tasks, rows, frozenset(inputs)
        self._ways: dict[tuple[str, Part], Way | None] = {}

    def join(self, left: Part, right: Part) -> float:
        """Say what it takes to join two parts and to keep what comes out; infinite where that is impossible."""
        joined = left | right
        looks = sum(self._rows[o] * self._look(o, left, right) for o in left & self._tasks.keys())
        looks += sum(self._rows[o] * self._look(o, right, left) for o in right & self._tasks.keys())
        return looks if joined == self._all else looks + self._keep(joined)

    def _look(self, origin: str, own: Part, other: Part) -> float:
        """Count what tuples of one part look at to be joined with the other."""
        way, task = self._find_way(origin, own), self._tasks[origin]
        if way is None:
            return math.inf
        if len(other) == 1:
            hop = self._find_hop(task, way.route, other)
            return math.inf if hop is None else way.tuples * _count_looks(task, hop)
        joined = self._find_way(origin, own | other)
        is_kept = any(hop.operator == whole_name(other) for hop in task.options(way.route))
        return way.tuples + joined.tuples if is_kept and joined is not None else math.inf

    def _keep(self, part: Part) -> float:
        """Count what it takes to keep a part up."""
        ways = {origin: self._find_way(origin, part) for origin in part & self._tasks.keys()}
        return sum(math.inf if w is None else self._rows[o] * (w.looks + w.tuples) for o, w in ways.items())

    def _find_way(self, origin: str, part: Part) -> Way | None:
        """Find the way of a row through a part, by whichever probe is ready first; nothing where none is."""
        if (origin, part) not in self._ways:
            self._ways[origin, part] = self._walk(origin, part)
        return self._ways[origin, part]

    def _walk(self, origin: str, part: Part) -> Way | None:
        task, way, left = self._tasks[origin], Way((), 1.0, 0.0), part - {origin}
        while left:
            hop = self._find_hop(task, way.route, left)
            if hop is None:
                return None
            rate = max(task.statistics[hop].rate, LEAST_RATE)
            looks = way.looks + way.tuples * _count_looks(task, hop)
            way, left = Way((*way.route, hop), way.tuples * rate, looks), left - {probe_target(hop.operator)}
        return way

    def _find_hop(self, task: Task, route: Sequence[Hop], part: Part) -> Hop | None:
        """Find the first probe of some inputs that is ready."""
        ready = (hop for hop in task.after(route) if hop.operator in task.prices.probes)
        return next((hop for hop in ready if probe_target(hop.operator) in part), None)


def _count_looks(task: Task, hop: Hop) -> float:
    """Count what a probe looks at for a tuple: the tuple, and its candidates."""
    known = task.statistics[hop]
    return 1.0 + known.evaluated / max(known.rows_in, 1.0)
