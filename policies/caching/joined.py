"""What caches may save on a stream, as its rows show on their way.

Probes that stand in a row may become one look-up. How many keys come again is not known before somebody counts them:
so this says what there is to save at most, and a duel has to show how much of it is saved.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from eddy.contracts import Hop, Statistics
from eddy.policies.shared.merit import INSTANT
from eddy.query.join_graph import cached_name, is_meets, probe_target

LOOK_UP = 1.5
"""What a look-up takes, in times of the cheapest of its probes."""


class Caching(NamedTuple):
    """Who places caches, and what these are called."""

    arms: Collection[str] = ()
    options: Collection[str] = ()


def find_saving(
    route: Sequence[Hop],
    prices: Mapping[Hop, float],
    statistics: Statistics,
    probes: Collection[str],
    options: Collection[str],
) -> float:
    """Find the largest share of a route's cost that one look-up may save in the place of several probes.

    >>> from eddy.contracts import Statistic
    >>> b, c, statistics = Hop("probe_b"), Hop("probe_c"), Statistics()
    >>> statistics.add(b, Statistic(100, 900, 900))
    >>> find_saving((b, c), {b: 1.0, c: 1.0}, statistics, ["probe_b", "probe_c"], ["cached_b_c"])
    0.85
    >>> find_saving((b, c), {b: 1.0, c: 1.0}, statistics, ["probe_b", "probe_c"], [])
    0.0
    """
    tuples, coming = 1.0, {}
    for hop in route:
        coming[hop] = tuples
        tuples *= statistics[hop].rate
    whole = sum(coming[hop] * prices[hop] for hop in route)
    saved = 0.0
    for part in _list_parts(route, probes, options):
        taken = sum(coming[hop] * prices[hop] for hop in part)
        saved = max(saved, taken - LOOK_UP * coming[part[0]] * min(prices[hop] for hop in part))
    return saved / max(whole, INSTANT)


def _list_parts(route: Sequence[Hop], probes: Collection[str], options: Collection[str]) -> Iterator[list[Hop]]:
    """List the probes that some option may stand in for, with nothing between them but filters."""
    standing = [hop for hop in route if hop.operator in probes or is_meets(hop.operator)]
    for first in range(len(standing)):
        for last in range(first + 2, len(standing) + 1):
            part = standing[first:last]
            if cached_name(probe_target(hop.operator) for hop in part) in options:
                yield part
