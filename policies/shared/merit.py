"""The order of merit: cheap operators that drop much go first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from eddy.contracts import Task
from eddy.observe.statistics import Statistic
from eddy.tuples import Hop

Costs = Literal["time", "unit"]

INSTANT = 1e-9
"""Seconds below which an operator's cost is not told from nothing; it keeps a merit finite."""


def merit(statistic: Statistic, costs: Costs) -> float:
    """Rank an operator: the smaller, the sooner.

    The rank is (outputs per input - 1) / cost of an input. With `costs` "unit" every operator costs the same, as in
    experiments that count routing calls.

    >>> merit(Statistic(rows_in=10, evaluated=10, rows_out=4, seconds=1.0), "unit")
    -0.6
    """
    return (statistic.rate - 1) / cost(statistic, costs)


def cost(statistic: Statistic, costs: Costs) -> float:
    """The cost of one input: seconds, or one call."""
    return 1.0 if costs == "unit" else max(statistic.cost, INSTANT)


def greedy_route(task: Task, ready: tuple[Hop, ...], rank: Callable[[Hop], float]) -> tuple[Hop, ...]:
    """Build a whole route by rank.

    Of the hops that are ready by then the one of the lowest rank comes next, the first of equals.
    """
    route: list[Hop] = []
    while ready:
        route.append(min(ready, key=rank))
        ready = task.after(route)
    return tuple(route)
