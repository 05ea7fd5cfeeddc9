"""The static plan: one order for every tuple, for ever."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.contracts import Hop, Leg, Policy, QueryError, Setting, Task, quote, unknown_name
from eddy.policies.shared.merit import greedy_route


class Fixed(Policy):
    """Routes tuples in the order of the query, or a given one.

    `order` names operators; those that it leaves out follow in the order of the query. Where the next one in the
    order may not act yet, the first that may goes before it.

    >>> Fixed(Setting(operators=("cheap", "dear")), order=["dear"]).order
    ('dear', 'cheap')
    """

    def __init__(self, setting: Setting, *, order: Sequence[str] = ()) -> None:
        if isinstance(order, str) or not isinstance(order, Sequence):
            raise QueryError(f'policy "fixed": order: expected a list of operators, got {order!r}')
        for name in order:
            if name not in setting.operators:
                raise unknown_name("operator", str(name), setting.operators, where='policy "fixed": order')
        if len(set(order)) < len(order):
            raise QueryError(f'policy "fixed": order names an operator twice: {quote(order)}')
        self.order = (*order, *(name for name in setting.operators if name not in order))
        self._plans: dict[object, tuple[Leg, ...]] = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """One leg, all the way."""
        legs = self._plans.get(task.lineage)
        if legs is None:
            route = greedy_route(task, ready, lambda hop: self.order.index(hop.operator))
            legs = self._plans[task.lineage] = (Leg(route=route),)
        return legs
