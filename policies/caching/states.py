"""The caches of one stream: which are used, which are tried, and which wait.

It follows section 5.5.5 of Babu's thesis. What is judged together, since streams share caches, is in `sharing`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from eddy.contracts import Hashes, Hop, Prices, Statistics
from eddy.observe.distinct import DistinctKeys, estimate_misses
from eddy.policies.caching.candidates import Candidate, place
from eddy.policies.caching.select import Offer
from eddy.policies.caching.worth import LATEST, ROUNDS, LookUps, Takings, price_filters, price_probes
from eddy.policies.shared.merit import Costs
from eddy.query.join_graph import probe_target

PROFILED, TRIED, USED, UNUSED = "profiled", "tried", "used", "unused"

GROWN = 1.5
"""Times what probes took at the last trial from which on they take so much more that another trial is due."""

SHARE_OF_PROBES = 0.5
"""The least share of what a look-up takes that probes must take more than one: where a single probe would save nothing,
ready-made combinations save nothing either."""


SELDOM = 16
"""Rounds of which one counts keys, once it is known how often they come: it takes a few nanoseconds for a tuple."""


class Standing:
    """What is known of one cache in the routes of a stream."""

    def __init__(self, costs: Costs) -> None:
        self.state = PROFILED
        self.takings = Takings(costs)
        # Rows that have to come before it is tried again, those that have come, and what its probes took by then.
        self.left, self.waited, self.without = 0.0, 0.0, 0.0
        self.waits = 1
        self.why = "not tried yet"

    @property
    def is_due(self) -> bool:
        """Whether it has waited for as long as it was to."""
        return self.state in (PROFILED, UNUSED) and self.waited >= self.left

    def change(self, state: str, why: str, rows: float = 0.0) -> None:
        """Begin another state; it is tried again after so many rows."""
        self.state, self.why, self.left, self.waited = state, why, rows, 0.0
        self.takings.begin()

    def snapshot(self) -> list[Any]:
        """Plain values."""
        numbers = [self.left, self.waited, self.without]
        return [self.state, numbers, self.waits, self.why, self.takings.snapshot()]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self.state, (self.left, self.waited, self.without), self.waits, self.why, takings = state
        self.takings.restore(takings)


class StreamCaches:
    """The caches in the route of one stream's rows."""

    def __init__(
        self, origin: str, *, interval: int, costs: Costs, force: Sequence[str], probes: Collection[str]
    ) -> None:
        self.origin = origin
        self._interval, self._costs, self._force = interval, costs, frozenset(force)
        self._probes = probes
        self._known: dict[Hop, Standing] = {}
        self._route: tuple[Hop, ...] = ()
        self._keys: dict[Hop, DistinctKeys] = {}
        self.candidates: Sequence[Candidate] = ()
        # Rows of the last round, and how many rounds there were.
        self.rows, self._rounds = 0.0, 0
        # The round in which keys were last counted.
        self._counted = 0
        self.decided = 0

    @property
    def route(self) -> tuple[Hop, ...]:
        """The route without caches."""
        return self._route

    @property
    def is_trying(self) -> bool:
        """Whether some cache is tried just now."""
        return any(self.stand(one).state == TRIED for one in self.candidates)

    @property
    def is_sampling(self) -> bool:
        """Whether a cache is tried on a part of the rows, since it may be far dearer than its probes."""
        return any(s.state == TRIED and s.takings.seen < LATEST for s in map(self.stand, self.candidates))

    def stand(self, candidate: Candidate) -> Standing:
        """Say how a cache stands."""
        # Asked for several times with each task: what is known already is not made anew.
        found = self._known.get(candidate.hop)
        if found is None:
            found = self._known[candidate.hop] = Standing(self._costs)
        return found

    def list_standing(self, *states: str) -> Iterator[tuple[Candidate, Standing]]:
        """List the caches in some states."""
        known = ((one, self.stand(one)) for one in self.candidates)
        return ((one, standing) for one, standing in known if standing.state in states)

    def list_busy(self) -> Iterator[Standing]:
        """List the caches of which more is to be known soon: they are tried, are new, or their keys are counted."""
        for one, standing in self.list_standing(PROFILED, UNUSED, TRIED, USED):
            is_young = standing.state == USED and standing.takings.seen < ROUNDS
            if standing.state == TRIED or is_young or self.is_counting(one):
                yield standing

    def follow(self, route: tuple[Hop, ...], candidates: Sequence[Candidate]) -> None:
        """Follow the route; with another one go its caches."""
        self.candidates = candidates
        if route != self._route:
            self._route = route
            for standing in self._known.values():
                standing.change(PROFILED, "the order is another one")
            self._keys.clear()
            self.decided += 1

    def choose(self, *, trying: bool = True) -> tuple[Hop, ...]:
        """Give the route with the caches that are used, and those that are tried."""
        forced = [one for one in self.candidates if one.hop.operator in self._force]
        states = (TRIED, USED) if trying else (USED,)
        known = [one for state in states for one, _ in self.list_standing(state)]
        chosen: list[Candidate] = []
        for one in forced or ([] if self._force else known):
            if not any(one.overlaps(other) for other in chosen):
                chosen.append(one)
        return place(self._route, chosen, self._probes)

    def observe(self, hop: Hop, rows: float, seconds: float) -> None:
        """Count a step of a cache, without what it takes to keep it up."""
        if hop in self._known:
            self._known[hop].takings.add(rows, seconds)

    def has_begun(self, hop: Hop) -> bool:
        """Whether a cache has been in use for a round."""
        return hop in self._known and self._known[hop].takings.seen > 0

    def note_keys(self, hop: Hop, keys: Callable[[], Hashes]) -> None:
        """Count the keys that come to a place, where a cache may soon be tried."""
        if any(self._route[one.start] == hop and self.stand(one).is_due for one in self.candidates):
            known = self._keys.setdefault(hop, DistinctKeys())
            # Keys may begin to come again: once enough are known, a few are counted from time to time.
            if not (known.is_full and 0 < self._rounds - self._counted < SELDOM):
                known.add(keys())
                self._counted = self._rounds

    def forget_keys(self) -> None:
        """Forget how often keys came."""
        self._keys.clear()

    def end_round(self, rows: float) -> None:
        """End a round in which so many rows came."""
        self.rows = rows
        for one in self.candidates:
            self.stand(one).takings.end_round()
        self.let_pass(rows)

    def let_pass(self, rows: float) -> None:
        """Let a round pass in which so many rows came."""
        self._rounds += 1
        for one in self.candidates:
            self.stand(one).waited += rows

    def price_probes(self, one: Candidate, rows: float, prices: Prices, statistics: Statistics) -> float:
        """Price what a cache saves if it takes nothing: filters among its probes have more tuples behind it."""
        hops = self._route[one.start : one.stop]
        price = price_probes(hops, rows, prices, statistics, self._costs)
        return max(price - price_filters(hops, self._probes, prices, statistics, self._costs), 0.0)

    def price_all(self, prices: Prices, statistics: Statistics) -> float:
        """Price all probes that some cache might stand in for, for the rows of a round."""
        probes = dict.fromkeys(hop for one in self.candidates for hop in self._route[one.start : one.stop])
        return self.rows * price_probes(list(probes), self.rows, prices, statistics, self._costs)

    def make_offer(self, one: Candidate, cost: float, prices: Prices, statistics: Statistics) -> Offer:
        """Say what a cache that is in use saves in a round, and what it costs to keep it up."""
        taken = self.stand(one).takings
        saved = self.price_probes(one, taken.rows, prices, statistics) - taken.price
        coming = self.rows * self._count_coming(one, statistics)
        return Offer(self.origin, one.start, one.stop, one.hop, saved * coming, cost)

    def _count_coming(self, one: Candidate, statistics: Statistics) -> float:
        """Count the tuples that come to a place, for each row of the stream."""
        tuples = 1.0
        for hop in self._route[: one.start]:
            tuples *= statistics[hop].rate
        return tuples

    def is_counting(self, one: Candidate) -> bool:
        """Whether keys are being counted, and too few have come yet: till then nobody knows whether any come again."""
        known = self._keys.get(self._route[one.start])
        return known is not None and not known.is_known and self.stand(one).is_due

    def is_due(self, one: Candidate, prices: Prices, statistics: Statistics) -> bool:
        """Tell whether to try a cache: it has waited for long, or its probes take much more than they did."""
        standing = self.stand(one)
        if self.is_counting(one):
            return False
        if standing.is_due or standing.state not in (PROFILED, UNUSED):
            return standing.is_due
        without = self.price_probes(one, self.rows * self._count_coming(one, statistics), prices, statistics)
        return standing.waited >= self._interval and without > GROWN * standing.without > 0

    def price_fresh(self, inputs: frozenset[str], prices: Prices, statistics: Statistics) -> float:
        """Price the combinations that a round's rows make with other inputs of a cache, if they are joined first."""
        tuples, left, price = self.rows, inputs - {self.origin}, 0.0
        for hop in self._route:
            if left and hop.operator in self._probes:
                if probe_target(hop.operator) not in left:
                    return 0.0
                left, price = left - {probe_target(hop.operator)}, prices[hop].unit
                tuples *= statistics[hop].rate
        return tuples * price

    def promise(self, one: Candidate, prices: Prices, statistics: Statistics, look_ups: LookUps) -> float:
        """Say what a cache could save in a round, if its look-ups cost what a probe costs, or what those of others do.

        What comes with a key that has not come before is found as the probes would.
        """
        coming = self._count_coming(one, statistics)
        tuples = self.rows * coming
        hops = [hop for hop in self._route[one.start : one.stop] if hop.operator in self._probes]
        without = self.price_probes(one, tuples, prices, statistics)
        least = min((self._price_one(hop, tuples, prices) for hop in hops), default=0.0)
        hits = 1.0 - self._estimate_misses(self._route[one.start], self._interval * coming)
        # What has been tried is known by what it took itself, and waits for that long enough.
        known = look_ups.price(tuples) if self.stand(one).state == PROFILED else 0.0
        return hits * without * tuples - max(least * (1 + SHARE_OF_PROBES) * tuples, known) if without else 0.0

    def _estimate_misses(self, hop: Hop, tuples: float) -> float:
        """Estimate the share of so many tuples whose key comes for the first time; 0 while nothing is known."""
        known = self._keys.get(hop)
        return 0.0 if known is None or not known.is_known else estimate_misses(known, tuples)

    def _price_one(self, hop: Hop, rows: float, prices: Prices) -> float:
        """Price a tuple that finds nothing in a probe: what it takes to look a key up."""
        if self._costs == "unit":
            return 1.0 / (1 + SHARE_OF_PROBES)
        price = prices[hop]
        return price.unit + price.step / max(rows, 1.0)

    def begin_trial(self, one: Candidate) -> None:
        """Try a cache; it is told anew how often keys come."""
        self.stand(one).change(TRIED, "it may save")
        self._keys.pop(self._route[one.start], None)
        self.decided += 1

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "route": [list(hop) for hop in self._route],
            "candidates": [[list(one.hop), one.start, one.stop, sorted(one.inputs)] for one in self.candidates],
            "known": [[*hop, standing.snapshot()] for hop, standing in self._known.items()],
            "keys": [[*hop, keys.snapshot()] for hop, keys in self._keys.items()],
            "rows": [self.rows, self._rounds, self._counted],
            "decided": self.decided,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; caches are filled anew."""
        self._route = tuple(Hop(*hop) for hop in state["route"])
        self.candidates = [
            Candidate(Hop(*hop), start, stop, frozenset(inputs)) for hop, start, stop, inputs in state["candidates"]
        ]
        for operator, pattern, told in state["known"]:
            self._known[Hop(operator, pattern)] = Standing(self._costs)
            self._known[Hop(operator, pattern)].restore(told)
        for operator, pattern, told in state["keys"]:
            self._keys[Hop(operator, pattern)] = DistinctKeys()
            self._keys[Hop(operator, pattern)].restore(told)
        # An older version did not know when keys were last counted.
        (self.rows, self._rounds, *counted), self.decided = state["rows"], state["decided"]
        self._counted = counted[0] if counted else self._rounds
