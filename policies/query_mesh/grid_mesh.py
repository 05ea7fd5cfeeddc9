"""A mesh whose routes follow from rates by bucket, and whose classifier is a grid.

Where many values, or many attributes, tell what operators let through, a partition of sampled rows knows too few of
each. Here the rates of each operator by the buckets of its own attribute say what each row costs on every route, and
its prices by bucket, where rows cost unlike. The orders that save most are kept, as in `content`; and every combination
of groups takes the cheapest of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.query_mesh.learn.class_rates import ClassRates
from eddy.policies.query_mesh.learn.cut import BUCKETS
from eddy.policies.query_mesh.learn.grid import Grid, count_groups, group_buckets
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.legality import Legality
from eddy.policies.shared.orders import (
    choose_orders,
    find_cheapest,
    list_orders,
    order_by_merit,
    price_orders,
    sort_by_merit,
)
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers, Mask

Priced = Mapping[int, tuple[int, Floats]]
"""For operators whose price goes by class the attribute that it goes by, and the price of each of its buckets."""


def make_grid(
    sample: Sample,
    rates: ClassRates,
    costs: Floats,
    legality: Legality,
    overheads: Overheads,
    priced: Priced,
    work: Work,
    orders: Integers | None = None,
) -> Steps[Mesh | None]:
    """Make the mesh that follows from rates and prices by bucket, for rows like those of a sample.

    None where one route is best for all, or some operator waits for another. Its `orders` are given, the common one
    first, where they have been chosen already by nearly the same rates.
    """
    usual = sample.outcomes.mean(axis=0)
    if not (rates.attributes or priced) or len(legality.find_ready(())) < len(usual):
        return None
    prices = np.broadcast_to(sample.price(costs), sample.outcomes.shape)
    predicted = rates.predict(sample.told, usual)
    if orders is None:
        common = sort_by_merit(usual, prices.mean(axis=0))
        yield work.step()
        orders = _choose(predicted, prices, common, overheads)
        yield work.step()
        if len(orders) == 1:
            return None
        grid = _fill(rates, sample, prices.mean(axis=0), priced, orders)
        given = grid.routes(sample.buckets[:, list(grid.used)], sample.told[:, list(grid.used)])
        # What no row of the sample takes is not worth a route.
        orders = orders[np.unique(np.append(given, 0))]
        yield work.step()
    grid = _fill(rates, sample, prices.mean(axis=0), priced, orders)
    given = grid.routes(sample.buckets[:, list(grid.used)], sample.told[:, list(grid.used)])
    yield work.step()
    spent = price_orders(predicted, prices, orders)
    return _make_mesh(grid, sample, orders, spent, given, overheads)


def _make_mesh(
    grid: Grid, sample: Sample, orders: Integers, spent: Floats, given: Integers, overheads: Overheads
) -> Mesh:
    """Make the mesh of a grid, which gives each row of a sample an order; `spent` is what each order takes for each."""
    seconds = spent[given, np.arange(len(given))]
    rows = np.bincount(given, minlength=len(orders))
    levels = grid.levels(sample.buckets)
    return Mesh(
        routes=tuple(map(tuple, orders.tolist())),
        tree=grid,
        seconds=tuple((np.bincount(given, seconds, len(orders)) / np.maximum(rows, 1)).tolist()),
        share=tuple((rows / len(given)).tolist()),
        cost=overheads.total(seconds, levels, len(orders), len(grid.used)),
        single_cost=float(spent[0].mean()),
        training=len(orders),
    )


def _choose(predicted: Floats, prices: Floats, common: Integers, overheads: Overheads) -> Integers:
    """Choose the orders that save most together, the common one first."""
    weight = np.full(len(predicted), overheads.rows / len(predicted))
    # Which places are too late to matter is found when the ways are known (`tails`).
    own = order_by_merit(predicted, prices, common, weight, 0.0)
    return choose_orders(list_orders(own, common, weight), predicted, prices, weight, overheads.leg)


def _fill(rates: ClassRates, sample: Sample, costs: Floats, priced: Priced, orders: Integers) -> Grid:
    """Put buckets into groups, and give each combination of groups its cheapest order."""
    usual = sample.outcomes.mean(axis=0)
    used = sorted({*rates.attributes, *(attribute for attribute, _ in priced.values())})
    parts = [_group(rates, sample, usual, priced, attribute, count_groups(len(used))) for attribute in used]
    sizes = tuple(len(part.middles) for part in parts)
    cells = np.indices(sizes).reshape(len(sizes), -1)
    found, spent = np.tile(usual, (cells.shape[1], 1)), np.tile(costs, (cells.shape[1], 1))
    for places, part in zip(cells, parts, strict=True):
        found[:, part.told] = part.middles[places, : len(part.told)]
        spent[:, part.dear] = np.exp(part.middles[places, len(part.told) :])
    route, _ = find_cheapest(found, spent, orders)
    return Grid(
        used=tuple(used),
        group=tuple(part.group for part in parts),
        sizes=sizes,
        route=route,
        seen=tuple(part.seen for part in parts),
        named=_name(rates, used[0]),
    )


class Part(NamedTuple):
    """One attribute of a grid: the group of each bucket, those that were seen, and what is known of each group.

    These are the rates of the operators that it tells of, and the logarithms of the prices of those that it is dear
    for.
    """

    group: Integers
    seen: Mask
    middles: Floats
    told: Integers
    dear: list[int]


def _group(rates: ClassRates, sample: Sample, usual: Floats, priced: Priced, attribute: int, most: int) -> Part:
    told = np.flatnonzero(rates.tellers == attribute)
    dear = [operator for operator, (by, _) in priced.items() if by == attribute]
    known, named = rates.rates(usual), _name(rates, attribute)
    cells = min(known.shape[1], len(named))
    # Prices are told apart by how many times they differ.
    values = np.zeros((len(named), len(told) + len(dear)))
    values[:cells, : len(told)] = known[told, :cells].T
    for place, operator in enumerate(dear):
        values[:, len(told) + place] = np.log(priced[operator][1].take(named))
    rows = np.bincount(sample.told[:, attribute], minlength=len(named)).astype(np.float64)
    if len(told):
        rows[:cells] = rates.count_rows(attribute)[:cells]
    group, middles = group_buckets(values, rows, most)
    return Part(group, rows > 0, middles, told, dear)


def _name(rates: ClassRates, attribute: int) -> Buckets:
    """Give the bucket of each bucket, or of each number where values are told apart one by one."""
    return rates.refined.get(attribute, np.arange(BUCKETS, dtype=np.uint8))
