"""The matrix view: what each operator would drop at each place of an order.

Section 4.3.2 of the thesis keeps it up row by row (figure 4.5). Here it is one product for each round: rows come in
bursts, and the order of a burst does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.tuples.arrays import Floats


def fill(outcomes: Floats) -> Floats:
    """Put what an operator makes of a row on average in the place of what is unseen.

    Where another operator has dropped the row, nothing depends on it. An operator that has seen nothing passes all.

    >>> fill(np.array([[1.0, 0.0], [np.nan, 1.0], [0.0, np.nan]]))
    array([[1. , 0. ],
           [0.5, 1. ],
           [0. , 0.5]])
    """
    unseen = np.isnan(outcomes)
    if not unseen.any():
        return outcomes
    seen = (~unseen).sum(axis=0)
    means = np.where(seen, np.nansum(outcomes, axis=0) / np.maximum(seen, 1), 1.0)
    return np.where(unseen, means, outcomes)


def find_left(outcomes: Floats, order: Sequence[int]) -> Floats:
    """Count what is left of each row before each place of an order.

    >>> find_left(np.array([[1.0, 0.0, 1.0], [3.0, 1.0, 0.0]]), [0, 1, 2])
    array([[1., 1., 0.],
           [1., 3., 3.]])
    """
    left = np.ones((len(outcomes), len(order)))
    left[:, 1:] = outcomes[:, list(order[:-1])].cumprod(axis=1)
    return left


def matrix_view(outcomes: Floats, order: Sequence[int]) -> Floats:
    """Compute V: row i has what the operator of each column drops of what is left before place i.

    Columns are in the order of the route, as rows are. Left of the diagonal there is nothing. A probe drops less than
    nothing where it finds more than one match.

    >>> matrix_view(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), [1, 0])
    array([[2., 1.],
           [0., 0.]])
    """
    left = find_left(outcomes, order)
    found: Floats = np.triu(left.T @ (1 - outcomes[:, list(order)]))
    return found
