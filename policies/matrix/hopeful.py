"""Orders that are worth a try: greedy, and hopeful where little is known.

Profile rows are dear, and few of them say no more than that two operators are about alike. Rows that take an order say
for nothing what each operator does at its place. So where an operator may be better than the one at a place, though
nobody is sure, it is put there, and soon it is known: it stays, or the former comes back. Whoever is known well has no
more to hope for.

This goes beyond the thesis, whose A-Greedy knows operators by profile rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eddy.policies.matrix.order import Problem
from eddy.policies.matrix.watch import Place
from eddy.policies.shared.legality import HopNumbers, bits
from eddy.tuples.arrays import Floats

HOPE = 1.5
"""Standard errors by which an operator may be better than what is known of it."""

LEAST_HOPE = 0.003
"""What a try must promise, as a share of a row's cost: orders that are about alike are left as they are."""

Recall = Callable[[Place], Sequence[float]]
"""Gives rows, tuples out and squares of an operator behind a set of others, as rows of the stream have shown."""


def find_hopeful(problem: Problem, order: HopNumbers, recall: Recall, row: float) -> HopNumbers:
    """Give the order to take next, where a row costs so much in the present one; perhaps the same."""
    found: HopNumbers = ()
    left = np.ones(len(problem.outcomes))
    squares = problem.outcomes**2
    while ready := problem.legality.find_ready(found):
        numbers = list(ready)
        place, before = len(found), bits(found)
        own = np.stack(
            (np.full(len(numbers), left.sum()), left @ problem.outcomes[:, numbers], left @ squares[:, numbers])
        )
        ranks, hopes = _rank(own + np.array([recall((before, number)) for number in numbers]).T, problem.costs[numbers])
        chosen = numbers[int(ranks.argmax())]
        if before == bits(order[:place]):
            present = numbers.index(order[place])
            costs = problem.costs[numbers]
            # Two that change places save as much of each row that is left, or more where others are between them.
            saved = left.mean() * costs * costs[present] * (hopes - ranks[present])
            saved[present] = 0.0
            chosen = numbers[int(hopes.argmax())] if saved[int(hopes.argmax())] > LEAST_HOPE * row else order[place]
        found = (*found, chosen)
        left = left * problem.outcomes[:, chosen]
    return found


def _rank(counts: Floats, costs: Floats) -> tuple[Floats, Floats]:
    """Rank operators by what they drop for their cost: as far as is known, and at best."""
    rows, out, squares = counts
    mean = (out + 0.5) / (rows + 1.0)
    spread = np.maximum(squares / np.maximum(rows, 1.0) - mean**2, 0.25 / (rows + 1.0))
    hope = np.minimum(1 - mean + HOPE * np.sqrt(spread / (rows + 1.0)), 1.0)
    return (1 - mean) / costs, hope / costs
