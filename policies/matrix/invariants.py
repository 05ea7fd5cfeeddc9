"""The invariants of A-Greedy and its variants, as one table.

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
"""Which entries (i, j) of V are held against (i, i): of so many operators, while the one at a place is profiled."""

Aside = Callable[[int, int, int], range]
"""Places whose operators see what is dropped: at a place, of so many, while the one at a third place is profiled."""


class Invariant(NamedTuple):
    """What a variant promises of its order, and how it knows.

    `by_first_row` says that it takes operators for independent of each other. With `has_stages` one operator is
    profiled at a time. `keeps_rows` says that a profile row is of use for other orders too.
    """

    compared: Compared
    aside: Aside
    mend: str
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


INVARIANTS: Mapping[str, Invariant] = {
    "a_greedy": Invariant(_all_later, lambda place, operators, _: range(place + 1, operators), "greedy"),
    "sweep": Invariant(
        _column,
        lambda place, _, stage: range(max(stage, place + 1), stage + 1),
        "move",
        has_stages=True,
        keeps_rows=False,
    ),
    "independent": Invariant(
        _all_later, lambda place, operators, _: range(place + 1, operators), "greedy", by_first_row=True
    ),
    "local_swaps": Invariant(
        _next_diagonal,
        lambda place, operators, _: range(place + 1, min(place + 2, operators)),
        "swap",
        keeps_rows=False,
    ),
}
