"""The bound: a policy that knows the truth (Content-Knows).

It follows section 6.2 of the content-based routing paper. It is given the classifier attribute and every operator's
selectivity in each class, and routes each class by them. Gains of other policies beside `source` are measured against
its gain. Beyond the paper, operators may have attributes of their own, and the truth may change with the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Leg, Policy, Setting, State, Task
from eddy.policies.shared.checks import check_costs
from eddy.policies.shared.merit import Costs, greedy_route, row_price, step_price
from eddy.policies.shared.orders import best_orders, number_classes, sort_by_merit, split_lots
from eddy.policies.shared.truth import Truth
from eddy.tuples import Hop, Lineage
from eddy.tuples.arrays import Integers

ROWS_BETWEEN_ORDERS = 50_000
"""Rows for which orders stand: prices change little in between, and to find orders takes as long as some calls. At the
beginning, while prices are not known, they are found anew when the rows have doubled."""

MOST_STANDING = 512
"""Classes up to which orders stand; where there are more, most of them have a row or two."""

MOST_LINEAGES = 256
"""Lineages whose orders stand."""


@dataclass
class Standing:
    """The orders of classes, by their buckets, and the rows before and since they were found."""

    before: int
    rows: int
    orders: dict[bytes, tuple[int, ...]]

    @property
    def is_over(self) -> bool:
        """The orders are to be found anew."""
        return self.rows >= min(self.before, ROWS_BETWEEN_ORDERS)


class Knows(Policy):
    """Routes each class by the true selectivities.

    `truth` names the classifier `attribute` as "stream.column", its `values`, and for each operator its
    `selectivities`, one for each value. A row with another value takes the order that is best on average. With
    `operators` each operator has these three of its own; with `phases` the truth is a list of such, each valid `from`
    the row of that number on.

    >>> truth = {"attribute": "s.c", "values": [0, 1], "selectivities": {"cheap": [0.1, 0.9]}}
    >>> from eddy.sql import Column
    >>> Knows(Setting(operators=("cheap",), columns=(Column("s", "c"),)), truth=truth).features.buckets
    2
    """

    def __init__(self, setting: Setting, *, truth: Mapping[str, Any], costs: Costs = "time") -> None:
        check_costs(costs, where='policy "knows"')
        self._costs: Costs = costs
        self._truth = Truth(truth, setting, where='policy "knows": truth')
        self.features = self._truth.features
        # Rows that have come, by stream: they say in which phase it is.
        self._rows: dict[str, int] = {}
        self._standing: dict[Lineage, Standing] = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """The best order of each class."""
        # All that a tuple will come to, whatever waits for what.
        hops = ready if task.independent else greedy_route(task, ready, lambda _: 0.0)
        phases = self._count(task)
        if len(hops) == 1:
            return [Leg(route=hops)]
        attributes = range(len(self.features.of(task.lineage.origin)))
        buckets = np.column_stack((phases, task.buckets(attributes)))
        examples, which = number_classes(buckets if phases[0] or phases[-1] else buckets[:, 1:])
        if examples.shape[1] <= len(attributes):
            examples = np.column_stack((np.zeros(len(examples), np.uint8), examples))
        orders = self._find_standing(task, hops, examples, which)
        ways: dict[tuple[int, ...], int] = {}
        lot = np.array([ways.setdefault(order, len(ways)) for order in map(tuple, orders.tolist())])
        routes = [self._find_route(task, ready, [hops[number] for number in way]) for way in ways]
        if len(routes) == 1:
            return [Leg(route=routes[0])]
        return [
            Leg(route=routes[number], rows=rows, classes=told)
            for number, rows, told in split_lots(lot, which, np.arange(task.rows), attributes, examples[:, 1:])
        ]

    def _count(self, task: Task) -> Buckets:
        """Count the rows that arrive; gives the phase of each tuple."""
        origin = task.lineage.origin
        first = self._rows.get(origin, 0)
        if not self._truth.has_phases:
            return np.zeros(task.rows, np.uint8)
        if task.lineage.done:
            # Rows under way are counted already, and which of them these are is not known any more.
            return np.repeat(self._truth.find_phases(max(first - 1, 0), 1), task.rows)
        self._rows[origin] = first + task.rows
        return self._truth.find_phases(first, task.rows)

    def _find_standing(self, task: Task, hops: Sequence[Hop], examples: Buckets, which: Integers) -> Integers:
        """Find the order of each class.

        It stands until some rows have come, or a class that is new.
        """
        names = [bytes(example) for example in examples]
        standing = self._standing.get(task.lineage)
        if standing is None or standing.is_over or not standing.orders.keys() >= set(names):
            orders = self._find_orders(task, hops, examples, np.bincount(which, minlength=len(examples)))
            if len(names) > MOST_STANDING:
                return orders
            if len(self._standing) >= MOST_LINEAGES:
                self._standing.clear()
            decided = zip(names, map(tuple, orders.tolist()), strict=True)
            before = 0 if standing is None else standing.before + standing.rows
            standing = self._standing[task.lineage] = Standing(before, 0, dict(decided))
        standing.rows += task.rows
        return np.array([standing.orders[name] for name in names])

    def _find_orders(self, task: Task, hops: Sequence[Hop], examples: Buckets, rows: Integers) -> Integers:
        """Find the best order of hops for each class."""
        phases, origin = examples[:, 0].astype(np.int64), task.lineage.origin
        told = [self._truth.rates(hop.operator, phases, origin, examples[:, 1:]) for hop in hops]
        rates = np.column_stack(
            [
                np.full(len(examples), task.statistics[hop].rate) if one is None else one
                for hop, one in zip(hops, told, strict=True)
            ]
        )
        costs = np.array([row_price(hop, task.prices, self._costs) for hop in hops])
        common = sort_by_merit(np.average(rates, axis=0, weights=rows), costs)
        return best_orders(rates, costs, common, rows, step_price(hops, task.prices, self._costs))

    def _find_route(self, task: Task, ready: tuple[Hop, ...], order: Sequence[Hop]) -> tuple[Hop, ...]:
        """Make a route of an order; an operator that has to wait comes as soon as it may."""
        if task.independent:
            return tuple(order)
        ranks = {hop.operator: rank for rank, hop in enumerate(order)}
        return greedy_route(task, ready, lambda hop: ranks[hop.operator])

    def snapshot(self) -> State:
        """The rows that have come, and the orders that stand."""
        return {
            "rows": dict(self._rows),
            "standing": [
                [*_plain(lineage), one.before, one.rows, [[[*name], [*order]] for name, order in one.orders.items()]]
                for lineage, one in self._standing.items()
            ],
        }

    def restore(self, state: State) -> None:
        """Go on in the same phase."""
        self._rows = dict(state["rows"])
        self._standing = {
            Lineage(origin, frozenset(spans), frozenset(done)): Standing(
                before, rows, {bytes(name): tuple(order) for name, order in orders}
            )
            for origin, spans, done, before, rows, orders in state["standing"]
        }


def _plain(lineage: Lineage) -> list[Any]:
    return [lineage.origin, sorted(lineage.spans), sorted(lineage.done)]
