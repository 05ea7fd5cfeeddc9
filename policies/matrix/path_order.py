"""The order of a stream whose probes wait for others: logical filters.

Section 5.2.3 of the thesis takes a probe for a filter that stands for the join along its path, orders such filters by
A-Greedy, and has each probe come once those on its path have come. Here they are profiled by exhaustive legs, which
count along paths, row by row; asides tell nothing of what is not ready.

Beyond the thesis: what a path has done already is neither paid nor counted twice, and what it joins counts as well as
what it drops, since later probes are called for each joined row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eddy.contracts import MOST_ALONG_PATH, Hop, Leg, Prices, Task
from eddy.policies.matrix.hopeful import Along, list_ways
from eddy.policies.matrix.invariants import Conduct
from eddy.policies.matrix.order import Problem
from eddy.policies.matrix.profiler import Cost
from eddy.policies.matrix.stream_order import StreamOrder
from eddy.policies.shared.call_counts import SAMPLE
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.merit import step_price
from eddy.tuples.arrays import Floats
from eddy.tuples.lineage import After, find_spanning_path


def find_paths(after: After, probes: Collection[str]) -> Mapping[str, tuple[Hop, ...]]:
    """Find the path of every probe that can be reached, with the probe itself at its end.

    The nearest come first. A join graph with circles becomes a tree: of several ways it is that by the probes which
    come first. `after` is that of the task.

    >>> rings = {"b": (), "c": ("b",), "d": ("c",)}
    >>> def after(route):
    ...     done = [hop.operator for hop in route]
    ...     return tuple(Hop(n) for n, needs in rings.items() if n not in done and all(p in done for p in needs))
    >>> {name: [hop.operator for hop in path] for name, path in find_paths(after, "bcd").items()}
    {'b': ['b'], 'c': ['b', 'c'], 'd': ['b', 'c', 'd']}
    """
    paths: dict[str, tuple[Hop, ...]] = {}
    route: list[Hop] = []
    while ready := [hop for hop in after(route) if hop.operator in probes]:
        # All that is ready by now waited for what the last turn has found: no way to it is shorter.
        known = list(paths)
        for hop in ready:
            paths[hop.operator] = find_spanning_path(after, known, hop.operator)
        for hop in ready:
            # The pattern of a probe may be another one behind the others of its turn.
            route += [now for now in after(route) if now.operator == hop.operator]
    return paths


class Paths(NamedTuple):
    """What the operators of a stream wait for.

    `route` is the exhaustive leg by which they are profiled. `needed` has for each operator the probes on its path
    without itself, the nearest first; `profiled` are the probes that the leg tells of along a path. Where there are no
    circles, each probe has one path whatever comes before it: `is_tree`.
    """

    route: tuple[Hop, ...]
    needed: Sequence[HopNumbers]
    profiled: HopNumbers
    is_tree: bool = True

    @staticmethod
    def of(task: Task, ready: tuple[Hop, ...], operators: Sequence[str]) -> Paths:
        """Find the paths of rows that have just arrived."""
        numbers = {name: number for number, name in enumerate(operators)}
        paths = find_paths(task.after, [name for name in task.prices.probes if name in numbers])
        first = [hop for hop in ready if hop.operator in numbers and hop.operator not in paths]
        # A filter that reads a joined input has a path too, but no leg can have it there.
        found = [paths.get(name) or find_spanning_path(task.after, list(paths), name) for name in operators]
        needed = [tuple(numbers[hop.operator] for hop in path[:-1]) for path in found]
        profiled = tuple(numbers[name] for name in paths if len(paths[name]) > 1)
        route = (*first, *(path[-1] for path in paths.values()))
        return Paths(route, needed, profiled, all(_has_one_path(task, path[-1], paths) for path in paths.values()))

    def relate(self, counts: Floats) -> Floats:
        """Turn joined rows along a path into those of each row that its earlier part has joined.

        Where that part has joined nothing, or more than is counted, the last probe says nothing.

        >>> paths = Paths((), [(), (0,), (0, 1)], (1, 2))
        >>> paths.relate(np.array([[2.0, 4.0, 4.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
        array([[ 2.,  2.,  1.],
               [ 3.,  0., nan],
               [ 0., nan, nan]])
        """
        found = counts.copy()
        for number in self.profiled:
            before = found[:, self.needed[number]].prod(axis=1)
            told = (before > 0) & (counts[:, number] < MOST_ALONG_PATH)
            found[:, number] = np.divide(counts[:, number], before, out=np.full(len(counts), np.nan), where=told)
        return found

    def count_calls(self, outcomes: Floats) -> Floats:
        """Count for each operator the tuples that a profiled row has it called with, where it is in the leg."""
        calls = np.zeros(len(self.needed))
        for number, needed in enumerate(self.needed):
            if not needed or number in self.profiled:
                calls[number] = np.minimum(outcomes[:, needed].prod(axis=1), MOST_ALONG_PATH).mean()
        return calls


def _has_one_path(task: Task, probe: Hop, probes: Collection[str]) -> bool:
    """Tell whether a probe is the same hop once all probes have come that do not wait for it."""
    route: list[Hop] = []
    while others := [hop for hop in task.after(route) if hop.operator in probes and hop.operator != probe.operator]:
        route.append(others[0])
    return probe in task.after(route)


def order_by_paths(problem: Problem, needed: Sequence[HopNumbers]) -> HopNumbers:
    """Take the logical filter that drops most for its cost of what is left, with all that it waits for, and so on.

    >>> hops = {0: Hop("b"), 1: Hop("c"), 2: Hop("d")}
    >>> def after(route):
    ...     return tuple(hop for n, hop in hops.items() if hop not in route and (n != 1 or hops[0] in route))
    >>> outcomes = np.array([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])
    >>> order_by_paths(Problem(outcomes, np.ones(3), Legality(("b", "c", "d"), after)), [(), (0,), ()])
    (0, 1, 2)
    """
    left = np.ones(len(problem.outcomes))
    order: HopNumbers = ()
    while ready := problem.legality.find_ready(order):
        best, ways = -np.inf, list_ways(ready, order, needed)
        chosen, kept = ways[0], left
        for way in ways:
            rank, rows = _rank(problem, way, left)
            if rank > best:
                best, chosen, kept = rank, way, rows
        order, left = (*order, *chosen), kept
    return order


def _rank(problem: Problem, way: Sequence[int], left: Floats) -> tuple[float, Floats]:
    """Rank some operators as one by what they drop for their cost; gives what is left of each row as well."""
    rows, spent = left, 0.0
    for number in way:
        spent += float(rows.sum()) * float(problem.costs[number])
        rows = rows * problem.outcomes[:, number]
    return (float(left.sum() - rows.sum()) / spent if spent else 0.0), rows


class PathOrder(StreamOrder):
    """An order for all rows of a stream, from profiles along paths."""

    def __init__(
        self, stream: str, legality: Legality, conduct: Conduct, prices: Prices, reason: str, paths: Paths
    ) -> None:
        # In a circle the way by the tree may be the dearer one: probes are tried there one by one.
        self._paths, self.along = paths, Along(paths.needed if paths.is_tree else (), frozenset(paths.route))
        super().__init__(stream, legality, conduct, prices, reason)

    def _make_profile(self) -> Leg:
        return Leg(route=self._paths.route, exhaustive=True, label=SAMPLE, tag=self._number)

    def _make_problem(self) -> Problem:
        counts = self._window.outcomes()
        # Where no burst is paid for by now, rows of the stream tell by themselves.
        known = self._paths.relate(counts) if len(counts) else np.ones((1, len(self.operators)))
        return Problem.of(known, self._costs, self._legality)

    def _find_other(self, problem: Problem) -> HopNumbers:
        if self._conduct.search == "exact":
            return super()._find_other(problem)
        return order_by_paths(problem, self._paths.needed)

    def _find_asides(self, left: Floats, ordered: Floats) -> Sequence[HopNumbers]:
        nobody: HopNumbers = ()
        return [nobody] * ordered.shape[1]

    def _refresh(self) -> None:
        super()._refresh()
        if not self._cost.row:
            return
        aside = float(self._paths.count_calls(self._make_problem().outcomes) @ self._costs)
        # Rows that are profiled take steps of their own: those of the leg, and those of their way to the end.
        steps = len(self._paths.route) + len(self._order)
        self._cost = Cost(
            self._cost.row, aside, steps * step_price(self._paths.route, self._prices, self._conduct.costs)
        )


def make_order(
    task: Task, ready: tuple[Hop, ...], operators: Sequence[str], conduct: Conduct, prices: Prices, reason: str
) -> StreamOrder:
    """Make the order of a stream: by paths, where A-Greedy orders probes that wait for others."""
    origin = task.lineage.origin
    legality = Legality(operators, task.after, free=ready if task.independent else ())
    if conduct.variant == "a_greedy" and not task.independent:
        paths = Paths.of(task, ready, operators)
        if paths.profiled:
            return PathOrder(origin, legality, conduct, prices, reason, paths)
    return StreamOrder(origin, legality, conduct, prices, reason)
