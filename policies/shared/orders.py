"""The best order for each class of rows, and its legs.

Policies differ in where their estimates of the operators come from (`content` learns them, `knows` has the true ones);
the orders follow from them in the same way. More orders than pay are not made: each is a leg of its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Classes, Leg
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

SMALLEST_REACH = 0.02
"""Once a tuple is this unlikely to get further, the rest of its order is the common one: another would save less than
this share of a call, and costs a leg."""

LEAST_SAVING = 0.01
"""An order of its own must promise to cost so much less than the common one; below that it is noise."""

MOST_ORDERS = 16
"""Orders at a time, besides the common one: each is a leg, and what the next one saves is less and less."""

MOST_CLASSES = 512
"""Classes that are told apart at most: each costs some ten microseconds, and where every operator goes by an attribute
of its own, soon every row would be a class."""

COUNTED_CLASSES = 64
"""Classes up to which counting their codes is quicker than sorting the rows."""

STEPS_PER_ORDER = 3
"""Steps that an order of its own adds, more or less: the later ones it shares with others."""


def best_orders(rates: Floats, costs: Floats, common: Integers, rows: Integers, price: float = 0.0) -> Integers:
    """Find the best order of operators for each class.

    It follows from estimated outputs per input. `rates` has a row for each class and a column for each operator;
    `costs` is one number for each operator, `common` is the order that is best for all rows together, `rows` are those
    of each class in the round, and `price` is that of a step, in the unit of the costs.
    """
    own = _order_by_merit(rates, costs, common, rows, price)
    shared = expected_costs(rates, costs, np.broadcast_to(common, own.shape))
    saved = (shared - expected_costs(rates, costs, own)) * rows
    own[saved <= LEAST_SAVING * shared * rows] = common
    return _keep_paying(own, saved, rates, costs, common, STEPS_PER_ORDER * price)


def classes(buckets: Buckets, most: int | None = None) -> tuple[Buckets, Integers]:
    """Number the classes of rows, and give their buckets.

    All rows of a class have the same buckets. With more than `most` classes, they go by as many of the first
    attributes as make no more.

    >>> classes(np.array([[3, 0], [1, 0], [3, 0]], np.uint8))[0].tolist()
    [[1, 0], [3, 0]]
    """
    examples = np.empty((1, 0), np.uint8)
    which = np.zeros(len(buckets), np.int64)
    for column in buckets.T:
        # A bucket is one byte, so a class and the next bucket make one code, which later comes apart again by `>> 8`.
        codes = which * 256 + column
        present = np.flatnonzero(np.bincount(codes)) if len(examples) < COUNTED_CLASSES else np.unique(codes)
        if most is not None and len(present) > most:
            break
        which = np.searchsorted(present, codes)
        examples = np.column_stack((examples[present >> 8], present.astype(np.uint8)))
    return examples, which


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
    numbers: dict[tuple[int, ...], int] = {}
    lot = np.array([numbers.setdefault(order, len(numbers)) for order in map(tuple, orders.tolist())])
    routes = [tuple(hops[i] for i in order) for order in numbers]
    return [
        Leg(route=routes[number], rows=part, classes=told)
        for number, part, told in lots(lot, which, rows, attributes, examples)
    ]


def lots(
    lot: Integers, which: Integers, rows: Integers, attributes: Sequence[int], examples: Buckets
) -> Iterator[tuple[int, Integers, Classes]]:
    """Give the rows of each lot, and the classes in it.

    The lot of each class is given. `which` is the class of each of the `rows`, `examples` has the buckets of each
    class. Lots of no class are left out.
    """
    sizes = list(zip(examples.tolist(), np.bincount(which, minlength=len(lot)).tolist(), strict=True))
    taken = lot[which]
    ends = np.bincount(taken, minlength=int(lot.max()) + 1).cumsum()
    for number, part in enumerate(np.split(rows[np.argsort(taken, kind="stable")], ends[:-1])):
        members = np.flatnonzero(lot == number).tolist()
        if members:
            yield number, part, Classes(attributes, [sizes[member] for member in members])


def expected_costs(rates: Floats, costs: Floats, orders: Integers) -> Floats:
    """Estimate the cost of a tuple of each class in its order.

    >>> expected_costs(np.array([[0.5, 1.0]]), np.array([2.0, 3.0]), np.array([[0, 1]]))
    array([3.5])
    """
    spent: Floats = (_reach(np.take_along_axis(rates, orders, axis=1)) * costs[orders]).sum(axis=1)
    return spent


def _order_by_merit(rates: Floats, costs: Floats, common: Integers, rows: Integers, price: float) -> Integers:
    """Order operators by merit for each class.

    Late places, which hardly any tuple reaches, follow the common order.
    """
    order = np.argsort((rates - 1) / costs, axis=1, kind="stable")
    reach = _reach(np.take_along_axis(rates, order, axis=1))
    # A place is late if few tuples come that far, or if all that do cost less there than the step itself.
    late = (reach < SMALLEST_REACH) | (reach * rows[:, None] * costs[order] < price)
    rank = np.empty(len(common), np.int64)
    rank[common] = np.arange(len(common))
    # Late operators are put behind all others, among themselves in the common order.
    place = np.where(late, len(common) + rank[order], np.arange(len(common)))
    return np.take_along_axis(order, np.argsort(place, axis=1, kind="stable"), axis=1)


def _keep_paying(
    own: Integers, saved: Floats, rates: Floats, costs: Floats, common: Integers, price: float
) -> Integers:
    """Keep only the orders that pay.

    A class whose order is given up takes the cheapest of those that are left.
    """
    # Four classes and three operators, where `price` is 2; the common order is 0 1 2:
    #
    #     own    012 201 012 102    by class: its order
    #     which    0   1   0   2    by class: the number of its order; 0 is the common one
    #     worth    0   9   1        by order: what all its classes save by it
    #     kept     T   T   F        by order: whether it pays; the common one always stays
    #     lost     3                classes without an order
    #     left   012 201            the orders that they may take
    #
    # `prices` then has a line for each order that is left: what each lost class would pay in it.
    numbers: dict[tuple[int, ...], int] = {tuple(common.tolist()): 0}
    which = np.array([numbers.setdefault(order, len(numbers)) for order in map(tuple, own.tolist())])
    worth = np.bincount(which, saved, len(numbers))
    heaviest = np.argsort(-worth, kind="stable")[:MOST_ORDERS]
    kept = np.zeros(len(numbers), np.bool_)
    kept[heaviest[worth[heaviest] > price]] = True
    kept[0] = True
    lost = np.flatnonzero(~kept[which])
    if len(lost):
        left = np.array([*itertools.compress(numbers, kept)])
        prices = [
            expected_costs(rates[lost], costs, np.broadcast_to(order, (len(lost), len(common)))) for order in left
        ]
        own[lost] = left[np.argmin(prices, axis=0)]
    return own


def _reach(rates: Floats) -> Floats:
    """The share of a tuple that reaches each place of its order."""
    reach: Floats = np.ones_like(rates)
    np.cumprod(rates[:, :-1], axis=1, out=reach[:, 1:])
    return reach
