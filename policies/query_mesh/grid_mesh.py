"""A mesh whose routes follow from rates by bucket, and whose classifier is a grid.

Where many values, or many attributes, tell what operators let through, a partition of sampled rows knows too few of
each. Here the rates of each operator by the buckets of its own attribute say what each row costs on every route, and
its prices by bucket, where rows cost unlike. The orders that save most are kept, as in `content`; and every combination
of groups takes the cheapest of them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eddy.policies.query_mesh.learn.class_rates import ClassRates
from eddy.policies.query_mesh.learn.grid import BUCKETS, Grid, count_groups, group_buckets
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
from eddy.tuples.arrays import Floats, Integers

FOUND_BY = "rates by bucket"


Priced = Mapping[int, tuple[int, Floats]]
"""For operators whose price goes by class the attribute that it goes by, and the price of each of its buckets."""


def make_grid(
    sample: Sample, rates: ClassRates, costs: Floats, legality: Legality, overheads: Overheads, priced: Priced
) -> Mesh | None:
    """Make the mesh that follows from rates and prices by bucket, for rows like those of a sample.

    None where one route is best for all, or some operator waits for another.
    """
    usual = sample.outcomes.mean(axis=0)
    if not (rates.attributes or priced) or len(legality.find_ready(())) < len(usual):
        return None
    prices = np.broadcast_to(sample.price(costs), sample.outcomes.shape)
    predicted = rates.predict(sample.buckets, usual)
    common = sort_by_merit(usual, prices.mean(axis=0))
    orders = _choose(predicted, prices, common, overheads)
    if len(orders) == 1:
        return None
    grid = _fill(rates, sample, prices.mean(axis=0), priced, orders)
    given = grid.routes(sample.buckets[:, list(grid.used)])
    # What no row of the sample takes is not worth a route.
    orders = orders[np.unique(np.append(given, 0))]
    grid = _fill(rates, sample, prices.mean(axis=0), priced, orders)
    given = grid.routes(sample.buckets[:, list(grid.used)])
    spent = price_orders(predicted, prices, orders)
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
        start_cost=float(spent[0].mean()),
        looks=0,
        training=len(orders),
        found_by=FOUND_BY,
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
    known, counted = rates.rates(usual), rates.weights()
    groups, seen, middles = [], [], []
    for attribute in used:
        told = np.flatnonzero(rates.tellers == attribute)
        dear = [operator for operator, (by, _) in priced.items() if by == attribute]
        # Prices are told apart by how many times they differ.
        values = np.zeros((BUCKETS, len(told) + len(dear)))
        values[: known.shape[1], : len(told)] = known[told].T
        for place, operator in enumerate(dear):
            values[:, len(told) + place] = np.log(priced[operator][1])
        rows = np.bincount(sample.buckets[:, attribute], minlength=BUCKETS).astype(np.float64)
        if attribute in counted:
            rows = np.pad(counted[attribute], (0, BUCKETS - len(counted[attribute])))
        group, middle = group_buckets(values, rows, count_groups(len(used)))
        groups.append(group)
        seen.append(rows > 0)
        middles.append((told, dear, middle))
    sizes = tuple(len(middle) for _, _, middle in middles)
    cells = np.indices(sizes).reshape(len(sizes), -1)
    found, spent = np.tile(usual, (cells.shape[1], 1)), np.tile(costs, (cells.shape[1], 1))
    for places, (told, dear, middle) in zip(cells, middles, strict=True):
        found[:, told] = middle[places, : len(told)]
        spent[:, dear] = np.exp(middle[places, len(told) :])
    route, _ = find_cheapest(found, spent, orders)
    return Grid(used=tuple(used), group=np.stack(groups), sizes=sizes, route=route, seen=np.stack(seen))
