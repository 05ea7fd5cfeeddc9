"""One whole route for rows whose operators wait for each other.

A sample through all operators says little where a probe finds more by two keys than by one: what comes to the second
probe, no row shows that has not been to the first. Worse, it costs a fan-out that no route would pay. So such a stream
has no mesh: all of its rows take one whole legal route, the cheapest by what every hop did recently under the access
pattern that it has there. Now and then a few rows take another whole route, for the hop that was seen least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from eddy.contracts import Hop, Leg, Prices, Statistic, Task
from eddy.observe.insight import Branch, Decision, RouteCost
from eddy.observe.statistics import fading
from eddy.policies.query_mesh.search.ways_on import WaysOn
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.merit import Costs, greedy_route, row_price

ROWS_REMEMBERED = 2_000
"""Rows of the stream after which what a hop did counts half: a few micro-batches, since keys may change as fast."""

MOST_EXACT_OPERATORS = 10
"""Operators up to which all sets of them are priced: 1,024 sets take a quarter of a millisecond."""

LOOKING_SHARE = 0.01
"""The share of what rows take that looking for a better route may take."""

LOOK, LOOK_AT_HOP = 60e-6, 3e-6
"""Seconds that a look takes, and for each hop that is priced."""

MOST_ROWS_UNLOOKED = 10_000
"""Rows after which the route is looked at however cheap they were."""

EXPLORED_COST = 0.02
"""The share of the rows' cost that may go into other routes than the best."""

FEWEST_EXPLORED = 12
"""Rows at least that take another route together: with fewer the calls would cost more than the rows."""

MOST_EXPLORED = 0.1
"""The largest share of a round that takes another route."""

EXPLORED_ROUNDS = 0.1
"""The share of rounds in which a few rows take another route: each of its steps is a call."""

MOST_BEGUN = 32
"""Beginnings of other routes that are followed to their end: those seen least, where there are more."""

FEWEST_TRUSTED = 6.0
"""Rows, as they count by now, of which a hop must be known before all rows take it: half of an exploration."""

DEARER = 1.5
"""A route that costs so many times what it did when it was chosen: others are tried in every other round. And where the
worst beginning costs no more than so many times the best, it hardly matters which is taken."""

ROUNDS_IF_DEARER = 0.5
"""The share of rounds then, and while there is a hop that nobody has seen."""

ROUNDS_IF_CALM = 0.03
"""The share of rounds where it hardly matters how rows go."""

UNSEEN = 100.0
"""Outputs per input of an operator that was never seen: all rows together must not find out."""

WORTH_A_CHANGE = 0.95
"""A route takes the place of the present one if it costs at most so much of it: below that it is noise."""

ROUTE_IS_NEW, ROUTE_IS_CHEAPER = "first rows", "{:.3g} a row is cheaper than {:.3g}"

NUMBERS = ("turn", "due", "rows", "predicted", "chosen", "rounds", "worst", "spent", "unlooked")
"""Turns until a few rows take another route, and what they may cost; rows of the round; what a row costs by now, and
did when the route was chosen; rounds so far; what a row costs with the worst beginning; seconds and rows since the
route was looked at."""

NEVER = (0.0, 0.0)
"""Rows and outputs of a hop that nobody has seen."""

FIRST_ROUNDS = 3
"""Rounds before the route changes: while windows fill, a hop finds more in every round."""


class JoinRoutes:
    """The route of one stream, and what its hops did recently."""

    def __init__(self, stream: str, legality: Legality, costs: Costs, prices: Prices) -> None:
        self._stream, self._legality = stream, legality
        self._costs, self._prices = costs, prices
        is_small = len(legality.operators) <= MOST_EXACT_OPERATORS
        self._ways = WaysOn(legality) if is_small else None
        self._seen: dict[Hop, tuple[float, float]] = {}
        self._route: HopNumbers = ()
        self._number = -1
        self._reason = ""
        self._numbers = dict.fromkeys(NUMBERS, 0.0)

    def legs(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """All rows on the best route; now and then a few on another."""
        if task.lineage.done:
            return [Leg(route=self._finish(task, ready))]
        numbers = self._numbers
        numbers["rows"] += task.rows
        numbers["unlooked"] += task.rows
        route = self._choose() if self._is_due else self._route
        best = self._legality.hops(route)
        numbers["turn"] += self._share_of_rounds()
        numbers["due"] += EXPLORED_COST * task.rows * numbers["predicted"]
        if numbers["turn"] < 1 or (other := self._deviate(route)) is None:
            return [Leg(route=best)]
        price = max(self._price(other), numbers["predicted"])
        rows = int(min(numbers["due"] / price if price else task.rows, MOST_EXPLORED * task.rows))
        if rows < min(FEWEST_EXPLORED, task.rows):
            return [Leg(route=best)]
        numbers["turn"], numbers["due"] = 0.0, 0.0
        chosen = np.zeros(task.rows, np.bool_)
        chosen[task.chance().choice(task.rows, rows, replace=False)] = True
        return [
            Leg(route=best, rows=np.flatnonzero(~chosen)),
            Leg(route=self._legality.hops(other), rows=np.flatnonzero(chosen)),
        ]

    def count(self, hops: Sequence[Hop], statistics: Sequence[Statistic]) -> None:
        """Take note of what hops made of some tuples."""
        for hop, statistic in zip(hops, statistics, strict=True):
            rows, out = self._seen.get(hop, NEVER)
            self._seen[hop] = (rows + statistic.rows_in, out + statistic.rows_out)
            self._numbers["spent"] += statistic.seconds

    def learn(self) -> None:
        """Let what was seen in former rounds fade, by the rows of this one."""
        kept, self._numbers["rows"] = fading(self._numbers["rows"], ROWS_REMEMBERED), 0.0
        self._seen = {hop: (rows * kept, out * kept) for hop, (rows, out) in self._seen.items()}

    @property
    def is_calm(self) -> bool:
        """Whether no other beginning would be much worse: then none can become much better at once."""
        numbers = self._numbers
        return numbers["rounds"] == FIRST_ROUNDS and numbers["worst"] <= DEARER * numbers["predicted"]

    @staticmethod
    def tell(stream: str, state: Mapping[str, Any]) -> Decision | None:
        """The route that rows take, for reports: from a snapshot, since after a restart no rows may have come yet."""
        route = tuple(state["operators"][number] for number in state["route"])
        predicted, (number, reason) = state["numbers"]["predicted"], state["decision"]
        ways = (RouteCost(route=route, share=1.0, predicted=predicted, observed=predicted),)
        tree = (Branch(level=0, way=0),)
        told = Decision(stream=stream, number=number, reason=reason, seconds=0.0, ways=ways, tree=tree)
        return told if route else None

    @property
    def _is_due(self) -> bool:
        """Whether rows have taken so long since the last look that another one is a small share of that."""
        numbers, hops = self._numbers, 0 if self._ways is None else len(self._ways.hops)
        if self._costs == "unit" or not self._route or numbers["rounds"] < FIRST_ROUNDS:
            return True
        price = LOOK + hops * LOOK_AT_HOP
        return numbers["spent"] * LOOKING_SHARE >= price or numbers["unlooked"] >= MOST_ROWS_UNLOOKED

    def _choose(self) -> HopNumbers:
        """The best route by now; the present one, unless another is clearly cheaper."""
        numbers = self._numbers
        numbers["worst"] = numbers["spent"] = numbers["unlooked"] = 0.0
        best = self._find_routes([()], usual=True)[0]
        cost, now = self._price(best), self._price(self._route) if self._route else np.inf
        numbers["rounds"] = min(numbers["rounds"] + 1, FIRST_ROUNDS)
        may_change = numbers["rounds"] == FIRST_ROUNDS and cost < WORTH_A_CHANGE * now
        if best != self._route and (not self._route or may_change):
            self._reason = ROUTE_IS_CHEAPER.format(cost, now) if self._route else ROUTE_IS_NEW
            self._number += 1
            self._route, now, numbers["chosen"] = best, cost, cost
        numbers["predicted"] = now
        return self._route

    def _share_of_rounds(self) -> float:
        """The share of rounds in which other routes are tried."""
        is_dearer = self._numbers["predicted"] > DEARER * self._numbers["chosen"]
        first = self._legality.find_ready(())
        is_new = any(self._legality.hops((number,))[0] not in self._seen for number in first)
        if self.is_calm and not is_new:
            return ROUNDS_IF_CALM
        return ROUNDS_IF_DEARER if is_new or is_dearer else EXPLORED_ROUNDS

    def _deviate(self, route: HopNumbers) -> HopNumbers | None:
        """A route that leaves the best one for a hop that was hardly seen, and goes on as it looks best."""
        begun = [
            (self._seen.get(hop, NEVER)[0], (*route[:place], number))
            for place in range(len(route))
            for number, hop in sorted(self._legality.find_ready_hops(route[:place]).items())
            if number != route[place]
        ]
        if not begun:
            return None
        if len(begun) > MOST_BEGUN:
            begun = sorted(begun, key=itemgetter(0))[:MOST_BEGUN]
        # What was seen least, and sooner what is cheap: a route that is far from the best has far to come.
        routes = self._find_routes([some for _, some in begun], usual=False)
        worth = [rows * self._price(route) for (rows, _), route in zip(begun, routes, strict=True)]
        return routes[worth.index(min(worth))]

    def _finish(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Hop, ...]:
        """A route for tuples that have left theirs: at every step the hop that looks best."""
        return greedy_route(task, ready, lambda hop: (self._rate(hop, usual=True) - 1) / self._row_price(hop))

    def _find_routes(self, begun: Sequence[HopNumbers], *, usual: bool) -> list[HopNumbers]:
        """The cheapest ways to go on, once some operators are done."""
        if self._ways is None:
            return [self._follow_ranks(some, usual=usual) for some in begun]
        hops = self._ways.hops
        onward = self._ways.price([self._rate(hop, usual=usual) for hop in hops], [*map(self._row_price, hops)])
        if usual:
            self._numbers["worst"] = float(onward.firsts.max(initial=0.0))
        return [onward.route(some) for some in begun]

    def _follow_ranks(self, begun: HopNumbers, *, usual: bool) -> HopNumbers:
        """At every step the hop of the lowest rank."""
        route = list(begun)
        while hops := self._legality.find_ready_hops(route):
            rates = {number: self._rate(hop, usual=usual) for number, hop in hops.items()}
            route.append(min(sorted(hops), key=lambda n: (rates[n] - 1) / self._row_price(hops[n])))
        return tuple(route)

    def _price(self, route: HopNumbers) -> float:
        """Price a row on a route."""
        spent, left = 0.0, 1.0
        for hop in self._legality.hops(route):
            spent += left * self._row_price(hop)
            left *= self._rate(hop, usual=True)
        return spent

    def _row_price(self, hop: Hop) -> float:
        return row_price(hop, self._prices, self._costs)

    def _rate(self, hop: Hop, *, usual: bool) -> float:
        """Outputs per input.

        A hop that was never seen is taken for the most that its operator makes by other keys; an exploration hopes
        that it drops all, since only so it is ever seen.
        """
        rows, out = self._seen.get(hop, NEVER)
        if rows >= FEWEST_TRUSTED:
            return out / rows
        if not usual:
            return out / rows if rows else 0.0
        others = [o / r for (name, _), (r, o) in self._seen.items() if name == hop.operator and r >= FEWEST_TRUSTED]
        return max(others, default=UNSEEN)

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "operators": list(self._legality.operators),
            "seen": [[*hop, *counts] for hop, counts in self._seen.items()],
            "route": list(self._route),
            "decision": [self._number, self._reason],
            "numbers": dict(self._numbers),
            "calm": self.is_calm,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; one of other operators is of no use."""
        if state["operators"] != list(self._legality.operators):
            return
        self._seen = {Hop(name, pattern): (rows, out) for name, pattern, rows, out in state["seen"]}
        self._route = tuple(state["route"])
        self._number, self._reason = state["decision"]
        self._numbers |= state["numbers"]
