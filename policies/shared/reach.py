"""What is left of rows once operators have acted on them, and what that takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.tuples.arrays import Floats


def reach(outcomes: Floats) -> Floats:
    """Count the tuples left of each row after each operator set.

    It is the product of what the operators make of the row. For filters that is 1 where all of them pass, for probes
    what they return together.

    >>> reach(np.array([[1.0, 0.0], [1.0, 3.0]]))
    array([[1., 1., 0., 0.], [1., 1., 3., 3.]])
    """
    rows, operators = outcomes.shape
    left = np.ones((rows, 1 << operators))
    for number in range(operators):
        half = 1 << number
        np.multiply(left[:, :half], outcomes[:, number : number + 1], out=left[:, half : 2 * half])
    return left


def row_costs(outcomes: Floats, costs: Floats, routes: Sequence[Sequence[int]]) -> Floats:
    """The seconds that each row takes on each route.

    `costs` are those of all rows, or have a row for each of them.

    >>> row_costs(np.array([[1.0, 0.0]]), np.array([2.0, 3.0]), [(0, 1), (1, 0)])
    array([[5., 3.]])
    """
    seconds = np.zeros((len(outcomes), len(routes)))
    for number, route in enumerate(routes):
        left = np.ones(len(outcomes))
        for operator in route:
            seconds[:, number] += left * costs[..., operator]
            left = left * outcomes[:, operator]
    return seconds
