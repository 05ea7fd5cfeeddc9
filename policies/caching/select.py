"""Which caches to use together: those that save most, none of which stand in for the same probe.

It follows section 5.5.4 of Babu's thesis. What a cache brings counts for each stream that uses it, and what it costs to
keep it up counts once. Where no cache is shared the best choice is found by intervals, stream by stream; else all
combinations are gone through, as long as they are few, and beyond that the one that saves most for its probes comes
first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

MOST_COMBINATIONS = 1 << 16
"""Combinations among which the best is looked for: a few milliseconds, since most of them cannot become it."""


class Offer(NamedTuple):
    """A cache in the route of a stream, what it saves there, and what it costs wherever it is used.

    It stands in for the probes from `start` on, up to `stop`. Offers with the same `cache` share the cost.
    """

    stream: str
    start: int
    stop: int
    cache: Hashable
    benefit: float
    cost: float


def select(offers: Sequence[Offer]) -> list[Offer]:
    """Choose the offers that save most in all.

    >>> small, large = Offer("t", 0, 2, "rs", 3.0, 1.0), Offer("t", 0, 3, "rsu", 4.0, 2.5)
    >>> select([small, large]) == [small]
    True
    """
    if len({offer.cache for offer in offers}) == len(offers):
        streams = dict.fromkeys(offer.stream for offer in offers)
        return [chosen for stream in streams for chosen in _select_intervals([o for o in offers if o.stream == stream])]
    if len(offers) < MOST_COMBINATIONS.bit_length():
        return _select_all(offers)
    return _select_greedily(offers)


def value(chosen: Sequence[Offer]) -> float:
    """Give what offers save in all; a cache that several streams use costs once.

    >>> value([Offer("t", 0, 2, "rs", 3.0, 2.0), Offer("u", 0, 2, "rs", 3.0, 2.0)])
    4.0
    """
    costs = {offer.cache: offer.cost for offer in chosen}
    return sum(offer.benefit for offer in chosen) - sum(costs.values())


def _overlap(one: Offer, other: Offer) -> bool:
    return one.stream == other.stream and one.start < other.stop and other.start < one.stop


def _select_intervals(offers: Sequence[Offer]) -> list[Offer]:
    """Choose among the parts of one route, exactly: the best up to each place follows from those before it."""
    best: list[tuple[float, list[Offer]]] = [(0.0, [])]
    for stop in range(1, max((offer.stop for offer in offers), default=0) + 1):
        reached = best[-1]
        for offer in offers:
            before, chosen = best[offer.start] if offer.stop == stop else (0.0, [])
            if offer.stop == stop and before + offer.benefit - offer.cost > reached[0]:
                reached = before + offer.benefit - offer.cost, [*chosen, offer]
        best.append(reached)
    return best[-1][1]


def _select_all(offers: Sequence[Offer]) -> list[Offer]:
    """Go through all combinations, without those that overlap, or cannot become the best."""
    offers = sorted((offer for offer in offers if offer.benefit > 0), key=lambda offer: offer.benefit)
    # What all offers from a place on would save if none overlapped and none cost anything.
    most = [sum(offer.benefit for offer in offers[place:]) for place in range(len(offers) + 1)]
    best: tuple[float, list[Offer]] = (0.0, [])
    open_: list[tuple[int, list[Offer]]] = [(0, [])]
    while open_:
        first, chosen = open_.pop()
        found = value(chosen)
        best = max(best, (found, chosen), key=lambda one: one[0])
        for place, offer in enumerate(offers[first:], first):
            if found + most[place] > best[0] and not any(_overlap(offer, other) for other in chosen):
                open_ += [(place + 1, [*chosen, offer])]
    return best[1]


def _select_greedily(offers: Sequence[Offer]) -> list[Offer]:
    """Take the cache that saves most for each probe that it stands in for, wherever it may be used, and go on."""
    chosen: list[Offer] = []
    while True:
        groups: dict[Hashable, list[Offer]] = {}
        for offer in sorted(offers, key=lambda offer: -offer.benefit):
            group = groups.setdefault(offer.cache, [])
            if offer.benefit > 0 and not any(_overlap(offer, other) for other in (*chosen, *group)):
                group.append(offer)
        groups = {cache: group for cache, group in groups.items() if group}
        gains = {cache: value(group) for cache, group in groups.items()}
        covered = {cache: sum(o.stop - o.start for o in group) for cache, group in groups.items()}
        found = max(gains, key=lambda cache: gains[cache] / covered[cache], default=None)
        if found is None or gains[found] <= 0:
            return chosen
        chosen += groups[found]
