"""The best order for each class of rows.

Policies differ in where their estimates of the operators come from (`content` learns them, `knows` has the true ones);
the orders follow from them in the same way. More orders than pay are not made: each is a leg of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Classes
from eddy.tuples.arrays import Floats, Integers, Mask

Weights = Integers | Floats

SMALLEST_REACH = 0.02
"""Once a tuple is this unlikely to get further, the rest of its order is the common one: another would save less than
this share of a call, and costs a leg."""

LEAST_SAVING = 0.01
"""An order of its own must promise to cost so much less than the common one; below that it is noise."""

MOST_ORDERS = 16
"""Orders at a time, besides the common one: each is a leg, and what the next one saves is less and less."""

MOST_CANDIDATES = 64
"""Orders that these are chosen from, the ones that most rows would take: each is priced for every class."""

COUNTED_CLASSES = 64
"""Classes up to which counting their codes is quicker than sorting the rows."""

COUNTED_WAYS = 256
"""Ways up to which the number of one is a byte."""

STEPS_PER_ORDER = 3
"""Steps that an order of its own adds, more or less: the later ones it shares with others."""

AS_GOOD_AS_ALL = 0.98
"""As good as all: an operator that drops or passes so much of everything cannot tell classes apart that matter."""


def best_orders(rates: Floats, costs: Floats, common: Integers, rows: Weights, price: float = 0.0) -> Integers:
    """Find the best order of operators for each class.

    It follows from estimated outputs per input. `rates` has a row for each class and a column for each operator;
    `costs` is one number for each operator, or one for each class and operator, `common` is the order that is best for
    all rows together, `rows` are those of each class in the round, and `price` is that of a step, in the unit of the
    costs.
    """
    own = order_by_merit(rates, costs, common, rows, price)
    few = choose_orders(list_orders(own, common, rows), rates, costs, rows, STEPS_PER_ORDER * price)
    return few[find_cheapest(rates, costs, few)[0]]


def order_by_merit(
    rates: Floats, costs: Floats, common: Integers, rows: Weights, price: float, lifts: Floats | None = None
) -> Integers:
    """Order operators by merit for each class.

    Late places, which hardly any tuple reaches, follow the common order. With `lifts`, a line for each set of
    operators, a row for each of them and a column for each class, it is the merit among rows that those before pass.
    """
    costs = np.broadcast_to(costs, rates.shape)
    if lifts is None:
        order = sort_by_merit(rates, costs)
        reach = _reach(np.take_along_axis(rates, order, axis=1))
    else:
        order, reach = _order_together(rates, costs, lifts)
    # A place is late if few tuples come that far, or if all that do cost less there than the step itself.
    worth = reach * rows[:, None] * np.take_along_axis(costs, order, axis=1)
    late = (reach < SMALLEST_REACH) | (worth < price)
    rank = np.empty(len(common), np.int64)
    rank[common] = np.arange(len(common))
    # Late operators are put behind all others, among themselves in the common order.
    place = np.where(late, len(common) + rank[order], np.arange(len(common)))
    return np.take_along_axis(order, np.argsort(place, axis=1, kind="stable"), axis=1)


def sort_by_merit(rates: Floats, costs: Floats) -> Integers:
    """Sort operators by merit, those that are independent of each other; of equals the first comes first.

    >>> sort_by_merit(np.array([0.5, 0.5, 0.1]), np.array([1.0, 1.0, 9.0]))
    array([0, 1, 2])
    """
    return np.argsort((rates - 1) / costs, axis=-1, kind="stable")


def _order_together(rates: Floats, costs: Floats, lifts: Floats) -> tuple[Integers, Floats]:
    """Order operators by merit, one after the other, and give the share of a tuple that reaches each place."""
    rows, every = np.arange(len(rates)), np.arange(rates.shape[1])
    order, reach = np.empty(rates.shape, np.int64), np.ones(rates.shape)
    passed, is_left = np.zeros(len(rates), np.int64), np.ones(rates.shape, np.bool_)
    for place in range(rates.shape[1]):
        among = np.minimum(rates * lifts[passed[:, None], every, rows[:, None]], 1.0)
        best = np.where(is_left, (among - 1) / costs, np.inf).argmin(axis=1)
        order[:, place], is_left[rows, best] = best, False
        if place + 1 < rates.shape[1]:
            reach[:, place + 1] = reach[:, place] * among[rows, best]
        passed |= 1 << best
    return order, reach


def list_orders(own: Integers, common: Integers, rows: Weights) -> Integers:
    """List the different orders, the common one first.

    Then come those that most rows would take.
    """
    counts: dict[tuple[int, ...], float] = {tuple(common.tolist()): 0.0}
    for order, count in zip(map(tuple, own.tolist()), rows.tolist(), strict=True):
        counts[order] = counts.get(order, 0.0) + count
    first, *others = counts
    return np.array([first, *sorted(others, key=lambda order: -counts[order])[:MOST_CANDIDATES]])


def choose_orders(
    orders: Integers, rates: Floats, costs: Floats, rows: Weights, price: float, lifts: Floats | None = None
) -> Integers:
    """Choose the few orders that save most together.

    The first of them is the common one, and stays.

    Each next one is the one that saves most beside those that have been chosen, and must save more than `price`.
    """
    if len(orders) == 1:
        return orders
    # Three orders and four classes, of one row each; the first order is the common one:
    #
    #     spent   5 5 5 5      left  5 5 5 5      saved  0 0 0 0     worth  0
    #             2 6 5 5                                3 0 0 0            3   chosen: then left is 2 5 5 5
    #             3 5 4 5                                2 0 1 0            3   and this one is worth 1, the third class
    spent = price_orders(rates, costs, orders, lifts)
    left, noise = spent[0], LEAST_SAVING * spent[0]
    chosen = [0]
    while len(chosen) <= MOST_ORDERS:
        saved = left - spent
        worth = np.where(saved > noise, saved, 0.0) @ rows
        best = int(worth.argmax())
        if worth[best] <= max(price, 0.0):
            break
        chosen.append(best)
        left = np.minimum(left, spent[best])
    return orders[chosen]


def find_cheapest(
    rates: Floats, costs: Floats, orders: Integers, lifts: Floats | None = None
) -> tuple[Integers, Floats]:
    """Find the cheapest order for each row, and what it saves.

    It saves that beside the first order, which is the common one.

    Those that save next to nothing keep the common one.
    """
    spent = price_orders(rates, costs, orders, lifts)
    best = spent.argmin(axis=0)
    saved = spent[0] - spent.min(axis=0)
    is_noise = saved <= LEAST_SAVING * spent[0]
    best[is_noise], saved[is_noise] = 0, 0.0
    return best, saved


def price_orders(rates: Floats, costs: Floats, orders: Integers, lifts: Floats | None = None) -> Floats:
    """Price each order for each class, or for each row that has met all operators: a line for each order.

    >>> price_orders(np.array([[0.5, 1.0]]), np.array([2.0, 3.0]), np.array([[0, 1], [1, 0]])).tolist()
    [[3.5], [5.0]]
    """
    costs = np.broadcast_to(costs, rates.shape)
    # Orders that begin alike are priced once as far as they do: what has been spent, and the share that is left.
    known: dict[tuple[int, ...], tuple[Floats, Floats]] = {(): (np.zeros(len(rates)), np.ones(len(rates)))}
    priced = np.empty((len(orders), len(rates)))
    for place, order in enumerate(map(tuple, orders.tolist())):
        for depth, operator in enumerate(order):
            begun = order[: depth + 1]
            if begun not in known:
                spent, reach = known[order[:depth]]
                passed = rates[:, operator]
                if lifts is not None:
                    passed = np.minimum(passed * lifts[sum(1 << one for one in order[:depth]), operator], 1.0)
                known[begun] = (spent + reach * costs[:, operator], reach * passed)
        priced[place] = known[order][0]
    return priced


def price_own(rates: Floats, costs: Floats, orders: Integers) -> Floats:
    """Price for each class, or for each row, an order of its own; or one for all.

    >>> price_own(np.array([[0.5, 1.0], [0.5, 1.0]]), np.array([2.0, 3.0]), np.array([[0, 1], [1, 0]])).tolist()
    [3.5, 5.0]
    """
    orders = np.broadcast_to(orders, rates.shape)
    spent = _reach(np.take_along_axis(rates, orders, axis=1))
    spent *= np.take_along_axis(np.broadcast_to(costs, rates.shape), orders, axis=1)
    found: Floats = spent.sum(axis=1)
    return found


def number_classes(buckets: Buckets) -> tuple[Buckets, Integers]:
    """Number the classes of rows, and give their buckets.

    All rows of a class have the same buckets.

    >>> number_classes(np.array([[3, 0], [1, 0], [3, 0]], np.uint8))[0].tolist()
    [[1, 0], [3, 0]]
    """
    examples = np.empty((1, 0), np.uint8)
    which = np.zeros(len(buckets), np.int64)
    for column in buckets.T:
        # A bucket is one byte, so a class and the next bucket make one code, which later comes apart again by `>> 8`.
        codes = which * 256 + column
        present = np.flatnonzero(np.bincount(codes)) if len(examples) < COUNTED_CLASSES else np.unique(codes)
        which = np.searchsorted(present, codes)
        examples = np.column_stack((examples[present >> 8], present.astype(np.uint8)))
    return examples, which


def split_lots(
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


def mask_settled(rates: Floats, costs: Floats) -> Mask:
    """Mark the operators that keep their place for every class.

    One that is better on average than any other could be for a class comes first (so cheap, or so selective), and one
    that could not be better for a class than any other is on average comes last (so dear); one that lets everything
    pass stays last too. Where an operator may return more than it is given, none is marked, since nothing bounds what
    it does for a class.
    """
    if len(rates) < 2 or rates.max() > 1:
        return np.zeros(len(rates), np.bool_)
    average, best = (1 - rates) / costs, 1 / costs
    others = ~np.eye(len(rates), dtype=np.bool_)
    first = average >= AS_GOOD_AS_ALL * np.where(others, best, 0.0).max(axis=1)
    last = best <= np.where(others, average, np.inf).min(axis=1)
    found: Mask = first | last | (rates >= AS_GOOD_AS_ALL)
    return found


def split_ways(
    ways: Integers, rows: Integers, attributes: Sequence[int], buckets: Buckets, cells: int
) -> Iterator[tuple[int, Integers, Classes]]:
    """Give the rows of each way, and the classes among them, where each row has a way of its own.

    Classes are named by `buckets` of some attributes, which have so many `cells` each.
    """
    shape = (cells,) * len(attributes)
    codes = number_cells(buckets, cells)
    count, width = int(ways.max(initial=0)) + 1, cells ** len(attributes)
    sizes = np.bincount(ways * width + codes, minlength=count * width).reshape(count, -1)
    # Numbers of one byte are sorted by counting.
    order = np.argsort(ways.astype(np.uint8) if count <= COUNTED_WAYS else ways, kind="stable")
    for way, part in enumerate(np.split(rows[order], sizes.sum(axis=1).cumsum()[:-1])):
        if len(part):
            found = np.flatnonzero(sizes[way])
            named = zip(*(column.tolist() for column in np.unravel_index(found, shape)), strict=True)
            yield way, part, Classes(attributes, [*zip(named, sizes[way][found].tolist(), strict=True)])


def number_cells(buckets: Buckets, cells: int) -> Integers:
    """Number the cell of each row in a table over its buckets."""
    codes: Integers = np.zeros(len(buckets), np.int64)
    for column in buckets.T:
        codes = codes * cells + column
    return codes


def _reach(rates: Floats) -> Floats:
    """The share of a tuple that reaches each place of its order."""
    reach: Floats = np.ones_like(rates)
    np.cumprod(rates[:, :-1], axis=1, out=reach[:, 1:])
    return reach
