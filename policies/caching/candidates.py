"""The parts of a route that a cache can stand in for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from eddy.contracts import Hop, Task
from eddy.query.join_graph import cached_name, is_meets, probe_target


class Candidate(NamedTuple):
    """A cache that may stand in for the probes of a route from place `start` on, up to `stop`.

    It has combinations of `inputs`. Filters among the probes come behind it.
    """

    hop: Hop
    start: int
    stop: int
    inputs: frozenset[str] = frozenset()

    def overlaps(self, other: Candidate) -> bool:
        """Tell whether both stand in for some probe."""
        return self.start < other.stop and other.start < self.stop


def list_candidates(task: Task, route: Sequence[Hop], probes: Collection[str]) -> list[Candidate]:
    """List the caches that may be placed in a route, the smallest first."""
    found: list[Candidate] = []
    for start, stop in _list_parts(route, probes):
        inputs = frozenset(probe_target(hop.operator) for hop in route[start:stop] if hop.operator in probes)
        name = cached_name(inputs)
        hop = next((hop for hop in task.options(route[:start]) if hop.operator == name), None)
        if hop is not None:
            found.append(Candidate(hop, start, stop, inputs))
    return found


def keeps_prefix(inputs: frozenset[str], routes: Mapping[str, Sequence[Hop]], probes: Collection[str]) -> bool:
    """Tell whether rows of a cache's inputs are joined with each other before they are joined with anything else.

    It is the prefix invariant, definition 5.4.2 of Babu's thesis. An input of which no route is known, such as a table,
    has no rows that come.

    >>> routes = {"b": [Hop("probe_c"), Hop("probe_a")], "c": [Hop("probe_a"), Hop("probe_b")]}
    >>> probes = ["probe_a", "probe_b", "probe_c"]
    >>> [keeps_prefix(frozenset(some), routes, probes) for some in (["b"], "bc", "abc")]
    [True, False, True]
    """
    for name in inputs & routes.keys():
        first = [probe_target(hop.operator) for hop in routes[name] if hop.operator in probes][: len(inputs) - 1]
        if not inputs.issuperset(first):
            return False
    return True


def _list_parts(route: Sequence[Hop], probes: Collection[str]) -> Iterator[tuple[int, int]]:
    """List where two probes or more stand in a row, with nothing between them but filters."""
    places = [place for place, hop in enumerate(route) if hop.operator in probes]
    # Of how many inputs a cache may be, the options say.
    for size in range(2, len(places) + 1):
        for first, last in zip(places, places[size - 1 :], strict=False):
            # Who asks inputs first does so for the probe behind it.
            if not any(is_meets(hop.operator) for hop in route[first : last + 1]):
                yield first, last + 1


def place(route: tuple[Hop, ...], chosen: Sequence[Candidate], probes: Collection[str]) -> tuple[Hop, ...]:
    """Put caches in the place of the probes that they stand in for.

    >>> b, f, c, d = Hop("probe_b"), Hop("f"), Hop("probe_c"), Hop("probe_d")
    >>> found = place((b, f, c, d), [Candidate(Hop("cached_b_c"), 0, 3)], ["probe_b", "probe_c", "probe_d"])
    >>> [hop.operator for hop in found]
    ['cached_b_c', 'f', 'probe_d']
    """
    for one in sorted(chosen, key=lambda candidate: -candidate.start):
        filters = [hop for hop in route[one.start : one.stop] if hop.operator not in probes]
        route = (*route[: one.start], one.hop, *filters, *route[one.stop :])
    return route
