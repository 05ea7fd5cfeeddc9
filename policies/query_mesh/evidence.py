"""What is known of a stream: what operators did recently to all of its rows, and the rows that went to all of them.

These went in small legs, each of which was timed by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.contracts import Prices
from eddy.observe.statistics import NOTHING, Statistic, fading
from eddy.policies.query_mesh.learn.class_prices import FEWEST_LEGS, ClassPrices
from eddy.policies.query_mesh.learn.class_rates import ClassRates
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.merit import INSTANT, Costs, step_price
from eddy.policies.shared.orders import STEPS_PER_ORDER
from eddy.policies.shared.sample import Reservoir
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

SMALLEST_LEG, MOST_LEGS = 8, 16
"""Rows of a leg of the sample at least, and legs at most."""

ROWS_OF_UNLIKE, LEGS_OF_UNLIKE = 5, 96
"""Rows of a leg where rows cost unlike and nobody knows why, and such legs in all: they tell fifty values."""

CALLS_OF_LEGS = 0.25
"""The calls of a leg of the sample may take so much of what its rows take."""


CALLS_PER_ROUTE = 2.0
"""The cost of one more route in a round where only calls count: less than a policy is expected to gain by it."""


class OperatorRates:
    """Rates and prices of operators; a row's weight halves every `window` rows that come to the operator."""

    def __init__(self, operators: Sequence[str], costs: Costs, window: int, price_list: Prices) -> None:
        self._operators, self.costs, self._window, self._price_list = operators, costs, max(window, 1), price_list
        self._hops: dict[str, Hop] = {}
        self._statistics: dict[str, Statistic] = {}
        # Asked for several times a round, and new only when something was counted.
        self._prices: Floats | None = None
        self._shares: Floats | None = None
        self._common: float | None = None

    def count(self, hops: Sequence[Hop], statistics: Sequence[Statistic]) -> float:
        """Count what operators did; returns what it cost by the price list."""
        self._prices = self._shares = self._common = None
        spent = 0.0
        for hop, statistic in zip(hops, statistics, strict=True):
            known = self._statistics.get(hop.operator, NOTHING)
            weight = fading(statistic.rows_in, self._window)
            self._hops[hop.operator] = hop
            seconds = self._price_list[hop].row * statistic.rows_in
            self._statistics[hop.operator] = Statistic(
                known.rows_in * weight + statistic.rows_in,
                0,
                known.rows_out * weight + statistic.rows_out,
                known.seconds * weight + seconds,
            )
            spent += seconds
        return spent

    def prices(self) -> Floats:
        """The cost of an input of each operator."""
        if self.costs == "unit":
            return np.ones(len(self._operators))
        if self._prices is None:
            known = [self._statistics.get(name, NOTHING) for name in self._operators]
            self._prices = np.maximum([statistic.cost for statistic in known], INSTANT)
        return self._prices

    def shares(self) -> Floats:
        """Compute outputs per input of each operator.

        All rows count that came to it.
        """
        if self._shares is None:
            self._shares = np.array([self._statistics.get(name, NOTHING).rate for name in self._operators])
        return self._shares

    def price_common(self) -> float:
        """Price a row in the order of merit."""
        if self._common is None:
            # Plain numbers: arrays of so few take longer.
            self._common, left = 0.0, 1.0
            pairs = zip(self.shares().tolist(), self.prices().tolist(), strict=True)
            for rate, price in sorted(pairs, key=lambda pair: (pair[0] - 1) / pair[1]):
                self._common += left * price
                left *= rate
        return self._common

    def price_step(self) -> float:
        """Price a call of an operator."""
        return step_price(list(self._hops.values()), self._price_list, self.costs)

    def price_calls(self) -> float:
        """Price a call of every operator."""
        return len(self._hops) * self.price_step()

    def price_own(self, hop: Hop, statistic: Statistic) -> float:
        """The seconds of a row in a step, without the call's; NaN where nobody looked at any."""
        work = statistic.seconds - self._price_list[hop].step
        return max(work, 0.0) / statistic.rows_in if statistic.rows_in else np.nan

    def overheads(self, rows: float) -> Overheads:
        """Price routes and trees, in rounds of so many rows."""
        if self.costs == "unit":
            return Overheads(level=0.0, bucket=0.0, leg=CALLS_PER_ROUTE, rows=rows)
        step = self.price_step()
        return Overheads(leg=STEPS_PER_ORDER * step, rows=rows, step=step)

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "statistics": [[name, s.rows_in, s.rows_out, s.seconds] for name, s in self._statistics.items()],
            "hops": [list(hop) for hop in self._hops.values()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot of the same operators."""
        self._statistics = {name: Statistic(rows, 0, out, seconds) for name, rows, out, seconds in state["statistics"]}
        self._hops = {operator: Hop(operator, pattern) for operator, pattern in state["hops"]}
        self._prices = self._shares = self._common = None


class Evidence:
    """The newest rows of the sample, and the prices by class that follow from their legs.

    `shape` says how many attributes there are, and of how many buckets.
    """

    def __init__(self, shape: tuple[int, int], operators: Sequence[str], room: int, rates: OperatorRates) -> None:
        self.shape, (attributes, cells) = shape, shape
        self._operators, self._rates = tuple(operators), rates
        self.rows = Reservoir(attributes, len(operators), room)
        self.prices = ClassPrices()
        self.by_bucket = ClassRates(len(operators), cells)
        # Whether nothing but the class makes operators agree: then all outcomes are evidence, and not only the first.
        self.is_independent = False
        # Legs that were sent since rows cost unlike.
        self.tried = 0

    def forget(self) -> None:
        """Begin anew: buckets mean something else now."""
        self.forget_rows()
        self.prices, self.tried = ClassPrices(), 0

    def forget_rows(self) -> None:
        """Forget what operators did."""
        self.rows.keep(0)
        self.by_bucket.forget()

    @property
    def tellers(self) -> tuple[int, ...]:
        """The attributes that operators go by."""
        return self.by_bucket.attributes

    def refine(self, refined: Mapping[int, Buckets]) -> None:
        """Tell values of some attributes apart one by one, given the bucket of each number."""
        self.is_independent |= refined.keys() != self.refined.keys()
        self.by_bucket.refine(refined)

    def find_buckets(self, attributes: Sequence[int], numbers: ValueNumbers) -> Buckets:
        """Find the buckets of some rows, given the numbers of their values."""
        refined, pairs = self.refined, zip(attributes, numbers.T, strict=True)
        columns = [refined[a].take(column) if a in refined else column for a, column in pairs]
        return np.array(columns, np.uint8).T

    @property
    def refined(self) -> Mapping[int, Buckets]:
        """The attributes whose values are told apart one by one, and the bucket of each number."""
        return self.by_bucket.refined

    @property
    def is_timing(self) -> bool:
        """Whether rows cost unlike, and more legs may tell by which attribute, or what a row of each bucket costs."""
        return self.may_time(self.prices)

    def may_time(self, prices: ClassPrices) -> bool:
        """The same, if that is known of prices."""
        return (prices.is_open or prices.is_known) and self.tried < LEGS_OF_UNLIKE

    def count_legs(self, rows: int) -> int:
        """Count the legs in which to send a sample.

        Each is timed by itself, and has calls of its own.
        """
        if self._rates.costs == "unit":
            return 1
        if self.is_timing:
            legs = max(min(rows // ROWS_OF_UNLIKE, LEGS_OF_UNLIKE - self.tried), 1)
            self.tried += legs
            return legs
        calls, work = self._rates.price_calls(), float(self._rates.prices().sum())
        smallest = max(SMALLEST_LEG, calls / (CALLS_OF_LEGS * work))
        legs = int(rows / smallest)
        # Fewer legs say nothing, unless others before them did.
        return min(legs, MOST_LEGS) if legs >= FEWEST_LEGS or (legs and self.prices.is_known) else 1

    def keep(
        self,
        hops: Sequence[Hop],
        statistics: Sequence[Statistic],
        buckets: Buckets,
        outcomes: Sequence[Any],
        numbers: ValueNumbers | None = None,
    ) -> None:
        """Keep what became of rows that went to all operators.

        They went in one leg, whose time is kept too.
        """
        columns = np.full((len(buckets), len(self._operators)), np.nan)
        seconds = np.full(len(self._operators), np.nan)
        for hop, statistic, counts in zip(hops, statistics, outcomes, strict=True):
            number = self._operators.index(hop.operator)
            columns[:, number] = counts
            seconds[number] = self._rates.price_own(hop, statistic)
        self.rows.add(buckets, columns, seconds, numbers)
        self.by_bucket.keep(buckets if numbers is None else numbers, columns)

    def tell(self, rows: int) -> tuple[ValueNumbers, Floats]:
        """Give what is known of the values of the newest rows, and what operators made of each."""
        buckets, outcomes = self.rows.newest(rows)
        numbers = self.rows.number(rows)
        return buckets if numbers is None else numbers, outcomes

    @property
    def is_counting(self) -> bool:
        """Whether outcomes of ordinary steps are counted by bucket."""
        return self.by_bucket.is_fine(self.rows.room) and self.by_bucket.is_thin

    def is_fine(self, rows: int) -> bool:
        """Tell whether so many rows of a sample are few for the buckets that tell something."""
        return self.by_bucket.is_fine(rows)

    def count_buckets(self, attributes: Sequence[int]) -> int:
        """Count the buckets of the attribute that has most of them in the sample."""
        buckets, _ = self.rows.newest(len(self.rows))
        return max((len(np.unique(buckets[:, attribute])) for attribute in attributes), default=0)

    def is_blurred(self, rows: int) -> bool:
        """Tell whether some attribute has fewer rows of the sample in a bucket than so many."""
        return rows * self.count_buckets(self.varied.tolist()) > len(self.rows)

    @property
    def varied(self) -> Integers:
        """The attributes that vary over the rows of the sample.

        Others cost a look and tell nothing.
        """
        buckets, _ = self.rows.newest(len(self.rows))
        return np.flatnonzero((buckets != buckets[:1]).any(axis=0))
