"""The parts of a route that a cache can stand in for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from eddy.contracts import Hop, Task
from eddy.query.join_graph import cached_name, probe_target

LARGEST = 4
"""Probes in a row that one cache stands in for, at most."""


class Candidate(NamedTuple):
    """A cache that may stand in for some probes of a route: those from place `start` on, up to `stop`."""

    hop: Hop
    start: int
    stop: int

    def overlaps(self, other: Candidate) -> bool:
        """Tell whether both stand in for some probe."""
        return self.start < other.stop and other.start < self.stop


def list_candidates(task: Task, route: Sequence[Hop], probes: Collection[str], most: int) -> list[Candidate]:
    """List the caches that may be placed in a route, the smallest first; `most` are looked at."""
    found: list[Candidate] = []
    for start, stop in _list_parts(route, probes):
        name = cached_name([probe_target(hop.operator) for hop in route[start:stop]])
        hop = next((hop for hop in task.options(route[:start]) if hop.operator == name), None)
        if hop is not None:
            found.append(Candidate(hop, start, stop))
    return found[:most]


def _list_parts(route: Sequence[Hop], probes: Collection[str]) -> Iterator[tuple[int, int]]:
    """List where two probes or more stand in a row."""
    for size in range(2, LARGEST + 1):
        for start in range(len(route) - size + 1):
            if all(hop.operator in probes for hop in route[start : start + size]):
                yield start, start + size


def place(route: tuple[Hop, ...], chosen: Sequence[Candidate]) -> tuple[Hop, ...]:
    """Put caches in the place of the probes that they stand in for.

    >>> b, c, d = Hop("probe_b"), Hop("probe_c"), Hop("probe_d")
    >>> [hop.operator for hop in place((b, c, d), [Candidate(Hop("cached_b_c"), 0, 2)])]
    ['cached_b_c', 'probe_d']
    """
    for one in sorted(chosen, key=lambda candidate: -candidate.start):
        route = (*route[: one.start], one.hop, *route[one.stop :])
    return route
