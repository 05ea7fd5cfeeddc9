"""What the operators of a stream did recently to all of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import Prices
from eddy.observe.statistics import NOTHING, Statistic, fading
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.merit import INSTANT, Costs, step_price
from eddy.policies.shared.orders import STEPS_PER_ORDER
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats

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
        self._hops = {operator: Hop(operator, pattern) for operator, pattern in state.get("hops", ())}
        self._prices = self._shares = self._common = None
