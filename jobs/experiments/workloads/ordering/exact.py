"""The exact best order, by exhaustive search on the data.

What is left after some operators depends on which they were and not on their order, however they depend on each other.
So the cheapest way to each set of them is found from those to smaller sets, and it is found among all orders.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.tuples.arrays import Floats, Integers, Mask

MOST_OPERATORS = 12
"""Operators up to which all sets of them are looked at: 4,096. With more nobody knows the best order."""


def find_cheapest(left: Floats, costs: Floats) -> list[int]:
    """Find the order that costs least a tuple.

    `left` is what is left of a tuple after each set of operators, the set's bits being its place.

    >>> find_cheapest(np.array([1, 0.9, 0.1, 0.09]), np.array([1.0, 1.0]))
    [1, 0]
    """
    ways: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for done in range(len(left)):
        cost, order = ways[done]
        for operator, own in enumerate(costs.tolist()):
            there, reached = done | 1 << operator, cost + float(left[done]) * own
            if there != done and (there not in ways or reached < ways[there][0]):
                ways[there] = (reached, [*order, operator])
    return ways[len(left) - 1][1]


def share_left(passed: Mask) -> Floats:
    """Find the share of the rows that pass all of a set, for each set of operators.

    >>> share_left(np.array([[True, False], [True, True]]))
    array([1. , 1. , 0.5, 0.5])
    """
    operators = passed.shape[1]
    patterns = passed @ (1 << np.arange(operators))
    left = np.bincount(patterns, minlength=1 << operators).reshape((2,) * operators) / max(len(passed), 1)
    for axis in range(operators):  # who passes more than a set passes the set
        left = np.flip(np.flip(left, axis).cumsum(axis), axis)
    return left.ravel()


def best_on_data(passed: Mask, costs: Floats, fan_out: Floats | Integers | None = None) -> list[int] | None:
    """Find the best order of operators on some rows.

    A row that passes a join gives `fan_out` tuples, one where there is none. None where there are too many operators.
    """
    operators = passed.shape[1]
    if operators > MOST_OPERATORS:
        return None
    sets = np.arange(1 << operators)[:, None] >> np.arange(operators) & 1
    many = np.ones(len(sets)) if fan_out is None else np.where(sets, fan_out, 1.0).prod(axis=1)
    return find_cheapest(share_left(passed) * many, costs)


def name_order(names: Sequence[str], order: Sequence[int] | None) -> list[str] | None:
    """Name the operators of an order, if it is known."""
    return None if order is None else [names[number] for number in order]


def cost_by_row(passed: Mask, order: Sequence[int], costs: Floats, fan_out: Floats | Integers | None = None) -> Floats:
    """Work out what each row costs in an order.

    >>> cost_by_row(np.array([[True, False], [False, True]]), [1, 0], np.array([1.0, 10.0]))
    array([10., 11.])
    """
    made = passed * (1.0 if fan_out is None else fan_out)
    alive = np.cumprod(made[:, list(order)[:-1]], axis=1).reshape(len(passed), -1)
    spent: Floats = costs[order[0]] + alive @ costs[list(order)[1:]]
    return spent


def best_course(passed: Mask, costs: Floats, begins: Sequence[int]) -> Floats | None:
    """Work out what each row costs in the order that is best at its time.

    The best order changes at the rows in `begins`, the first of which is 0.
    """
    if passed.shape[1] > MOST_OPERATORS:
        return None
    parts = [passed[begin:end] for begin, end in zip(begins, [*begins[1:], len(passed)], strict=True)]
    return np.concatenate([cost_by_row(part, find_cheapest(share_left(part), costs), costs) for part in parts])
