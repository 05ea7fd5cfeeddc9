"""Finding and mending what violates an invariant: figures 4.6 and 4.7 of the thesis.

It is a function from profile rows, costs and what is legal to an order, and knows nothing else: whoever has such rows,
of all tuples or of one class, may ask it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eddy.policies.matrix.invariants import INVARIANTS, Invariant
from eddy.policies.matrix.view import fill, matrix_view
from eddy.policies.shared.best_route import MOST_EXACT_OPERATORS, Exact, reach
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.orders import price_orders
from eddy.tuples.arrays import Floats, Mask

SEARCHES = ("greedy", "exact")

BLOCKS = 10
"""Parts of a window by which it is seen how far an estimate that is no mean is chance."""


@dataclass(frozen=True)
class Problem:
    """Profile rows with what operators made of each, without gaps; what a row costs; what may come when."""

    outcomes: Floats
    costs: Floats
    legality: Legality

    @staticmethod
    def of(outcomes: Floats, costs: Floats, legality: Legality) -> Problem:
        """Fill in what is unseen."""
        return Problem(fill(outcomes), costs, legality)


class Saving(NamedTuple):
    """What a row costs in the present order, what another order saves of it, and the standard error of that."""

    cost: float
    saved: float
    error: float


class Violation(NamedTuple):
    """The operator at `later` belongs to `place`."""

    place: int
    later: int


def find_violation(
    problem: Problem, order: HopNumbers, compared: Mask, alpha: float, *, by_first_row: bool = False
) -> Violation | None:
    """Find the first place whose operator drops less for its cost than a later one would (figure 4.6).

    `alpha` is how much less is allowed, to avoid thrashing (equation 4.4). Of several later operators it is the one
    that drops most.
    """
    costs = problem.costs[list(order)]
    ranks = matrix_view(problem.outcomes, order) / costs
    if by_first_row:
        ranks = np.broadcast_to(ranks[0], ranks.shape)
    # own < alpha x other, where both drop something; as far below it where a probe's finds are more than its rows.
    worse = compared & (ranks - ranks.diagonal()[:, None] > (1 - alpha) * np.abs(ranks)) & _find_ready(problem, order)
    if not worse.any():
        return None
    place = int(worse.any(axis=1).argmax())
    return Violation(place, int(np.where(worse[place], ranks[place], -np.inf).argmax()))


def _find_ready(problem: Problem, order: HopNumbers) -> Mask:
    """Tell for each place which of the later operators could stand there."""
    ready = np.zeros((len(order), len(order)), np.bool_)
    for place in range(len(order)):
        legal = problem.legality.find_ready(order[:place])
        ready[place, place:] = [number in legal for number in order[place:]]
    return ready


def mend(problem: Problem, order: HopNumbers, found: Violation, invariant: Invariant) -> HopNumbers:
    """Give the order in which that place is right."""
    place, later = found
    if invariant.mends_greedily:
        return mend_greedily(problem, order, place, by_first_row=invariant.by_first_row)
    return (*order[:place], order[later], *order[place:later], *order[later + 1 :])


def mend_greedily(problem: Problem, order: HopNumbers, place: int, *, by_first_row: bool = False) -> HopNumbers:
    """Take the best of all later operators at a place, and at those that this may have changed (figure 4.7).

    The figure has two operators change places. Here the others keep their order, as in its example 4.3.3: where they
    are alike, none is moved for nothing.
    """
    found = list(order)
    left = np.ones(len(problem.outcomes))
    drops = 1 - problem.outcomes
    if not by_first_row:
        left = left * problem.outcomes[:, found[:place]].prod(axis=1)
    last = place
    # Operators at `place` and before are right, those behind `last` as well: the same are done before them as ever.
    while place <= last:
        ready = set(problem.legality.find_ready(found[:place]))
        ranks = left @ drops[:, found[place:]] / problem.costs[found[place:]]
        ranks[[number not in ready for number in found[place:]]] = -np.inf
        best = place + int(ranks.argmax())
        last = max(last, best)
        found.insert(place, found.pop(best))
        if not by_first_row:
            left = left * problem.outcomes[:, found[place]]
        place += 1
    return tuple(found)


def find_exact(problem: Problem) -> HopNumbers:
    """Find the cheapest of all legal orders; for that an operator must have seen all rows."""
    exact = Exact(reach(problem.outcomes).sum(axis=0, keepdims=True), problem.costs, problem.legality)
    return exact.routes(np.ones((1, 1)))[0]


def find_order(
    problem: Problem,
    order: HopNumbers,
    variant: str = "a_greedy",
    *,
    stage: int = 0,
    alpha: float = 0.9,
    search: str = "greedy",
) -> HopNumbers:
    """Give the order that a variant would take next; the present one, if nothing violates its invariant."""
    invariant = INVARIANTS[variant]
    if search == "exact" and len(order) <= MOST_EXACT_OPERATORS:
        return find_exact(problem)
    compared = invariant.compared(len(order), stage)
    found = find_violation(problem, order, compared, alpha, by_first_row=invariant.by_first_row)
    while found is not None and (mended := mend(problem, order, found, invariant)) != order:
        order = mended
        # Figure 4.7 is for one violation; a whole burst of rows, or another price, may make several. What rows say of
        # other orders than the present one, only those tell that all operators have seen.
        if not invariant.keeps_rows:
            break
        # A change that comes anyway is made well: `alpha` is there to avoid changes.
        found = find_violation(problem, order, compared, 1.0, by_first_row=invariant.by_first_row)
    return order


def compare_orders(problem: Problem, order: HopNumbers, other: HopNumbers, *, by_first_row: bool = False) -> Saving:
    """Estimate what another order would save of a row."""
    if by_first_row:
        return _compare_independent(problem, order, other)
    now, then = price_orders(problem.outcomes, problem.costs, np.array([order, other]))
    saved = now - then
    rows = max(len(saved), 1)
    mean = float(saved.sum()) / rows
    error = float(((saved - mean) ** 2).sum()) ** 0.5 / rows
    return Saving(float(now.sum()) / rows, mean, error)


def _compare_independent(problem: Problem, order: HopNumbers, other: HopNumbers) -> Saving:
    """Estimate it as if no operator depended on another."""

    def price(outcomes: Floats) -> Floats:
        return price_orders(outcomes.mean(axis=0)[None], problem.costs, np.array([order, other]))[:, 0]

    now, then = price(problem.outcomes)
    blocks = [problem.outcomes[first::BLOCKS] for first in range(min(BLOCKS, len(problem.outcomes)))]
    parts = [float(np.subtract(*price(block))) for block in blocks]
    return Saving(float(now), float(now - then), float(np.std(parts)) / max(len(parts), 1) ** 0.5)


def is_better(saving: Saving, *, least: float, sure: float) -> bool:
    """Tell whether an order saves enough, and more than noise would."""
    return saving.saved > max(least * saving.cost, sure * saving.error)
