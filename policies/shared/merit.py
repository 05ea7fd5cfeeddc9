"""The order of merit: cheap operators that drop much go first.

What a row and a call take is in the one price list that all share (`eddy/observe/prices.py`): it is fitted over many
steps, so that one slow call puts nothing in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from eddy.contracts import Prices, Task
from eddy.observe.prices import ALONE, SHARED
from eddy.observe.statistics import Statistic
from eddy.tuples import Hop

Costs = Literal["time", "unit"]

INSTANT = 1e-9
"""Seconds below which an operator's cost is not told from nothing; it keeps a merit finite."""


def merit(statistic: Statistic, price: float) -> float:
    """The smaller, the sooner: (outputs per input - 1) / price of an input.

    >>> merit(Statistic(rows_in=10, evaluated=10, rows_out=4, seconds=1.0), price=1.0)
    -0.6
    """
    return (statistic.rate - 1) / price


def row_price(hop: Hop, prices: Prices, costs: Costs) -> float:
    """Price one input: seconds, or one call.

    The rank is (outputs per input - 1) / cost of an input. With `costs` "unit" every operator costs the same, as in
    experiments that count routing calls.

    >>> row_price(Hop("f"), Prices(), "unit")
    1.0
    """
    return 1.0 if costs == "unit" else max(prices[hop].row, INSTANT)


def step_price(hops: Sequence[Hop], prices: Prices, costs: Costs) -> float:
    """Price one step more, whatever its rows: the operator's call, and what the router does itself.

    >>> step_price([Hop("f")], Prices(), "unit")
    0.0
    """
    if costs == "unit" or not hops:
        return 0.0
    # Legs that share no step yet are believed to cost the router what one leg does.
    own = max(prices[SHARED].step, prices[ALONE].step)
    return own + sum(prices[hop].step for hop in hops) / len(hops)


def greedy_route(task: Task, ready: tuple[Hop, ...], rank: Callable[[Hop], float]) -> tuple[Hop, ...]:
    """Build a whole route by rank.

    Of the hops that are ready by then the one of the lowest rank comes next, the first of equals.
    """
    route = [min(ready, key=rank)]
    if task.independent:
        # All that are left may come in any order, so each is ranked once.
        return (*route, *sorted(task.after(route), key=rank))
    while ready := task.after(route):
        route.append(min(ready, key=rank))
    return tuple(route)


def find_reachable(task: Task, operators: Sequence[str]) -> tuple[str, ...]:
    """Find the operators that some route comes to.

    They are in the order of the query.
    """
    reached = {hop.operator for hop in greedy_route(task, task.after(()), lambda _: 0.0)}
    return tuple(name for name in operators if name in reached)
