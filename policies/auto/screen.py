"""The screen: what a sample through all operators says there is to gain.

Each row of the sample has met every operator, so what any order would have cost it is known. One half of the rows finds
orders, the other half says what they cost: an order promises too much for the rows that it was fitted to.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.shared.orders import price_own, sort_by_merit
from eddy.tuples.arrays import Floats, Integers

WEIGHT_OF_WHOLE = 5.0
"""A class leans on all rows as if it had seen so many of them: few rows say little."""


BUCKETS = 256
"""A bucket is one byte."""


class Found(NamedTuple):
    """What rows cost in the written order, and in others.

    `single` is the best order for all rows, `classes` that of each class by the one attribute that tells most, `floor`
    what no policy can go below: each row meets the cheapest operator that drops it first. `error` is the standard error
    of what `classes` or `single` save.
    """

    written: float
    single: float
    classes: float
    floor: float
    error: float


def screen(outcomes: Floats, buckets: Buckets, costs: Floats, chance: np.random.Generator, least: float = 0.0) -> Found:
    """Price orders on a sample; operators stand in the written order, `outcomes` has a column for each.

    Classes are looked at only if something is left to be saved beside the best single order: `least` for each row.
    """
    finding = chance.permutation(len(outcomes)) < len(outcomes) // 2
    written = np.arange(outcomes.shape[1])
    single = order_greedily(outcomes[finding], costs)
    held = outcomes[~finding]
    base = price_own(held, costs, written)
    alone = price_own(held, costs, single)
    told = alone
    floor = find_floor(outcomes, costs)
    orders = None
    if float(alone.mean()) - floor > least:
        orders = _order_classes(outcomes[finding], buckets[finding], costs, single)
    if orders is not None:
        attribute, by_bucket = orders
        told = price_own(held, costs, by_bucket[buckets[~finding][:, attribute]])
    best = min((alone, told), key=lambda spent: float(spent.mean()))
    error = float((base - best).std() / np.sqrt(max(len(held), 1)))
    return Found(float(base.mean()), float(alone.mean()), float(told.mean()), floor, error)


def order_greedily(outcomes: Floats, costs: Floats) -> Integers:
    """The order that drops most for its price at every step, among the rows that are left (Static Greedy, 4.3)."""
    left, order = np.ones(len(outcomes)), []
    free = list(range(outcomes.shape[1]))
    while free:
        weight = max(float(left.sum()), 1e-9)
        merits = [((left * outcomes[:, i]).sum() / weight - 1) / costs[i] for i in free]
        order.append(free.pop(int(np.argmin(merits))))
        left = left * outcomes[:, order[-1]]
    return np.array(order)


def find_floor(outcomes: Floats, costs: Floats) -> float:
    """What a row costs at least, on average: the cheapest operator that drops it, or all of them."""
    drops = outcomes == 0
    cheapest = np.where(drops, costs, np.inf).min(axis=1)
    return float(np.where(drops.any(axis=1), cheapest, costs.sum()).mean())


def _order_classes(outcomes: Floats, buckets: Buckets, costs: Floats, single: Integers) -> tuple[int, Integers] | None:
    """The attribute whose classes save most, and the order of each of its buckets."""
    whole = outcomes.mean(axis=0)
    best: tuple[float, int, Integers] | None = None
    for attribute, column in enumerate(buckets.T):
        rows = np.bincount(column, minlength=BUCKETS).astype(np.float64)
        present = np.flatnonzero(rows)
        if len(present) < 2:
            continue
        sums = np.stack([np.bincount(column, made, BUCKETS) for made in outcomes.T], axis=1)[present]
        rates = (sums + WEIGHT_OF_WHOLE * whole) / (rows[present] + WEIGHT_OF_WHOLE)[:, None]
        orders = sort_by_merit(rates, costs)
        spent = float((price_own(rates, costs, orders) * rows[present]).sum())
        if best is None or spent < best[0]:
            by_bucket = np.broadcast_to(single, (BUCKETS, len(single))).copy()
            by_bucket[present] = orders
            best = spent, attribute, by_bucket
    return None if best is None else best[1:]
