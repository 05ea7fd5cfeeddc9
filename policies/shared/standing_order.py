"""The best single order of a stream's operators; it stands until another one is surely cheaper.

An order by merit follows every noise in times and rates: operators of one price change places, and none of it is of
use. So the order stands. Now and then it is looked at, with prices that are means over the last looks, and changes if
another would save enough. It is planned once and handed out: a look-up, whatever the number of operators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from eddy.contracts import Leg, Lineage, Observation, Statistic, Task
from eddy.policies.shared.merit import INSTANT, Costs, greedy_route, merit, row_price
from eddy.tuples import Hop

ROWS_BETWEEN_LOOKS = 3_000
"""Rows from one look at the order to the next; at the beginning it is looked at when the rows have doubled."""

ROWS_BETWEEN_CHECKS = 1_000
"""Rows from one time that it is asked whether filters have changed to the next: a comparison for each."""

FEW_ROWS_BETWEEN, MOST_ROWS_BETWEEN = 30_000, 500_000
"""Rows from one look to the next where rows are so cheap that looking would cost more than its share: the second where
an order has stood for long."""

STOOD_SHARE = 0.5
"""The share of the rows for which an order has stood that may come before the next look, where they are so cheap: a
change of prices is seen after so much more."""

LOOK_AT_HOP = 15e-6
"""Seconds that a look takes for each hop."""

LOOKING_SHARE = 0.01
"""The share of the rows' time that looking may take."""

ROWS_TO_STAND = 10_000
"""Rows after which an order stands: by then rates are known to about a hundredth, and prices over some steps."""

ROWS_TO_SETTLE = 50_000
"""Rows after which an order that has stood so long is not expected to change soon."""

LEAST_SAVING = 0.005
"""What another order must save to take the place of one that stands; below that it is noise."""

NEWEST_WEIGHT = 0.1
"""The weight of the newest price in the mean: prices of a busy machine waver together for some looks."""

MOST_LOOKS = 10
"""Looks that are counted: from then on the newest has its least weight."""

MOST_OFF = 2.0
"""A price that is so many times the mean, or as small a part of it, has changed: the mean begins anew with it."""

CHANGED = 4.0
"""Standard deviations from the mean by which a price has changed too."""

FIRST_SPREAD = 0.04
"""The variance of a price, in logarithms, before it is known: a new price is right within a fifth."""

SURE = 2.0
"""Standard errors by which two prices must differ to be taken for different."""


ROWS_OF_LATE = 1_000
"""Rows after which an older one counts half."""

FEW_OF_LATE = 100
"""Rows before anything is said."""

SURELY_CHANGED = 4.0
"""Standard errors by which rates must differ: filters are looked at by the dozen, for as long as a stream lasts."""

LEAST_CHANGE = 0.05
"""The least difference of two rates that may be worth another order at once."""


OF_CLASSES = 4_000, 0.02
"""Rows after which an older one counts half, and the least difference of two rates, where it is asked whether classes
may have appeared: those of two filters change little what one makes of the rows of the other."""

MOST_PASSING = 100
"""Places behind other filters that are told apart; where orders change so often, counting begins anew."""


class Known(NamedTuple):
    """The mean price of a hop over some looks, and the variance of the newest around it, in logarithms."""

    price: float
    spread: float = FIRST_SPREAD
    looks: int = 1


class RecentRates:
    """Rows of late that came to each filter, and that passed; what probes find is too uneven for that.

    >>> recent, hop = RecentRates(), Hop("f")
    >>> recent.count(hop, 400, 40.0)
    >>> recent.find(hop, Statistic(9_000, 9_000, 990.0)).rate, recent.find(hop, Statistic(9_000, 9_000, 8_100.0)).rate
    (0.11, 0.1)
    """

    def __init__(self, half_life: int = ROWS_OF_LATE, least: float = LEAST_CHANGE) -> None:
        self._half_life, self._least = half_life, least
        self._counts: dict[Hop, tuple[float, float]] = {}

    def observe(self, observation: Observation) -> None:
        """Count a step, or a sample that somebody else has drawn."""
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            if not hop.pattern:
                self.count(hop, statistic.rows_in, statistic.rows_out)

    def count(self, hop: Hop, rows: float, passed: float) -> None:
        """Count rows that came to a filter; older ones are forgotten when it surely did something else with them."""
        known = self._counts.get(hop)
        if known is not None and not (rows >= FEW_OF_LATE and self.differs(hop, passed / rows, rows)):
            kept = 0.5 ** (rows / self._half_life)
            rows, passed = known[0] * kept + rows, known[1] * kept + passed
        self._counts[hop] = rows, passed

    def find(self, hop: Hop, statistic: Statistic) -> Statistic:
        """Find what to go by: all that is known of a filter, or what it did of late."""
        if not self.differs(hop, statistic.rate):
            return statistic
        rows, passed = self._counts[hop]
        return Statistic(rows, rows, passed)

    def differs(self, hop: Hop, rate: float, of: float = math.inf) -> bool:
        """Tell whether a filter did surely something else of late than pass that share of its rows, or `of` so many."""
        rows, passed = self._counts.get(hop, (0.0, 0.0))
        if rows < FEW_OF_LATE:
            return False
        recent = passed / rows
        if abs(recent - rate) <= self._least:
            return False
        spread = max(rate * (1 - rate), recent * (1 - recent), 1 / rows)
        error = math.sqrt(spread * (1 / rows + 1 / of))
        return abs(recent - rate) > SURELY_CHANGED * error

    @property
    def is_known(self) -> bool:
        """Whether anything is known."""
        return bool(self._counts)

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [[*hop, *counts] for hop, counts in self._counts.items()]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self._counts = {Hop(operator, pattern): (rows, out) for operator, pattern, rows, out in state}


class Passing:
    """What filters let through on the common way since a wait began, and of late, each behind others by themselves.

    A filter sees other rows behind other filters, so both are counted for each set of those before it.
    """

    def __init__(self) -> None:
        self._all: dict[Hop, tuple[float, float]] = {}
        self._recent = RecentRates(*OF_CLASSES)

    def count(self, step: Observation) -> None:
        """Count the rows of a step that are on the common way: its largest leg."""
        hop, rows = step.hops[0], step.rows
        most = max(range(len(rows)), key=rows.__getitem__)
        before = step.legs[most].route
        if hop.pattern or hop not in before:
            return
        key = Hop(hop.operator, ",".join(sorted(one.operator for one in before[: before.index(hop)])))
        begun = sum(rows[:most])
        passed = float(step.outcomes[0][begun : begun + rows[most]].sum())
        if len(self._all) >= MOST_PASSING:
            self._all, self._recent = {}, RecentRates(*OF_CLASSES)
        known = self._all.get(key, (0.0, 0.0))
        self._all[key] = known[0] + rows[most], known[1] + passed
        self._recent.count(key, rows[most], passed)

    @property
    def has_changed(self) -> bool:
        """Whether a filter surely does something else of late."""
        return any(rows and self._recent.differs(key, out / rows, rows) for key, (rows, out) in self._all.items())

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [[[*key, *counts] for key, counts in self._all.items()], self._recent.snapshot()]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self._all = {Hop(operator, before): (rows, out) for operator, before, rows, out in state[0]}
        self._recent.restore(state[1])


class StandingOrder:
    """The order of one stream: mean prices, merits, and the legs that follow from them."""

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._rows = self._unseen = self._stood = self._unchecked = 0
        self._between = ROWS_BETWEEN_LOOKS
        self._prices: dict[Hop, Known] = {}
        self._merits: dict[Hop, float] = {}
        self._legs: dict[Lineage, tuple[Leg, ...]] = {}
        # What filters did of late, and the rates that the order goes by.
        self._recent = RecentRates()
        self._rates: dict[Hop, float] = {}

    def observe(self, observation: Observation) -> None:
        """Take note of a step, or of a sample that somebody else has drawn."""
        self._recent.observe(observation)

    def arrive(self, task: Task, ready: tuple[Hop, ...]) -> None:
        """Count rows that arrive; looks at the order if it is time, or if filters have changed."""
        if self._unseen >= min(self._rows // 2, self._between) or self._has_changed():
            self._look(task, ready)
            self._unseen = 0
        self._rows += task.rows
        self._unseen += task.rows
        self._unchecked += task.rows
        self._stood += task.rows

    def _has_changed(self) -> bool:
        """Tell whether a filter does something else by now than the order goes by."""
        if self._unchecked < ROWS_BETWEEN_CHECKS:
            return False
        self._unchecked = 0
        return any(self._recent.differs(hop, rate) for hop, rate in self._rates.items())

    def _see(self, task: Task, hop: Hop) -> Statistic:
        """Say what to go by for a hop."""
        return self._recent.find(hop, task.statistics[hop])

    @property
    def is_settled(self) -> bool:
        """Tell whether the order has stood for long."""
        return self._stood >= ROWS_TO_SETTLE

    def legs(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Leg, ...]:
        """One leg, all the way."""
        legs = self._legs.get(task.lineage)
        if legs is None:
            legs = self._legs[task.lineage] = (Leg(route=self.route(task, ready)),)
        return legs

    def route(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Hop, ...]:
        """Build a whole route that begins with one of some hops."""
        return greedy_route(task, ready, lambda hop: self._find_merit(task, hop))

    def expect(self, task: Task, ready: tuple[Hop, ...]) -> tuple[float, float]:
        """Estimate what a row costs in this order, and at best.

        At best the cheapest operator is called, and drops it.
        """
        return self._expect(task, self.legs(task, ready)[0].route, {}, {}), min(
            self._prices[hop].price for hop in ready
        )

    def _look(self, task: Task, ready: tuple[Hop, ...]) -> None:
        """Take another order if it is cheaper by now."""
        for hop in self._prices:
            self._follow(task, hop)
        # Routes follow from the merits, so these are all that must survive a restart.
        alike = join_alike(self._prices)
        seen = {hop: self._see(task, hop) for hop in alike}
        standing, self._merits = self._merits, {hop: merit(seen[hop], alike[hop]) for hop in alike}
        self._rates = {hop: one.rate for hop, one in seen.items() if not hop.pattern}
        new = self.route(task, ready)
        old = greedy_route(task, ready, lambda hop: standing.get(hop, 0.0)) if standing else ()
        best = self._expect(task, new, alike, seen)
        cost = best if old == new else self._expect(task, old, alike, seen)
        saved = cost - best
        # Where probes find several rows each, the order by merit may be dearer than another that happened to stand.
        if old and (saved < 0 or (self._rows >= ROWS_TO_STAND and saved <= LEAST_SAVING * cost)):
            self._merits = standing
        elif old != new:
            self._legs, self._stood = {}, 0
        spent = best if self._costs == "time" else math.inf
        rows = LOOK_AT_HOP * len(new) / (LOOKING_SHARE * max(spent, INSTANT))
        most = min(max(STOOD_SHARE * self._stood, FEW_ROWS_BETWEEN), MOST_ROWS_BETWEEN)
        self._between = int(min(max(rows, ROWS_BETWEEN_LOOKS), most))

    def _find_merit(self, task: Task, hop: Hop) -> float:
        found = self._merits.get(hop)
        if found is None:
            if hop not in self._prices:
                self._follow(task, hop)
            found = self._merits[hop] = merit(self._see(task, hop), self._prices[hop].price)
        return found

    def _expect(
        self, task: Task, route: Sequence[Hop], alike: Mapping[Hop, float], seen: Mapping[Hop, Statistic]
    ) -> float:
        """Estimate what a row costs on a route, where some of the hops have been looked at."""
        reach, spent = 1.0, 0.0
        for hop in route:
            spent += reach * alike.get(hop, self._prices[hop].price)
            reach *= (seen.get(hop) or self._see(task, hop)).rate
        return spent

    def _follow(self, task: Task, hop: Hop) -> None:
        """Let a mean price follow the newest one."""
        self._prices[hop] = follow_price(self._prices.get(hop), row_price(hop, task.prices, self._costs))

    def snapshot(self) -> list[Any]:
        """Numbers of rows; prices and merits of hops; what filters did of late, and the rates that are gone by."""
        prices = [[*hop, *known] for hop, known in self._prices.items()]
        numbers = [self._rows, self._unseen, self._between, self._stood, self._unchecked]
        merits, rates = ([[*hop, one] for hop, one in found.items()] for found in (self._merits, self._rates))
        return [numbers, prices, merits, self._recent.snapshot(), rates]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        numbers, prices, merits, recent, rates = state
        self._rows, self._unseen, self._between, self._stood, self._unchecked = numbers
        self._prices = {Hop(operator, pattern): Known(*known) for operator, pattern, *known in prices}
        self._merits = {Hop(operator, pattern): found for operator, pattern, found in merits}
        self._recent.restore(recent)
        self._rates = {Hop(operator, pattern): rate for operator, pattern, rate in rates}


def follow_price(known: Known | None, newest: float) -> Known:
    """Let a mean price follow the newest one.

    >>> follow_price(None, 1.0), round(follow_price(Known(1.0), 1.1).price, 3), follow_price(Known(1.0), 3.0)
    (Known(price=1.0, spread=0.04, looks=1), 1.049, Known(price=3.0, spread=0.04, looks=1))
    """
    off = math.inf if known is None else math.log(newest / known.price)
    if known is None or abs(off) > min(math.log(MOST_OFF), CHANGED * math.sqrt(known.spread)):
        return Known(newest)
    weight = max(1 / (known.looks + 1), NEWEST_WEIGHT)
    spread = known.spread + (off * off - known.spread) * weight
    return Known(known.price * math.exp(off * weight), spread, min(known.looks + 1, MOST_LOOKS))


def join_alike(prices: Mapping[Hop, Known]) -> dict[Hop, float]:
    """Give hops the same price whose prices are not surely different: the mean of them all.

    >>> found = join_alike({Hop("f"): Known(1.0, 0.01), Hop("g"): Known(1.21, 0.01), Hop("h"): Known(4.0, 0.01)})
    >>> [round(price, 3) for price in found.values()]
    [1.1, 1.1, 4.0]
    """
    lots: list[list[Hop]] = []
    for hop, known in sorted(prices.items(), key=lambda item: item[1].price):
        first = prices[lots[-1][0]] if lots else None
        if first and math.log(known.price / first.price) <= SURE * math.sqrt(known.spread + first.spread):
            lots[-1].append(hop)
        else:
            lots.append([hop])
    means = [math.exp(sum(math.log(prices[hop].price) for hop in lot) / len(lot)) for lot in lots]
    return {hop: mean for lot, mean in zip(lots, means, strict=True) for hop in lot}
