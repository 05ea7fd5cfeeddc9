"""The mesh of one stream, and when it is decided anew.

Section 5 of the Query Mesh paper has a self-routing fabric that executes a mesh. Here the router executes, and this
class keeps what is known of one stream's rows and the generation of the mesh that rows set out on.

It decides when the first rows have been sampled, when there is twice as much evidence as at the last decision or
another whole sample, and when the mesh breaks a promise (`promise`): then the stream has changed, and the sample is
taken anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Clock, Observation, Prices
from eddy.observe.insight import Decision
from eddy.observe.statistics import NOTHING, Statistic, fading
from eddy.policies.query_mesh.learn.sample import Reservoir, Sample
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.query_mesh.optimizer import Settings, optimize, refine_routes
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.search.legality import Legality
from eddy.policies.shared.editions import Editions
from eddy.policies.shared.guard import Guard
from eddy.policies.shared.merit import INSTANT, Costs, step_price
from eddy.policies.shared.orders import STEPS_PER_ORDER, expected_costs
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

FIRST_SAMPLE_SHARE = 0.5
"""The share of |S| that is enough to decide for the first time: a coarse mesh soon is worth more than a fine one
late."""

SAMPLING_PRICE, FIRST_SAMPLING_PRICE = 0.005, 0.03
"""The shares of the rows' cost that may go into sampling, since samples take all operators: in the long run, and until
there are |S| of them, unless the first ones look all alike. A mesh from twice the sample saves a few per cent more, so
it has to be paid for slowly."""

SMALLEST_SAMPLE = 0.05
"""The share of |S| that is sampled at a time: looking at few rows by all attributes costs as much as looking at
many."""

LARGEST_BURST = 0.25
"""The largest share of a round that is sampled, once anything is known."""

TEST_SHARE = 0.25
"""The share of the sample that tests whether a mesh pays, and does not help to find it: a mesh promises too much for
the rows it was fitted to."""

ROWS_UNSPARED = 50
"""Rows of which none can be spared."""

RENEWAL_PRICE = 0.1
"""The share of the rows' cost that may go into new samples after broken promises, besides as much as the promises were
missed by. So a sudden change after a calm time is followed at once, and one that goes on for long costs at most twice
what knowing of it would cost. It is the rule for renting or buying: rent until the rent paid is the price, then buy."""

SURE_OF_SAVING = 0.5
"""Standard errors by which the saving must exceed the overhead, on rows that the mesh was not made for."""

DECIDING_SHARE = 0.02
"""The share of the operators' seconds that may go into deciding, except after a broken promise."""

CALLS_PER_ROUTE = 2.0
"""The cost of one more route in a round where only calls count: less than a policy is expected to gain by it."""

ROWS_REMEMBERED = 10_000
"""Rows after which the size of a round counts half in the usual size."""

ROWS_OF_A_TRY = 10_000
"""Rows whose cost the first try may take where it gains nothing: a first sample alone takes as much as a thousand."""

USUAL_TRY = 50e-3
"""Seconds that the first decision takes with six operators and eight attributes, on a machine that is not idle."""

NUMBERS = ("batch", "due", "decided", "patience", "budget", "gain", "next")
"""Rows of a usual round; due to be sampled; sampled when it was decided; how often nothing came of it; seconds that may
be spent on deciding; what the mesh saves of a row beside the best single route, on rows that it was not made for; the
number of the next decision."""


@dataclass(frozen=True, kw_only=True)
class MeshSettings:
    """A user's settings of the policy."""

    costs: Costs
    sample: int
    window: int
    tolerance: float
    settings: Settings


class StreamMesh:
    """Samples, statistics and the current mesh of one stream.

    The order in a round is: `count_samples` says how many rows to sample, `learn` and `keep` count what came of them,
    and `decide` looks for another mesh where there is a reason to.
    """

    def __init__(
        self, stream: str, attributes: int, operators: Sequence[str], plan: MeshSettings, prices: Prices, reason: str
    ) -> None:
        self._stream = stream
        self._plan = plan
        self._price_list = prices
        self.guard = Guard(plan.costs, prices, ROWS_OF_A_TRY, USUAL_TRY)
        self._hops: dict[str, Hop] = {}
        self.operators = tuple(operators)
        self._reservoir = Reservoir(attributes, len(operators), plan.sample)
        self._editions = Editions(attributes)
        self._statistics: dict[str, Statistic] = {}
        self.current: Generation | None = None
        self._reason = reason
        self._numbers = dict.fromkeys(NUMBERS, 0.0)

    @property
    def decision(self) -> Decision | None:
        """The decision that rows go by, for reports."""
        if self.current is None or self.guard.is_closed:
            return None
        return self.current.decision(self._stream, self.operators)

    @property
    def is_calm(self) -> bool:
        """Whether it has a mesh and a whole sample, and no reason to make another; or was given up for now."""
        if len(self.operators) == 1 or self.guard.is_waiting:
            return True
        if self.current is None or self._reason or self.guard.is_looking:
            return False
        return len(self._reservoir) >= self._plan.sample or self.current.mesh.training == 1

    def count_samples(self, rows: int) -> int:
        """Say how many of a round's rows to sample."""
        # Three cases: nothing is known yet, so take what the first decision needs; a decision waits for its sample, so
        # take what is missing, up to `LARGEST_BURST`; or a mesh is at work, so save up until a burst is worth it.
        numbers, whole = self._numbers, self._plan.sample
        newest = 1 - fading(float(rows), ROWS_REMEMBERED)
        numbers["batch"] += (rows - numbers["batch"]) * (newest if numbers["batch"] else 1.0)
        missing = max(int(whole * FIRST_SAMPLE_SHARE), 1) - len(self._reservoir)
        missing = max(missing, 0)
        if self.current is None:
            return min(rows, missing)
        most = max(int(rows * LARGEST_BURST), 1)
        if self._reason:
            return min(missing, most)
        numbers["due"] += rows * self._share(self.current.mesh)
        burst = min(int(numbers["due"]), most)
        if burst < min(max(whole * SMALLEST_SAMPLE, 1), most):
            return 0
        numbers["due"] -= burst
        return burst

    def _share(self, mesh: Mesh) -> float:
        """The share of rows to sample, by the share of the cost."""
        is_enough = len(self._reservoir) >= self._plan.sample or mesh.training == 1
        price = SAMPLING_PRICE if is_enough else FIRST_SAMPLING_PRICE
        every = float(self.prices().sum())
        usual = sum(share * spent for share, spent in zip(mesh.share, mesh.seconds, strict=True))
        # A sampled row costs `every` in place of `usual`. The divisor has a floor: where all operators together hardly
        # cost more than the route, sampling is nearly free, and the share stays at the price all the same.
        return min(price * usual / max(every - usual, usual), 1.0)

    def learn(self, hops: Sequence[Hop], statistics: Sequence[Statistic]) -> None:
        """Count what operators did."""
        for hop, statistic in zip(hops, statistics, strict=True):
            # Older rows count half as much for every `window` rows that come after them.
            known = self._statistics.get(hop.operator, NOTHING)
            weight = fading(statistic.rows_in, max(self._plan.window, 1))
            self._hops[hop.operator] = hop
            seconds = self._price_list[hop].row * statistic.rows_in
            self._statistics[hop.operator] = Statistic(
                known.rows_in * weight + statistic.rows_in,
                0,
                known.rows_out * weight + statistic.rows_out,
                known.seconds * weight + seconds,
            )
            self._numbers["budget"] += DECIDING_SHARE * seconds

    def keep(self, hops: Sequence[Hop], buckets: Buckets, outcomes: Sequence[Any]) -> None:
        """Keep outcomes of rows that went to all operators."""
        columns = np.full((len(buckets), len(self.operators)), np.nan)
        for hop, counts in zip(hops, outcomes, strict=True):
            columns[:, self.operators.index(hop.operator)] = counts
        self._reservoir.add(buckets, columns)

    def prices(self) -> Floats:
        """The cost of an input of each operator."""
        if self._plan.costs == "unit":
            return np.ones(len(self.operators))
        known = [self._statistics.get(name, NOTHING) for name in self.operators]
        return np.maximum([statistic.cost for statistic in known], INSTANT)

    def rates(self) -> Floats:
        """Compute outputs per input of each operator.

        All rows count that came to it.
        """
        return np.array([self._statistics.get(name, NOTHING).rate for name in self.operators])

    def price_common(self) -> float:
        """Price a row in the order of merit."""
        rates, prices = self.rates(), self.prices()
        order = np.argsort((rates - 1) / prices, kind="stable")
        return float(expected_costs(rates[None], prices, order[None])[0])

    def follow(self, editions: Sequence[int]) -> None:
        """Drop the sample and the mesh that go by buckets which mean something else now."""
        changed = self._editions.follow(editions)
        if changed:
            self._reservoir.clear()
            if self.current is not None and not set(changed).isdisjoint(self.current.mesh.tree.used):
                self.current, self._reason = None, "attributes were cut into other buckets"

    def begin_anew(self) -> None:
        """Forget the sample: it is of a stream that was given up for a while."""
        self._reservoir.clear()
        self._numbers["due"] = 0.0
        if self.current is not None:
            self._reason = "tried again, since it did not pay before"

    def take_over(self, handed: Handed) -> None:
        """Learn from a sample that somebody else has taken."""
        if self.guard.wake():
            self.begin_anew()
        self.follow(handed.editions)
        self.learn(handed.hops, handed.statistics)
        self.keep(handed.hops, handed.buckets, list(handed.outcomes.T))

    def save(self, rows: int) -> None:
        """Tell the guard what rows save by the mesh."""
        if self.current is not None and len(self.current.mesh.routes) > 1:
            self.guard.save(rows * self._numbers["gain"])

    def pay_sample(self, rows: int) -> None:
        """Tell the guard what rows that go to all operators cost."""
        self.guard.pay_sample(rows * max(float(self.prices().sum()) - self.price_common(), 0.0))

    def decide(self, legality: Legality, seed: int, clock: Clock) -> None:
        """Decide anew, if there is a reason to."""
        if not self._is_time():
            return
        started = clock()
        sample, former = self._sample(), self.current
        mesh = self._find_mesh(sample, legality, np.random.default_rng(seed), clock)
        if former is not None and mesh.is_like(former.mesh):
            self._numbers["patience"] += 1
        number = int(self._numbers["next"])
        self._numbers["next"] += 1
        how = (self._plan.tolerance, self._plan.window)
        decided = Generation.decide(number, self._reason, mesh, sample, self.prices(), legality, how)
        seconds = clock() - started
        self.current = replace(decided, seconds=seconds)
        self._reason = ""
        self._numbers["decided"] = self._reservoir.total
        self._numbers["budget"] -= seconds

    def _is_time(self) -> bool:
        """Tell whether to decide now; keeps the reason.

        A broken promise empties the reservoir: the sample is of a stream that has changed.
        """
        # A reason stays until it has led to a decision: after a broken promise the reservoir is empty, and it takes
        # some rounds until it has rows enough again.
        rows, whole = len(self._reservoir), self._plan.sample
        if self.current is not None and not self._reason:
            broken = self.current.find_breach(self.operators)
            if broken and self._is_worth_it(self.current):
                self._reason = broken
                self._reservoir.clear()
                return False
            decided = self._numbers["decided"]
            if self._reservoir.total < decided + min(decided, whole) or not self._can_afford():
                return False
            self._reason = f"{self._reservoir.total:,} rows sampled"
        return rows >= max(whole * FIRST_SAMPLE_SHARE, 1)

    def _is_worth_it(self, current: Generation) -> bool:
        """Tell whether a new sample pays.

        The price is twice as high each time that nothing came of it.
        """
        price = self._plan.sample * FIRST_SAMPLE_SHARE * float(current.costs.sum()) * 2 ** self._numbers["patience"]
        return RENEWAL_PRICE * current.watch.spent + current.lost >= price

    def _can_afford(self) -> bool:
        """Tell whether deciding again costs little beside operators."""
        return self._plan.costs == "unit" or self._numbers["budget"] > 0 or self.current is None

    def _sample(self) -> Sample:
        """Give the rows with what was seen of them.

        What could not be seen is as usual.
        """
        outcomes = self._reservoir.outcomes
        unseen = np.isnan(outcomes)
        filled = np.where(unseen, np.broadcast_to(self.rates(), outcomes.shape), outcomes)
        return Sample(buckets=self._reservoir.buckets, outcomes=filled)

    def _find_mesh(self, sample: Sample, legality: Legality, chance: np.random.Generator, clock: Clock) -> Mesh:
        """Find a mesh on most of the sample, and test it on the rest.

        Where it does not save enough there, the best single route takes its place.
        """
        settings = replace(self._plan.settings, overheads=self._overheads())
        held = chance.random(len(sample)) < TEST_SHARE
        former = None if self.current is None else self.current.mesh
        if len(sample) < ROWS_UNSPARED:
            mesh = optimize(sample, self.prices(), legality, settings, chance, clock, former)
            self._numbers["gain"] = mesh.single_cost - mesh.cost
            return mesh
        mesh = optimize(sample.part(~held), self.prices(), legality, settings, chance, clock, former)
        self._numbers["gain"] = 0.0
        if len(mesh.routes) == 1:
            return refine_routes(mesh, sample, self.prices(), legality)
        # Without attributes no tree can split, so this search finds the best single route.
        blind = Sample(buckets=sample.buckets[:, :0], outcomes=sample.outcomes)
        single = optimize(blind, self.prices(), legality, settings, chance, clock)
        saved = single.price_rows(sample.part(held), self.prices()) - mesh.price_rows(sample.part(held), self.prices())
        overhead = settings.overheads.estimate(len(mesh.routes))
        doubt = float(saved.std()) / np.sqrt(max(len(saved), 1))
        if saved.mean() <= overhead + SURE_OF_SAVING * doubt:
            return refine_routes(single, sample, self.prices(), legality)
        self._numbers["gain"] = float(saved.mean())
        return refine_routes(mesh, sample, self.prices(), legality)

    def _overheads(self) -> Overheads:
        if self._plan.costs == "unit":
            return Overheads(level=0.0, leg=CALLS_PER_ROUTE, rows=self._numbers["batch"])
        step = step_price(list(self._hops.values()), self._price_list, self._plan.costs)
        return Overheads(leg=STEPS_PER_ORDER * step, rows=self._numbers["batch"])

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values, and arrays."""
        plain = {
            "statistics": [[name, s.rows_in, s.rows_out, s.seconds] for name, s in self._statistics.items()],
            "current": None if self.current is None else self.current.snapshot(),
            "reason": self._reason,
            "numbers": dict(self._numbers),
            "total": self._reservoir.total,
            "hops": [list(hop) for hop in self._hops.values()],
            "guard": self.guard.snapshot(),
            "editions": self._editions.snapshot(),
        }
        return plain, self._reservoir.snapshot()

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Go on from a snapshot of the same operators."""
        self._statistics = {name: Statistic(rows, 0, out, seconds) for name, rows, out, seconds in plain["statistics"]}
        self.current = None if plain["current"] is None else Generation.restore(plain["current"])
        self._reason = plain["reason"]
        # A snapshot from before gains were kept has what its mesh promised, and no guard.
        mesh = None if self.current is None else self.current.mesh
        gain = 0.0 if mesh is None else mesh.single_cost - mesh.cost
        self._numbers = dict(plain["numbers"])
        self._numbers.setdefault("gain", gain)
        self._numbers.setdefault("next", 0 if self.current is None else self.current.number + 1)
        self._hops = {operator: Hop(operator, pattern) for operator, pattern in plain.get("hops", ())}
        if "guard" in plain:
            self.guard.restore(plain["guard"])
        self._reservoir.restore(plain["total"], arrays)
        self._editions.restore(plain.get("editions", ()))


class Handed(NamedTuple):
    """A sample that somebody else has taken: for each row its buckets, and a column for each hop's outcomes."""

    hops: Sequence[Hop]
    statistics: Sequence[Statistic]
    buckets: Buckets
    outcomes: Integers
    editions: Sequence[int]

    @staticmethod
    def of(sample: Observation) -> Handed:
        """Look at the rows now: later they are gone."""
        outcomes = np.stack([np.asarray(counts, np.int64) for counts in sample.outcomes], axis=1)
        return Handed(sample.hops, sample.statistics, sample.buckets(), outcomes, sample.buckets.editions())

    def plain(self) -> list[Any]:
        """The hops and their statistics."""
        rows = [[s.rows_in, s.evaluated, s.rows_out, s.seconds] for s in self.statistics]
        return [[list(hop) for hop in self.hops], rows, list(self.editions)]

    def arrays(self) -> dict[str, Any]:
        """The rows."""
        return {"buckets": np.ascontiguousarray(self.buckets), "outcomes": self.outcomes}

    @staticmethod
    def restore(plain: Sequence[Any], buckets: Buckets, outcomes: Integers) -> Handed:
        """From a snapshot."""
        hops, rows, editions = plain
        return Handed([Hop(*hop) for hop in hops], [Statistic(*row) for row in rows], buckets, outcomes, editions)
