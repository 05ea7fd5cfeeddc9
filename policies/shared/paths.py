"""Which probe must precede which, for the tuples of one task.

A policy knows no join graph, but it can ask what is ready after a route. A probe that is not ready yet follows a path:
the probes that it needs. An exhaustive leg that has the probes in this order tells of each as of a logical filter: the
join along its path, which drops a tuple of which nothing is left (section 5.2.3 of Babu's thesis).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from eddy.tuples import Hop
from eddy.tuples.lineage import After, find_path


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
            paths[hop.operator] = find_path(after, known, hop.operator)
        for hop in ready:
            # The pattern of a probe may be another one behind the others of its turn.
            route += [now for now in after(route) if now.operator == hop.operator]
    return paths
