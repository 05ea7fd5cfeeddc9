"""From a sample to a mesh.

The optimizer follows sections 4.3 to 4.7 of the Query Mesh paper: condense the sample, search a partition, learn the
classifier.

It does better in two points. Routes are found anew for the rows that the tree really sends there, since a pruned tree
divides rows otherwise than the partition did. And the outcome is priced with that tree, beside one route for all rows:
a mesh that does not promise enough is dropped.

The search begins with a partition: the former mesh's, one of `STARTS`, then random ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.learn.tree import Labelled, Tree, induce, leaf
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.search.lattice import Lattice, Partition, partition_of
from eddy.policies.query_mesh.search.search import Effort, SearchResult, Strategy, search
from eddy.policies.query_mesh.search.training import Training, condense
from eddy.policies.shared.best_route import MOST_EXACT_OPERATORS, Exact, Greedy, Pricer, reach
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.merit import INSTANT
from eddy.policies.shared.orders import LEAST_SAVING, number_classes, price_orders, price_own
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

Start = Literal["content", "route", "random", "one", "each"]
PARTS_OF_RANGE = 3
"""Parts of an attribute's range that count as alike in content: two attributes make nine sets, about as many as a mesh
has routes at most."""

PARTITIONS_TO_PICK_FROM = 10
"""Random partitions of which the cheapest is picked."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the search, by default the paper's.

    See its tables 1 and 3.
    """

    training: int = 100
    start: Start = "route"
    strategy: Strategy = "improvement"
    effort: Effort = field(default_factory=Effort)
    overheads: Overheads = field(default_factory=Overheads)


def optimize(
    sample: Sample,
    costs: Floats,
    legality: Legality,
    settings: Settings,
    chance: np.random.Generator,
    work: Work,
    former: Mesh | None = None,
) -> Steps[tuple[Mesh, Mesh]]:
    """Find the best mesh that there are steps for, and the best single route.

    The search begins with the former mesh, where there is one. `costs` are the seconds that an input of each operator
    takes.
    """
    costs = np.maximum(sample.price(costs), INSTANT)
    training = yield from condense(sample, settings.training, work)
    priced = yield from pricer(sample.outcomes, training.cell, costs, legality, work)
    lattice = Lattice(priced, training.density, settings.overheads)
    begin = _Starts(training, lattice, settings.start, chance, former, work)
    found = yield from search(lattice, settings.strategy, settings.effort, begin.next, chance, work)
    first = settings.start if former is None else "former"
    by = f"{found.strategy} from {first}"
    finding = _Finding(sample, costs, legality, settings.overheads, training, found, by, work)
    single = finding.mesh((lattice.route((1 << len(lattice)) - 1),), leaf(0), None)
    yield work.step()
    if len(found.partition) == 1:
        return single, single
    lattice.find_routes(found.partition)
    routes = [lattice.route(part) for part in found.partition]
    several = yield from finding.learn(routes, found.partition, lattice, single)
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
        start_cost=cost,
        looks=0,
        training=1,
        found_by="one for all",
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
    return restate(replace(mesh, routes=distinct, tree=tree), sample, costs)


def restate(mesh: Mesh, sample: Sample, costs: Floats) -> Mesh:
    """The same mesh, with what each of its routes costs and carries by a sample."""
    given = mesh.give_ways(sample)
    rows = np.bincount(given, minlength=len(mesh.routes))
    spent = np.bincount(given, mesh.price_rows(sample, costs), len(mesh.routes))
    return replace(
        mesh,
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


class _Starts:
    """Partitions to begin with: the former mesh's, a start, then random ones."""

    def __init__(
        self,
        training: Training,
        lattice: Lattice,
        start: Start,
        chance: np.random.Generator,
        former: Mesh | None,
        work: Work,
    ) -> None:
        self._training, self._lattice, self._chance, self._former, self._work = training, lattice, chance, former, work
        self._starts: list[Start] = [start]

    def next(self) -> Steps[Partition]:
        """Make the next one."""
        former, self._former = self._former, None
        if former is not None:
            return partition_of(former.tree.routes(self._training.buckets[:, list(former.tree.used)]))
        start = self._starts.pop() if self._starts else "random"
        if start == "route":
            yield from _find_each_route(self._lattice, self._work)
        yield self._work.step()
        return STARTS[start](self._training, self._lattice, self._chance)


def _find_each_route(lattice: Lattice, work: Work) -> Steps[None]:
    """Find the best route of each training tuple."""
    for begun in range(0, len(lattice), ROUTES_AT_ONCE):
        lattice.find_routes([1 << number for number in range(begun, min(begun + ROUTES_AT_ONCE, len(lattice)))])
        yield work.step()


@dataclass(frozen=True)
class _Finding:
    """The constants while a partition becomes a mesh."""

    sample: Sample
    costs: Floats
    legality: Legality
    overheads: Overheads
    training: Training
    found: SearchResult
    found_by: str
    work: Work

    def learn(self, routes: list[HopNumbers], partition: Partition, lattice: Lattice, single: Mesh) -> Steps[Mesh]:
        """Learn the tree for a partition, then routes, then the tree.

        The routes are those that are best for the rows of the first tree.
        """
        place = np.stack([lattice.members(part) for part in partition]).argmax(axis=0)
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
            start_cost=self.found.start_cost,
            looks=self.found.looks,
            training=len(self.training),
            found_by=self.found_by,
        )

    def _tree(self, routes: list[HopNumbers], label: Integers) -> Steps[Tree]:
        seconds = price_orders(self.sample.outcomes, self.costs, np.array(routes))
        rows = Labelled(buckets=self.sample.buckets, label=label, seconds=seconds.T)
        yield self.work.step()
        return (yield from induce(rows, self.training.informative, self.overheads.level, self.work))

    def _route_rows(self, tree: Tree) -> Integers:
        return tree.routes(self.sample.buckets[:, list(tree.used)])


def content_driven(training: Training, _lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """Training tuples with similar buckets together (CDA)."""
    used = training.buckets[:, list(training.informative)].astype(np.int64)
    low = used.min(axis=0, initial=255)
    width = np.maximum(used.max(axis=0, initial=0) - low + 1, 1)
    return partition_of(number_classes(((used - low) * PARTS_OF_RANGE // width).astype(np.uint8))[1])


def route_driven(_training: Training, lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """Training tuples with the same best route together (RDA)."""
    lattice.find_routes([1 << number for number in range(len(lattice))])
    routes = [lattice.route(1 << number) for number in range(len(lattice))]
    numbers = {route: number for number, route in enumerate(dict.fromkeys(routes))}
    return partition_of(np.array([numbers[route] for route in routes]))


def random_pick(_training: Training, lattice: Lattice, chance: np.random.Generator) -> Partition:
    """The cheapest of some random partitions (RP)."""
    most = chance.integers(1, len(lattice) + 1, PARTITIONS_TO_PICK_FROM)
    partitions = [partition_of(chance.integers(0, sets, len(lattice))) for sets in most.tolist()]
    costs = lattice.costs(partitions)
    return partitions[costs.index(min(costs))]


def extreme_one(_training: Training, lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """One route for all (E1R)."""
    return ((1 << len(lattice)) - 1,)


def extreme_each(_training: Training, lattice: Lattice, _chance: np.random.Generator) -> Partition:
    """A route for each training tuple (Extreme-N)."""
    return tuple(1 << number for number in range(len(lattice)))


STARTS: dict[Start, Callable[[Training, Lattice, np.random.Generator], Partition]] = {
    "content": content_driven,
    "route": route_driven,
    "random": random_pick,
    "one": extreme_one,
    "each": extreme_each,
}
