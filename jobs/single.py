"""The best single order for a mixture of classes: what a static plan can reach."""

from __future__ import annotations

from jobs.selectivities import Matrix

MOST = 12
"""Operators up to which all sets of them are looked at: 4,096. With more nobody knows the best order."""


def best_order(values: Matrix, weights: Matrix) -> list[int] | None:
    """The order that needs the fewest routing calls when all classes take it; `weights` are the shares of the classes.

    What is left after some operators depends on which they were and not on their order, so the cheapest way to each set
    of them is found from those to smaller sets.

    >>> import numpy as np
    >>> best_order(np.array([[0.9, 0.1, 0.5], [0.9, 0.2, 0.5]]), np.array([0.5, 0.5]))
    [1, 2, 0]
    """
    operators = values.shape[1]
    if operators > MOST:
        return None
    ways: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for done in range(1 << operators):
        calls, order = ways[done]
        reached = float(weights @ values[:, order].prod(axis=1))
        for operator in range(operators):
            there = done | 1 << operator
            if there != done and (there not in ways or calls + reached < ways[there][0]):
                ways[there] = (calls + reached, [*order, operator])
    return ways[(1 << operators) - 1][1]


def calls_of(order: list[int], values: Matrix, weights: Matrix) -> float:
    """Routing calls per tuple when all classes take one order.

    >>> import numpy as np
    >>> round(calls_of([1, 0], np.array([[0.5, 0.1], [0.2, 1.0]]), np.array([0.5, 0.5])), 9)
    1.55
    """
    left = values[:, order[:-1]].cumprod(axis=1).sum(axis=1)
    return float(weights @ (1 + left))
