"""From a sample to a mesh.

The optimizer follows sections 4.3 to 4.7 of the Query Mesh paper: condense the sample, search a partition, learn the
classifier.

It does better in two points. Routes are found anew for the rows that the tree really sends there, since a pruned tree
divides rows otherwise than the partition did. And the outcome is priced with that tree, beside one route for all rows:
a mesh that does not promise enough is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.learn.tree import Labelled, Tree, induce, leaf
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.search.search import search
from eddy.policies.query_mesh.search.training import Training, condense
from eddy.policies.shared.best_route import MOST_EXACT_OPERATORS, Exact, Greedy, Pricer, reach
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.merit import INSTANT
from eddy.policies.shared.orders import LEAST_SAVING, price_orders, price_own
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers

SMALLEST_RUSTER, SMALLEST_SHARE = 10, 0.02
"""Rows of a round that a route of its own must serve on average, or the share of a small round: fewer are not worth
calls of their own."""

PRIOR = 1e-6
"""Rows that every training tuple is given besides its own, of the kind that is usual: too few to weigh against anything
seen, enough to decide about operators that none of its rows came to."""

SURE_OF_DEPENDENCE = 3.5
"""Standard errors beyond which two operators agree, or exclude each other, by more than chance."""

SETS_AT_ONCE = 100_000
"""Rows times sets of operators that are counted in one step: some tenths of a millisecond."""

ROUTES_AT_ONCE = 16
"""Training tuples whose best routes are found in one step."""


def optimize(
    sample: Sample,
    costs: Floats,
    legality: Legality,
    most: int,
    overheads: Overheads,
    work: Work,
) -> Steps[tuple[Mesh, Mesh]]:
    """Find the best mesh that there are steps for, from so many training tuples at most, and the best single route.

    `costs` are the seconds that an input of each operator takes.
    """
    costs = np.maximum(sample.price(costs), INSTANT)
    training = yield from condense(sample, most, work)
    priced = yield from pricer(sample.outcomes, training.cell, costs, legality, work)
    found = yield from search(priced, training.density, overheads, work)
    finding = _Finding(sample, costs, legality, overheads, training, work)
    single = finding.mesh(tuple(priced.routes(np.ones((1, len(training))))), leaf(0), None)
    yield work.step()
    if len(found.routes) == 1:
        return single, single
    several = yield from finding.learn(found.routes, found.label, single)
    return (several if several.cost < single.cost * (1 - LEAST_SAVING) else single), single


def find_single(sample: Sample, costs: Floats, legality: Legality, work: Work) -> Steps[Mesh]:
    """Find the best single route."""
    prices = np.maximum(sample.price(costs), INSTANT)
    priced = yield from pricer(sample.outcomes, np.zeros(len(sample), np.int64), prices, legality, work)
    route = priced.routes(np.ones((1, 1)))[0]
    yield work.step()
    cost = float(price_orders(sample.outcomes, prices, np.array([route])).mean())
    return Mesh(
        routes=(route,),
        tree=leaf(0),
        seconds=(cost,),
        share=(1.0,),
        cost=cost,
        single_cost=cost,
        training=1,
    )


def refine_routes(mesh: Mesh, sample: Sample, costs: Floats, legality: Legality, work: Work) -> Steps[Mesh]:
    """Find the best routes anew for a larger sample, same tree.

    Alike routes become one. The costs stay as they were stated: a promise is made when the mesh is taken up.
    """
    given = mesh.give_ways(sample)
    numbers, cell = np.unique(given, return_inverse=True)
    found = yield from pricer(sample.outcomes, cell, np.maximum(sample.price(costs), INSTANT), legality, work)
    fitted = dict(zip(numbers.tolist(), found.routes(np.eye(len(numbers))), strict=True))
    routes = [fitted.get(way, route) for way, route in enumerate(mesh.routes)]
    distinct = tuple(dict.fromkeys(routes))
    tree = mesh.tree.renumber([distinct.index(route) for route in routes]) if len(distinct) > 1 else leaf(0)
    yield work.step()
    refined = replace(mesh, routes=distinct, tree=tree)
    given = refined.give_ways(sample)
    rows = np.bincount(given, minlength=len(distinct))
    spent = np.bincount(given, refined.price_rows(sample, costs), len(distinct))
    return replace(
        refined,
        seconds=tuple((spent / np.maximum(rows, 1)).tolist()),
        share=tuple((rows / len(given)).tolist()),
    )


def pricer(outcomes: Floats, cell: Integers, costs: Floats, legality: Legality, work: Work) -> Steps[Pricer]:
    """Make the pricer of sets of training tuples.

    `cell` says of which training tuple each row is. `costs` are those of all rows, or have a row for each of them.
    """
    if outcomes.shape[1] > MOST_EXACT_OPERATORS:
        return Greedy(outcomes, cell, costs if costs.ndim == 1 else costs.mean(axis=0), legality)
    if costs.ndim > 1:
        rows = np.bincount(cell)
        costs = np.column_stack([np.bincount(cell, column) for column in costs.T]) / rows[:, None]
    usual = PRIOR * reach((outcomes.sum(axis=0, keepdims=True) + 1) / (len(outcomes) + 1))
    sizes = np.bincount(cell).astype(np.float64)[:, None]
    rates = np.column_stack([np.bincount(cell, column) for column in outcomes.T]) / sizes
    yield work.step()
    if are_independent(outcomes - rates[cell]):
        # Rates of all rows of a training tuple are known better than those of the few that others leave of them.
        return Exact(sizes * reach(rates) + usual, costs, legality)
    left = yield from _count_left(outcomes, cell, work)
    return Exact(left + usual, costs, legality)


def _count_left(outcomes: Floats, cell: Integers, work: Work) -> Steps[Floats]:
    """Count for each training tuple what is left of its rows after each set of operators, some rows at a time."""
    order = np.argsort(cell, kind="stable")
    ordered, cell = outcomes[order], cell[order]
    left = np.zeros((int(cell[-1]) + 1, 1 << outcomes.shape[1]))
    at_once = max(SETS_AT_ONCE // left.shape[1], 1)
    for begun in range(0, len(cell), at_once):
        some = cell[begun : begun + at_once]
        firsts = np.flatnonzero(np.diff(some, prepend=-1))
        left[some[firsts]] += np.add.reduceat(reach(ordered[begun : begun + at_once]), firsts, axis=0)
        yield work.step()
    return left


def are_independent(apart: Floats) -> bool:
    """Tell whether chance explains how operators' outcomes go together.

    `apart` is how far outcomes are from the mean of their training tuple.

    >>> one = np.arange(40)[:, None] % 2 - 0.5
    >>> are_independent(np.hstack((one, one))), are_independent(np.hstack((one, one[::2].repeat(2, axis=0))))
    (False, True)
    """
    first, second = np.triu_indices(apart.shape[1], 1)
    together = apart[:, first] * apart[:, second]
    spread = np.sqrt((together**2).sum(axis=0))
    return bool((np.abs(together.sum(axis=0)) <= SURE_OF_DEPENDENCE * spread).all())


@dataclass(frozen=True)
class _Finding:
    """The constants while a partition becomes a mesh."""

    sample: Sample
    costs: Floats
    legality: Legality
    overheads: Overheads
    training: Training
    work: Work

    def learn(self, routes: list[HopNumbers], place: Integers, single: Mesh) -> Steps[Mesh]:
        """Learn the tree for a partition, then routes, then the tree.

        `place` says which route each training tuple takes. In the end routes are those that are best for the rows of
        the first tree.
        """
        label = place[self.training.cell]
        tree = yield from self._tree(routes, label)
        given = self._route_rows(tree)
        numbers, cell = np.unique(given, return_inverse=True)
        if (given == label).all():
            # The tree divides the rows as the partition does: the routes are the best for them already.
            fitted = [routes[number] for number in numbers.tolist()]
        else:
            priced = yield from pricer(self.sample.outcomes, cell, self.costs, self.legality, self.work)
            fitted = priced.routes(np.eye(len(numbers)))
        distinct = list(dict.fromkeys(fitted))
        label = np.array([distinct.index(route) for route in fitted])[cell]
        yield self.work.step()
        distinct, label = self._merge_small(distinct, label)
        if len(distinct) == 1:
            return single
        if distinct == routes and (given == label).all():
            return self.mesh(tuple(routes), tree, single)
        tree = yield from self._tree(distinct, label)
        numbers = np.unique(self._route_rows(tree))
        places = np.searchsorted(numbers, np.arange(len(distinct)))
        return self.mesh(
            tuple(distinct[n] for n in numbers), tree.renumber(np.minimum(places, len(numbers) - 1).tolist()), single
        )

    def _merge_small(self, routes: list[HopNumbers], label: Integers) -> tuple[list[HopNumbers], Integers]:
        """Let rows of routes that too few take go where they cost least of all others."""
        rows = np.bincount(label, minlength=len(routes)) / len(label) * self.overheads.rows
        large = np.flatnonzero(rows >= min(SMALLEST_RUSTER, SMALLEST_SHARE * self.overheads.rows, rows.max()))
        if len(large) == len(routes):
            return routes, label
        left = [routes[number] for number in large.tolist()]
        place = np.searchsorted(large, label)
        small = ~np.isin(label, large)
        for number in np.unique(label[small]).tolist():
            some = label == number
            seconds = price_orders(self.sample.outcomes, self.costs, np.array(left))[:, some]
            place[some] = int(seconds.mean(axis=1).argmin())
        return left, place

    def mesh(self, routes: tuple[HopNumbers, ...], tree: Tree, single: Mesh | None) -> Mesh:
        """Build a mesh with its cost.

        Without `single` it is the one that others are compared with.
        """
        given = self._route_rows(tree)
        seconds = price_own(self.sample.outcomes, self.costs, np.array(routes)[given])
        rows = np.bincount(given, minlength=len(routes))
        levels = tree.levels(self.sample.buckets[:, list(tree.used)])
        cost = self.overheads.total(seconds, levels, len(routes), len(tree.used))
        return Mesh(
            routes=routes,
            tree=tree,
            seconds=tuple((np.bincount(given, seconds, len(routes)) / np.maximum(rows, 1)).tolist()),
            share=tuple((rows / len(given)).tolist()),
            cost=cost,
            single_cost=cost if single is None else single.cost,
            training=len(self.training),
        )

    def _tree(self, routes: list[HopNumbers], label: Integers) -> Steps[Tree]:
        seconds = price_orders(self.sample.outcomes, self.costs, np.array(routes))
        rows = Labelled(buckets=self.sample.buckets, label=label, seconds=seconds.T)
        yield self.work.step()
        return (yield from induce(rows, self.training.informative, self.overheads.level, self.work))

    def _route_rows(self, tree: Tree) -> Integers:
        return tree.routes(self.sample.buckets[:, list(tree.used)])
