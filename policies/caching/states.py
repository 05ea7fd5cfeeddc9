"""The caches of one stream: which are used, which are tried, and which wait.

It follows section 5.5.5 of Babu's thesis. A cache that costs more than it brings goes at once, and whatever is not used
gets another trial after an interval. Where it differs: a cache is not judged by an estimate of its misses, but tried
for some rounds, beside rows that go without it; the most promising is tried first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from eddy.contracts import Hop, Prices, Statistics
from eddy.policies.caching.candidates import Candidate, place
from eddy.policies.caching.select import Offer, select
from eddy.policies.caching.worth import LATEST, ROUNDS, Takings, price_filters, price_probes
from eddy.policies.shared.merit import Costs

PROFILED, TRIED, USED, UNUSED = "profiled", "tried", "used", "unused"

HOPELESS = 1.5
"""Times what the probes take from which on a trial ends, unless the cache is still being filled."""

GROWN = 1.5
"""Times what probes took at the last trial from which on they take so much more that another trial is due."""

TRIALS_SHARE = 0.01
"""The share of what probes take that trials in vain may cost: the dearer one was, the later is the next."""

SHARE_OF_PROBES = 0.5
"""The least share of what a look-up takes that probes must take more than one: where a single probe would save nothing,
ready-made combinations save nothing either."""

LEAST_PROMISE = 0.05
"""The share of what all probes of a route take that a cache must be able to save before it is tried."""

LONGEST_WAIT = 64
"""Intervals after which what did not pay is tried again, at most: with each trial in vain it waits twice as long."""


class Standing:
    """What is known of one cache in the routes of a stream."""

    def __init__(self, costs: Costs) -> None:
        self.state = PROFILED
        self.takings = Takings(costs)
        # Rows that have to come before it is tried again, those that have come, and what its probes took by then.
        self.left, self.waited, self.without = 0.0, 0.0, 0.0
        self.waits = 1
        self.why = "not tried yet"

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
        self, *, interval: int, change: float, costs: Costs, force: Sequence[str], probes: Collection[str]
    ) -> None:
        self._interval, self._change, self._costs, self._force = interval, change, costs, frozenset(force)
        self._probes = probes
        self._known: dict[Hop, Standing] = {}
        self._route: tuple[Hop, ...] = ()
        self._candidates: Sequence[Candidate] = ()
        self.decided = 0

    @property
    def is_trying(self) -> bool:
        """Whether some cache is tried just now."""
        return any(self._stand(one).state == TRIED for one in self._candidates)

    def _stand(self, candidate: Candidate) -> Standing:
        return self._known.setdefault(candidate.hop, Standing(self._costs))

    def follow(self, route: tuple[Hop, ...], candidates: Sequence[Candidate]) -> None:
        """Follow the route; with another one go its caches."""
        self._candidates = candidates
        if route != self._route:
            self._route = route
            for standing in self._known.values():
                self._put_off(standing, PROFILED, "the order is another one", 0.0)

    def choose(self) -> tuple[Hop, ...]:
        """Give the route with the caches that are used or tried."""
        tried = [one for one in self._candidates if self._stand(one).state == TRIED]
        used = [one for one in self._candidates if self._stand(one).state == USED]
        forced = [one for one in self._candidates if one.hop.operator in self._force]
        chosen: list[Candidate] = []
        for one in (*forced, *([] if self._force else (*tried, *used))):
            if not any(one.overlaps(other) for other in chosen):
                chosen.append(one)
        return place(self._route, chosen, self._probes)

    def observe(self, hop: Hop, rows: float, seconds: float) -> None:
        """Count a step of a cache."""
        if hop in self._known:
            self._known[hop].takings.add(rows, seconds)

    def learn(self, rows: float, prices: Prices, statistics: Statistics) -> None:
        """Judge the caches at the end of a round in which so many rows came."""
        for one in self._candidates:
            standing = self._stand(one)
            if standing.takings.end_round() and standing.state in (TRIED, USED):
                self._judge(one, standing, prices, statistics)
            standing.waited += rows
        if not self._force and not self.is_trying:
            self._begin_trial(rows, prices, statistics)

    def _price_probes(self, one: Candidate, rows: float, prices: Prices, statistics: Statistics) -> float:
        """Price what a cache saves if it takes nothing: filters among its probes have more tuples behind it."""
        hops = self._route[one.start : one.stop]
        price = price_probes(hops, rows, prices, statistics, self._costs)
        return max(price - price_filters(hops, self._probes, prices, statistics, self._costs), 0.0)

    def _judge(self, one: Candidate, standing: Standing, prices: Prices, statistics: Statistics) -> None:
        """Use a cache, go on with it, or give it up."""
        taken = standing.takings
        without = self._price_probes(one, taken.rows, prices, statistics)
        share = taken.price / without if without else 1.0
        if taken.seen < LATEST:
            return
        if standing.state == USED and share >= 1.0:
            self._give_up(standing, f"took {share:.2f} of what the probes take", without)
        elif standing.state == TRIED and share <= 1 - self._change:
            standing.state, standing.waits = USED, 1
            standing.why = f"takes {share:.2f} of what the probes take"
            self._settle(prices, statistics)
        elif standing.state == TRIED and (taken.seen >= ROUNDS or (share > HOPELESS and not taken.is_falling)):
            self._give_up(standing, f"tried, and took {share:.2f} of what the probes take", without)

    def _give_up(self, standing: Standing, why: str, without: float) -> None:
        """Go without a cache until rows have paid for what it cost in vain."""
        taken = standing.takings
        lost = taken.all_rows * max(taken.price_of_all / without - 1.0, 0.0) if without else 0.0
        self._put_off(standing, UNUSED, why, self._interval * standing.waits + lost / TRIALS_SHARE)
        standing.without = without
        standing.waits = min(standing.waits * 2, LONGEST_WAIT)

    def _put_off(self, standing: Standing, state: str, why: str, rows: float) -> None:
        standing.state, standing.why, standing.left, standing.waited = state, why, rows, 0.0
        standing.takings.begin()
        self.decided += 1

    def _settle(self, prices: Prices, statistics: Statistics) -> None:
        """Keep those of the caches in use that save most together."""
        self.decided += 1
        used = [one for one in self._candidates if self._stand(one).state == USED]
        offers = {one: self._make_offer(one, prices, statistics) for one in used}
        chosen = select(list(offers.values()))
        for one, offer in offers.items():
            if offer not in chosen:
                self._put_off(self._stand(one), UNUSED, "another one saves more", float(self._interval))

    def _make_offer(self, one: Candidate, prices: Prices, statistics: Statistics) -> Offer:
        taken = self._stand(one).takings
        saved = self._price_probes(one, taken.rows, prices, statistics) - taken.price
        return Offer("", one.start, one.stop, one.hop, saved * self._count_coming(one, statistics), 0.0)

    def _count_coming(self, one: Candidate, statistics: Statistics) -> float:
        """Count the tuples that come to a place, for each row of the stream."""
        tuples = 1.0
        for hop in self._route[: one.start]:
            tuples *= statistics[hop].rate
        return tuples

    def _begin_trial(self, rows: float, prices: Prices, statistics: Statistics) -> None:
        """Try the cache that promises most; one at a time, so that it is known who saves."""
        promises = {}
        for one in self._candidates:
            if self._is_due(one, rows, prices, statistics):
                promises[one] = self._promise(one, rows, prices, statistics)
                # What is used there already must be beaten, and surely.
                for other in self._candidates:
                    if self._stand(other).state == USED and one.overlaps(other):
                        saved = self._make_offer(other, prices, statistics).benefit
                        promises[one] -= (1 + self._change) * max(saved, 0.0)
        best = max(promises, key=lambda one: promises[one], default=None)
        if best is None:
            return
        probes = [hop for one in self._candidates for hop in self._route[one.start : one.stop]]
        whole = price_probes(list(dict.fromkeys(probes)), rows, prices, statistics, self._costs)
        if promises[best] > LEAST_PROMISE * whole:
            standing = self._stand(best)
            standing.state, standing.why = TRIED, "it may save"
            standing.takings.begin()
            self.decided += 1

    def _is_due(self, one: Candidate, rows: float, prices: Prices, statistics: Statistics) -> bool:
        """Tell whether to try a cache: it has waited for long, or its probes take much more than they did."""
        standing = self._stand(one)
        if standing.state not in (PROFILED, UNUSED):
            return False
        if standing.waited >= standing.left:
            return True
        coming = rows * self._count_coming(one, statistics)
        without = self._price_probes(one, coming, prices, statistics)
        return standing.waited >= self._interval and without > GROWN * standing.without > 0

    def _promise(self, one: Candidate, rows: float, prices: Prices, statistics: Statistics) -> float:
        """Say what a cache could save at best, for each row of the stream, if its look-ups cost what a probe costs."""
        coming = self._count_coming(one, statistics)
        hops = [hop for hop in self._route[one.start : one.stop] if hop.operator in self._probes]
        without = self._price_probes(one, rows * coming, prices, statistics)
        least = min((self._price_one(hop, rows * coming, prices) for hop in hops), default=0.0)
        return (without - least * (1 + SHARE_OF_PROBES)) * coming if without else 0.0

    def _price_one(self, hop: Hop, rows: float, prices: Prices) -> float:
        """Price a tuple that finds nothing in a probe: what it takes to look a key up."""
        if self._costs == "unit":
            return 1.0 / (1 + SHARE_OF_PROBES)
        price = prices[hop]
        return price.unit + price.step / max(rows, 1.0)

    def tell(self) -> list[tuple[str, str, str]]:
        """Name the caches, their states and why."""
        known = [(one.hop.operator, self._stand(one)) for one in self._candidates]
        return [(name, standing.state, standing.why) for name, standing in known]

    @property
    def route(self) -> tuple[Hop, ...]:
        """The route without caches."""
        return self._route

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "route": [list(hop) for hop in self._route],
            "candidates": [[list(one.hop), one.start, one.stop, sorted(one.inputs)] for one in self._candidates],
            "known": [[*hop, standing.snapshot()] for hop, standing in self._known.items()],
            "decided": self.decided,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot; caches are filled anew."""
        self._route = tuple(Hop(*hop) for hop in state["route"])
        self._candidates = [
            Candidate(Hop(*hop), start, stop, frozenset(inputs)) for hop, start, stop, inputs in state["candidates"]
        ]
        for operator, pattern, told in state["known"]:
            self._known[Hop(operator, pattern)] = Standing(self._costs)
            self._known[Hop(operator, pattern)].restore(told)
        self.decided = state["decided"]
