"""The invariants of A-Greedy and its variants, as one table.

Sections and figures are those of Babu's thesis.

| variant | entries of V that are compared (figure 4.9) | who else sees a dropped tuple | how a violation is mended |
| --- | --- | --- | --- |
| A-Greedy (4.3) | the whole triangle | all later operators | figure 4.7 |
| Sweep (4.4) | column j, in stages, with the diagonal | the operator at place j | it moves to the violated place |
| Independent (4.5) | the first row alone | all later operators | figure 4.7, by the first row |
| LocalSwaps (4.6) | two diagonals | the next operator | the two change places |

The thesis profiles with p = 0.01, and Independent with p = 0.005.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from eddy.tuples.arrays import Mask

Compared = Callable[[int, int], Mask]
"""Masks the entries (i, j) of V that are held against (i, i), by the number of operators and the stage."""

Aside = Callable[[int, int, int], range]
"""Gives the places whose operators see what is dropped at a place: by that one, the number of operators, the stage."""


class Invariant(NamedTuple):
    """What a variant promises of its order, and how it knows.

    A violated place is mended greedily, from there on, or the later operator moves there: two neighbours change places
    then. `by_first_row` says that it takes operators for independent of each other. With `has_stages` one operator is
    profiled at a time: a stage is the place where that one stands. `keeps_rows` says that a profile row is of use for
    other orders too.
    """

    compared: Compared
    aside: Aside
    mends_greedily: bool = False
    by_first_row: bool = False
    has_stages: bool = False
    keeps_rows: bool = True


def _all_later(operators: int, _stage: int) -> Mask:
    return np.triu(np.ones((operators, operators), np.bool_), 1)


def _column(operators: int, stage: int) -> Mask:
    compared = np.zeros((operators, operators), np.bool_)
    compared[:stage, stage] = True
    return compared


def _next_diagonal(operators: int, _stage: int) -> Mask:
    return np.eye(operators, k=1, dtype=np.bool_)


def _show_all_later(place: int, operators: int, _stage: int) -> range:
    return range(place + 1, operators)


def _show_stage(place: int, _operators: int, stage: int) -> range:
    return range(max(stage, place + 1), stage + 1)


def _show_next(place: int, operators: int, _stage: int) -> range:
    return range(place + 1, min(place + 2, operators))


INVARIANTS: Mapping[str, Invariant] = {
    "a_greedy": Invariant(_all_later, _show_all_later, mends_greedily=True),
    "sweep": Invariant(_column, _show_stage, has_stages=True, keeps_rows=False),
    "independent": Invariant(_all_later, _show_all_later, mends_greedily=True, by_first_row=True),
    "local_swaps": Invariant(_next_diagonal, _show_next, keeps_rows=False),
}
