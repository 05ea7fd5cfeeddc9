"""Source-based routing: one order for all tuples of a source.

It follows section 4.2 of the content-based routing paper (SBR): an operator's merit comes from what it did recently to
all tuples. The paper chooses at random, with probabilities inverse to the selectivities (`choice = "proportional"`);
`"greedy"`, the default, always takes the best. Beyond the paper: costs count, a probe is judged by its access pattern,
an order stands until another is surely cheaper or filters have surely changed, and the greedy form sends a small share
of the tuples to another operator first, the one that has seen fewest, so that one that has become selective is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Hop, Leg, Observation, Policy, QueryError, Setting, State, Task
from eddy.policies.shared.checks import check_costs
from eddy.policies.shared.drawing import draw
from eddy.policies.shared.merit import Costs, greedy_route, merit, row_price, step_price
from eddy.policies.shared.standing_order import StandingOrder

CHOICES = ("greedy", "proportional")

LEAST_SELECTIVITY = 0.01
"""The least selectivity that a share is inverse to: without one, an operator that drops all would get all."""

ROWS_EXPLORED = 200
"""Rows at least that explore together: they are a leg of their own, and some of them in each micro-batch would cost
calls every time."""

LARGEST_SHARE = 0.02
"""Rows that explore together are this share of a large task at least: all its rows are moved for another leg."""

FEW_SEEN = 100
"""Rows of which an operator must have seen some before it waits for its turn to be explored."""

SHARE_AT_FIRST = 0.1
"""The share of the rows that explore while some operator has seen few."""

LITTLE = 0.02
"""Where no order could save more than this share, or another leg costs more than it, rows explore seldom."""

WORTH_NOTING = 500e-6
"""Seconds of a step from which on it is noted what it did: that takes a hundredth of it at most."""

SELDOM = 10
"""Times as many rows from one exploration to the next where there is little to gain."""


class Source(Policy):
    """Routes by statistics over all tuples of the source.

    `explore` is the share of tuples that the greedy form sends to another operator first.

    >>> Source(Setting(operators=("cheap", "dear")), costs="unit").snapshot()
    {}
    """

    def __init__(
        self, setting: Setting, *, costs: Costs = "time", choice: str = "greedy", explore: float = 0.01
    ) -> None:
        check_costs(costs, where='policy "source"')
        if choice not in CHOICES:
            raise QueryError(f'policy "source": choice: expected "greedy" or "proportional", got {choice!r}')
        if not isinstance(explore, int | float) or not 0 <= explore <= 1:
            raise QueryError(f'policy "source": explore: expected a share from 0 to 1, got {explore!r}')
        self._costs: Costs = costs
        self._greedy = choice == "greedy"
        self._explore = explore
        self._operators = len(setting.operators)
        self._orders: dict[str, StandingOrder] = {}
        # Rows that are due to explore, by stream, and how many have to be.
        self._due: dict[str, float] = {}
        self._needed: dict[str, float] = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Route all by the best, and a few now and then by another beginning.

        Or draw for each tuple.
        """
        if not self._greedy:
            return self._draw(task, ready)
        order = self._find_order(task.lineage.origin)
        if task.lineage.done:
            return order.legs(task, ready)
        if task.independent and self._explore and not any(task.statistics[hop].rows_in for hop in ready):
            return rotate(task, ready)
        order.arrive(task, ready)
        best = order.legs(task, ready)
        if len(ready) == 1 or not (count := self._count_due(task, ready, order)):
            return best
        first = min((hop for hop in ready if hop != best[0].route[0]), key=lambda hop: task.statistics[hop].rows_in)
        other = order.route(task, (first,))
        if count == task.rows:
            return [Leg(route=other)]
        # A row of each stretch, so that a sample is from all over the task, and takes no longer than it is large.
        chosen = np.zeros(task.rows, np.bool_)
        chosen[((np.arange(count) + task.chance().random(count)) * (task.rows / count)).astype(np.int64)] = True
        return [Leg(route=best[0].route, rows=np.flatnonzero(~chosen)), Leg(route=other, rows=np.flatnonzero(chosen))]

    def observe(self, observation: Observation) -> None:
        """Take note of what filters do just now, or of a sample that somebody else has drawn."""
        is_worth_it = (
            self._costs == "unit" or observation.is_profile or observation.statistics[0].seconds >= WORTH_NOTING
        )
        if is_worth_it:
            self._find_order(observation.origin).observe(observation)

    @property
    def is_listening(self) -> bool:
        """Whether it keeps orders, which steps may change."""
        return self._greedy

    def _count_due(self, task: Task, ready: tuple[Hop, ...], order: StandingOrder) -> int:
        """Count the rows of a task that explore: mostly none, then so many that a call is worth it."""
        origin, rows = task.lineage.origin, task.rows
        due = self._due[origin] = self._due.get(origin, 0.0) + self._explore * rows
        if self._explore and min(task.statistics[hop].rows_in for hop in ready) < FEW_SEEN:
            return min(int(SHARE_AT_FIRST * rows), ROWS_EXPLORED)
        lot = min(max(ROWS_EXPLORED, int(LARGEST_SHARE * rows)), rows)
        if due < max(lot, min(self._needed.get(origin, 0.0), SELDOM * lot)):
            return 0
        if due < SELDOM * lot and self._is_little(task, ready, order, due):
            self._needed[origin] = due + lot
            return 0
        self._due[origin] = self._needed[origin] = 0.0
        return min(int(due), rows)

    def _is_little(self, task: Task, ready: tuple[Hop, ...], order: StandingOrder, due: float) -> bool:
        """Tell whether exploring is hardly worth its price, or what may be found."""
        spent, best = order.expect(task, ready)
        price = len(ready) * step_price(ready, task.prices, self._costs) if due < task.rows else 0.0
        return spent - best < LITTLE * spent or price > LITTLE * spent * due / self._explore

    def _find_order(self, origin: str) -> StandingOrder:
        order = self._orders.get(origin)
        if order is None:
            order = self._orders[origin] = StandingOrder(self._costs)
        return order

    @property
    def is_calm(self) -> bool:
        """Another order may be the best at any time, unless there is but one, or all have stood for long."""
        orders = self._orders.values()
        return self._operators == 1 or (bool(orders) and all(order.is_settled for order in orders))

    @property
    def is_urgent(self) -> bool:
        """Whether calls alone count."""
        return self._costs == "unit"

    def _draw(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Draw one hop for each tuple or group.

        Weights are inverse to the outputs per input.
        """
        if len(ready) == 1:
            return [Leg(route=greedy_route(task, ready, lambda hop: self._find_merit(task, hop)))]
        weights = np.array([1 / max(task.statistics[hop].rate, LEAST_SELECTIVITY) for hop in ready])
        return draw(task, ready, weights / weights.sum(), self._operators)

    def _find_merit(self, task: Task, hop: Hop) -> float:
        return merit(task.statistics[hop], row_price(hop, task.prices, self._costs))

    def snapshot(self) -> State:
        """The order of each stream, and the rows that are due, and must be."""
        return {
            origin: [self._due.get(origin, 0.0), self._needed.get(origin, 0.0), order.snapshot()]
            for origin, order in self._orders.items()
        }

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        for origin, (due, needed, order) in state.items():
            self._due[origin], self._needed[origin] = due, needed
            self._find_order(origin).restore(order)


def rotate(task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
    """Send the first rows of a stream round: each operator is the first for as many of them.

    Nothing is known, so the written order is as good as any, and may be the worst; a part of the rows in each rotation
    costs what orders cost on average, and shows what every operator makes of rows as they arrive.
    """
    ways = min(len(ready), max(task.rows // FEW_SEEN, 1))
    legs = []
    for way in range(ways):
        first = len(ready) * way // ways
        places = {hop: place for place, hop in enumerate((*ready[first:], *ready[:first]))}
        legs.append(Leg(route=greedy_route(task, ready, places.__getitem__), rows=np.arange(way, task.rows, ways)))
    return legs
