"""Rows, each with an estimate of every operator, to legs with the best order for each.

`content` and `knows` differ in where their estimates come from; what follows from them is the same, and is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.contracts import Classes, Leg, Task
from eddy.divider import Buckets
from eddy.lineage import Hop

Floats = np.ndarray[Any, np.dtype[np.float64]]
Integers = np.ndarray[Any, np.dtype[np.int64]]

TAIL = 0.02
"""Of a tuple that is this unlikely to get so far, the further order is the common one: it can cost or save no more than
this share of a call, and every order of its own is a leg of its own."""

WORTH = 0.01
"""An order of its own must promise to cost so much less than the common one; below that it is noise."""


def best_orders(rates: Floats, costs: Floats, common: Integers) -> Integers:
    """For each row the order of the operators, by estimated outputs per input.

    `rates` has a row for each tuple and a column for each operator; `costs` is one number for each operator, and
    `common` is the order that is best for all rows together.
    """
    order = np.argsort((rates - 1) / costs, axis=1, kind="stable")
    reach = _reach(np.take_along_axis(rates, order, axis=1))
    rank = np.empty(len(common), np.int64)
    rank[common] = np.arange(len(common))
    late = reach < TAIL
    place = np.where(late, len(common) + rank[order], np.arange(len(common)))
    order = np.take_along_axis(order, np.argsort(place, axis=1, kind="stable"), axis=1)
    own = (_reach(np.take_along_axis(rates, order, axis=1)) * costs[order]).sum(axis=1)
    shared = (_reach(rates[:, common]) * costs[common]).sum(axis=1)
    order[own > shared * (1 - WORTH)] = common
    return order


def classes(buckets: Buckets) -> tuple[Integers, Integers]:
    """The first row of each class, which has the same buckets throughout, and the class of every row."""
    code = first = np.zeros(len(buckets), np.int64)
    for column in buckets.T:
        _, first, code = np.unique(code * 256 + column, return_index=True, return_inverse=True)
    return (first if buckets.shape[1] else first[:1]), code


def legs(
    orders: Integers,
    which: Integers,
    rows: Integers,
    hops: Sequence[Hop],
    attributes: Sequence[int],
    examples: Buckets,
) -> list[Leg]:
    """One leg for each order that some class takes.

    `orders` and `examples`, the buckets of the attributes, have a row for each class; `which` is the class of each of
    the `rows`.
    """
    numbers: dict[tuple[int, ...], list[int]] = {}
    for number, order in enumerate(map(tuple, orders.tolist())):
        numbers.setdefault(order, []).append(number)
    lot = np.empty(len(orders), np.int64)
    for place, members in enumerate(numbers.values()):
        lot[members] = place
    taken = lot[which]
    sizes = list(zip(examples.tolist(), np.bincount(which, minlength=len(orders)).tolist(), strict=True))
    return [
        Leg(
            route=tuple(hops[i] for i in order),
            rows=rows[taken == place],
            classes=Classes(attributes, [sizes[member] for member in members]),
        )
        for place, (order, members) in enumerate(numbers.items())
    ]


def are_independent(task: Task, ready: tuple[Hop, ...]) -> bool:
    """Does nothing but the ready hops remain, in any order: then a whole route can be planned at once."""
    return all(set(task.after((hop,))) == set(ready) - {hop} for hop in ready)


def _reach(rates: Floats) -> Floats:
    """How much of a tuple reaches each place of its order."""
    reach: Floats = np.ones_like(rates)
    np.cumprod(rates[:, :-1], axis=1, out=reach[:, 1:])
    return reach
