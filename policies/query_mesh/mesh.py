"""A mesh, and the generation of rows that goes by it.

A mesh is what the optimizer finds: routes, and the tree that gives every row one of them. A generation is a mesh that
was decided on, with counts of what its rows cost beside what was promised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eddy.observe.insight import Branch, Decision, RouteCost
from eddy.policies.query_mesh.learn.grid import Grid
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.learn.tree import Tree
from eddy.policies.query_mesh.promise import BREACH_SHARE, PassCounts, Watch
from eddy.policies.query_mesh.wheel import Wheel, or_sets
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.orders import price_own
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers

_NUMBERS = ("cost", "single_cost", "training")


@dataclass(frozen=True, kw_only=True)
class Mesh:
    """A mesh, made from so many `training` tuples.

    `seconds` is what a row takes under each route, `share` how many of the rows go there; `cost` is what a row takes in
    all, `single_cost` what it takes under the best single route. From the place `own` of its route on, each goes on as
    all others do; () where no route does.
    """

    routes: tuple[HopNumbers, ...]
    tree: Tree | Grid
    seconds: tuple[float, ...]
    share: tuple[float, ...]
    cost: float
    single_cost: float
    training: int
    own: tuple[int, ...] = ()

    @property
    def usual(self) -> float:
        """The cost of a row on its way."""
        return sum(share * spent for share, spent in zip(self.share, self.seconds, strict=True))

    @property
    def is_grid(self) -> bool:
        """Whether rows are classified by rates of buckets."""
        return isinstance(self.tree, Grid)

    def is_like(self, other: Mesh) -> bool:
        """Tell whether another mesh sends every row the same way."""
        return self.routes == other.routes and self.tree.snapshot() == other.tree.snapshot()

    def give_ways(self, sample: Sample) -> Integers:
        """Give each row of a sample its way."""
        used = list(self.tree.used)
        return self.tree.routes(sample.buckets[:, used], sample.told[:, used])

    def price_rows(self, sample: Sample, costs: Floats) -> Floats:
        """Price each row of a sample under the mesh, in seconds.

        Buckets may be left out where the tree asks for none.
        """
        return price_own(sample.outcomes, sample.price(costs), np.array(self.routes)[self.give_ways(sample)])

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        lists = {name: list(getattr(self, name)) for name in ("seconds", "share", "own")}
        return {"routes": [list(route) for route in self.routes], **numbers, **lists, "tree": self.tree.snapshot()}

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Mesh:
        """The mesh that a snapshot was taken of."""
        return Mesh(
            routes=tuple(tuple(int(number) for number in route) for route in state["routes"]),
            tree=(Grid if "group" in state["tree"] else Tree).restore(state["tree"]),
            seconds=tuple(state["seconds"]),
            share=tuple(state["share"]),
            own=tuple(state["own"]),
            **{name: state[name] for name in _NUMBERS},
        )


@dataclass(frozen=True, kw_only=True)
class Generation:
    """A mesh that was decided on.

    Several may be at work at the same time: rows that set out on one finish there, and are counted there, while others
    set out on the next. To switch is to name another generation the current one.
    """

    number: int
    reason: str
    seconds: float
    mesh: Mesh
    costs: Floats
    watch: Watch
    wheels: tuple[Wheel, ...]
    passing: tuple[PassCounts, ...]

    @staticmethod
    def decide(
        named: tuple[int, str],
        mesh: Mesh,
        sample: Sample,
        costs: Floats,
        legality: Legality,
        how: tuple[float, int],
        believed: tuple[Floats, Floats],
        work: Work,
    ) -> Steps[Generation]:
        """Take up a mesh, by a number and for a reason.

        `how` is the tolerance of or-sets, and the window of the watch; `believed` are the outcomes by which rows are
        promised a cost, and those by which orders are told from each other: those of the sample, or rates that are
        known better. Who decided adds the seconds that it took.
        """
        (tolerance, window), (promised, ordered) = how, believed
        given = mesh.give_ways(sample)
        prices = np.broadcast_to(sample.price(costs), sample.outcomes.shape)
        own = np.stack([_some(prices, given == way).mean(axis=0) for way in range(len(mesh.routes))])
        outcomes = [_some(ordered, given == way) for way in range(len(mesh.routes))]
        yield work.step()
        wheels = yield from _make_wheels(mesh, outcomes, own, sample.outcomes.mean(axis=0), legality, tolerance, work)
        passing = []
        for way, wheel in enumerate(wheels):
            some = sample.outcomes[given == way]
            passing.append(PassCounts.of(some, wheel.sets, legality.find_ready(()), own[way], window))
            yield work.step()
        return Generation(
            number=named[0],
            reason=named[1],
            seconds=0.0,
            mesh=mesh,
            costs=own,
            watch=_make_promise(mesh.routes, given, (sample.outcomes, promised), own, window),
            wheels=wheels,
            passing=tuple(passing),
        )

    def count(self, way: int, operator: int, rows: int, out: float) -> None:
        """Count what an operator made of rows on a way."""
        self.wheels[way].count(operator, rows, out)
        self.passing[way].count(operator, rows, out)

    def pay(self, rows: Floats, cost: Floats, spoken: float = 1.0) -> None:
        """A round is over: how many rows set out on each way, what they cost, and for how many each speaks."""
        self.watch.count(rows, cost, spoken)
        for passing, count in zip(self.passing, rows.tolist(), strict=True):
            passing.pay(spoken * count)

    @property
    def lost(self) -> float:
        """The seconds that broken promises or worse orders cost."""
        return self.watch.missed + sum(passing.lost for passing in self.passing)

    def find_breach(self, operators: Sequence[str]) -> str:
        """Says which promise does not hold; "" where all do."""
        way = self.watch.find_breach()
        if way is not None:
            route = " > ".join(operators[n] for n in self.mesh.routes[way])
            promised, observed = self.watch.promised[way], self.watch.observed[way]
            return f"{promised:.3g} was promised, and {observed:.3g} it costs: {route}"
        regrets = [passing.regret for passing in self.passing]
        way = max(range(len(regrets)), key=regrets.__getitem__)
        if regrets[way] <= BREACH_SHARE * self.watch.promised[way]:
            return ""
        operator, rate, said = max(self.passing[way].changes(), key=lambda change: abs(change[1] - change[2]))
        route = " > ".join(operators[n] for n in self.mesh.routes[way])
        return f"{said:.3g} of a row was promised to pass {operators[operator]}, and {rate:.3g} does: {route}"

    def decision(self, stream: str, operators: Sequence[str]) -> Decision:
        """The decision as reports show it."""
        observed = self.watch.observed
        ways = tuple(
            RouteCost(
                route=tuple(" | ".join(operators[n] for n in one) for one in wheel.sets),
                share=share,
                predicted=promised,
                observed=seen if np.isfinite(seen) else promised,
            )
            for wheel, share, promised, seen in zip(
                self.wheels, self.mesh.share, self.watch.promised, observed, strict=True
            )
        )
        return Decision(
            stream=stream,
            number=self.number,
            reason=self.reason,
            seconds=self.seconds,
            ways=ways,
            tree=self._tree,
        )

    @cached_property
    def _tree(self) -> tuple[Branch, ...]:
        """The lines of the tree: asked for in every round, and always the same."""
        return self.mesh.tree.branches()

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "number": self.number,
            "reason": self.reason,
            "seconds": self.seconds,
            "mesh": self.mesh.snapshot(),
            "costs": self.costs.tolist(),
            "watch": self.watch.snapshot(),
            "wheels": [wheel.snapshot() for wheel in self.wheels],
            "passing": [passing.snapshot() for passing in self.passing],
        }

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Generation:
        """The generation that a snapshot was taken of."""
        return Generation(
            number=state["number"],
            reason=state["reason"],
            seconds=state["seconds"],
            mesh=Mesh.restore(state["mesh"]),
            costs=np.array(state["costs"]),
            watch=Watch.restore(state["watch"]),
            wheels=tuple(map(Wheel.restore, state["wheels"])),
            passing=tuple(map(PassCounts.restore, state["passing"])),
        )


def _make_wheels(
    mesh: Mesh,
    outcomes: Sequence[Floats],
    costs: Floats,
    usual: Floats,
    legality: Legality,
    tolerance: float,
    work: Work,
) -> Steps[tuple[Wheel, ...]]:
    """Make the wheel of each way; what all ways share is drawn for none of them."""
    found = []
    for way, (route, begun) in enumerate(zip(mesh.routes, mesh.own or map(len, mesh.routes), strict=True)):
        sets = or_sets(outcomes[way], costs[way], route[:begun], legality, tolerance)
        found.append(Wheel((*sets, *((operator,) for operator in route[begun:])), costs[way], usual))
        yield work.step()
    return tuple(found)


def _make_promise(
    routes: Sequence[HopNumbers], given: Integers, outcomes: tuple[Floats, Floats], costs: Floats, window: int
) -> Watch:
    """Promise for each way what its rows cost by what is believed of them.

    Where that is not what they did, all rows together say how far off a row is: a way may have but a few of them.
    """
    seen, believed = (price_own(some, costs[given], np.array(routes)[given]) for some in outcomes)
    off = float(np.sqrt(np.mean((seen - believed) ** 2)))
    rows = np.bincount(given, minlength=len(routes)).astype(np.float64)
    promised = np.bincount(given, believed, len(routes)) / np.maximum(rows, 1.0)
    means = np.bincount(given, seen, len(routes)) / np.maximum(rows, 1.0)
    spread = np.sqrt(np.bincount(given, (seen - means[given]) ** 2, len(routes)) / np.maximum(rows, 1.0))
    return Watch(
        promised=np.where(rows > 0, promised, _mean(believed)),
        spread=np.maximum(spread, off),
        sampled=rows,
        window=window,
    )


def _mean(seconds: Floats) -> float:
    return float(seconds.mean()) if len(seconds) else 0.0


def _some(outcomes: Floats, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> Floats:
    """The outcomes of some rows; of all where there are none."""
    return outcomes[rows] if rows.any() else outcomes
