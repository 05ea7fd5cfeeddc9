"""Examples of chapter 4 of the thesis, and its upkeep of the matrix view row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.policies.matrix.order import Problem
from eddy.tuples.arrays import Floats
from tests.policies.query_mesh.worlds import legality

TABLES = ({1, 2, 4, 6}, {1, 2, 3, 7}, {1, 5, 6, 7}, {1, 2, 7, 8})
"""What passes each of the four filters: as figure 4.3 has it, and for 3 and 6 so that example 4.3.3 comes out."""

ARRIVE = (1, 2, 1, 4, 7, 2, 5, 4)
"""What arrives in figure 4.2."""


def pass_rows(values: Sequence[int], tables: Sequence[set[int]] = TABLES) -> Floats:
    """A row for each value, a column for each filter: 1 where it passes."""
    return np.array([[float(value in table) for table in tables] for value in values])


def problem(outcomes: Floats, costs: Sequence[float] | None = None) -> Problem:
    """Filters in any order, which cost the same."""
    operators = outcomes.shape[1]
    return Problem.of(outcomes, np.ones(operators) if costs is None else np.array(costs), legality(operators))


def update_view(view: Floats, dropped: Sequence[float], order: Sequence[int], sign: int = 1) -> None:
    """Figure 4.5: count a profile row in, or with a sign of -1 out."""
    bits = [dropped[operator] for operator in order]
    if not any(bits):
        return
    first = bits.index(1)
    for column in range(first, len(order)):
        if bits[column]:
            view[: first + 1, column] += sign
