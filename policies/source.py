"""Source-based routing: one order for all tuples of a source.

It follows section 4.2 of the content-based routing paper (SBR): an operator's merit comes from what it did recently to
all tuples. The paper chooses at random, with probabilities inverse to the selectivities (`choice = "proportional"`);
`"greedy"`, the default, always takes the best. Beyond the paper: costs count, a probe is judged by its access pattern,
and the greedy form sends a small share of the tuples to another operator first, the one that has seen fewest, so that
one that has become selective is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Hop, Leg, Policy, QueryError, Setting, Task
from eddy.policies.shared.checks import check_costs
from eddy.policies.shared.drawing import draw
from eddy.policies.shared.merit import Costs, greedy_route, merit, row_price

CHOICES = ("greedy", "proportional")

LEAST_SELECTIVITY = 0.01
"""The least selectivity that a share is inverse to: without one, an operator that drops all would get all."""


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

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Route most by the best, and a few by another beginning.

        Or draw for each tuple.
        """
        if len(ready) == 1:
            return [Leg(route=self._route(task, ready))]
        if not self._greedy:
            return self._draw(task, ready)
        drawn = task.chance().random(task.rows)
        best = Leg(route=self._route(task, ready), rows=np.flatnonzero(drawn >= self._explore))
        first = min((hop for hop in ready if hop != best.route[0]), key=lambda hop: task.statistics[hop].rows_in)
        return [best, Leg(route=self._route(task, (first,)), rows=np.flatnonzero(drawn < self._explore))]

    @property
    def is_calm(self) -> bool:
        """Another order may be the best at any time, unless there is but one."""
        return self._operators == 1

    def _route(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Hop, ...]:
        """The route that takes the best at every step."""
        return greedy_route(
            task, ready, lambda hop: merit(task.statistics[hop], row_price(hop, task.prices, self._costs))
        )

    def _draw(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Draw one hop for each tuple or group.

        Weights are inverse to the outputs per input.
        """
        weights = np.array([1 / max(task.statistics[hop].rate, LEAST_SELECTIVITY) for hop in ready])
        return draw(task, ready, weights / weights.sum(), self._operators)
