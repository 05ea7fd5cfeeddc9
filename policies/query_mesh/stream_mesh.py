"""The mesh of one stream, and when it is decided anew.

Section 5 of the Query Mesh paper has a self-routing fabric that executes a mesh. Here the router executes, and this
class keeps what is known of one stream's rows and the generation of the mesh that rows set out on.

It decides in stages: soon from a hundred rows, and better from two and four hundred, unless the first have said enough.
Later it decides when there is twice as much evidence as at the last decision or another whole sample. When the mesh
breaks a promise (`promise`), or its first operators treat classes otherwise than before (`first_hops`), the stages
begin again. Older rows stay evidence if the new ones agree with them, and former meshes are tried first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Clock, Prices
from eddy.observe.insight import Decision
from eddy.observe.statistics import Statistic, fading
from eddy.policies.query_mesh.evidence import Evidence
from eddy.policies.query_mesh.finding import Finder
from eddy.policies.query_mesh.first_hops import FirstHops, Looks
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.query_mesh.operator_rates import OperatorRates
from eddy.policies.query_mesh.optimizer import Settings
from eddy.policies.query_mesh.rusters import Handed
from eddy.policies.shared.editions import Editions
from eddy.policies.shared.guard import Guard
from eddy.policies.shared.legality import Legality
from eddy.policies.shared.merit import Costs
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats

STAGES = (0.1, 0.2, 0.4)
"""Shares of |S| at which it decides, the first time and after a change: a coarse mesh soon is worth more than a fine
one late, and what is clear from a hundred rows needs no more of them."""

WHOLE_SAMPLE = 1.0
"""The last stage, where something tells rows apart, and too few rows say how: 200 values, and two rows of each."""

ROWS_PER_TUPLE = 40
"""Rows of the sample for each training tuple that are enough for the routes of a mesh."""

ROWS_PER_BUCKET = 8
"""Rows of the sample for each bucket that are enough to put it on its way: of fewer, chance says too much."""

SAMPLING_PRICE, FIRST_SAMPLING_PRICE = 0.005, 0.03
"""The shares of the rows' cost that may go into sampling, since samples take all operators: in the long run, and until
there are enough of them. A mesh from twice the sample saves a few per cent more, so it has to be paid for slowly."""

SMALLEST_SAMPLE = 0.05
"""The share of |S| that is sampled at a time: a look at few rows by all attributes costs as much as one at many."""

LARGEST_BURST = 0.25
"""The largest share of a round that is sampled, once anything is known."""

RENEWAL_PRICE = 0.1
"""The share of the rows' cost that may go into new samples after broken promises, besides as much as the promises were
missed by. So a sudden change after a calm time is followed at once, and one that goes on for long costs at most twice
what knowing of it would cost. It is the rule for renting or buying: rent until the rent paid is the price, then buy."""

DECIDING_SHARE = 0.02
"""The share of the operators' seconds that may go into deciding, except after a broken promise."""

ROWS_REMEMBERED = 10_000
"""Rows after which the size of a round counts half in the usual size."""

ROWS_OF_A_TRY = 10_000
"""Rows whose cost the first try may take where it gains nothing: a first sample alone takes as much as a thousand."""

USUAL_TRY = 50e-3
"""Seconds that the first decision takes with six operators and eight attributes, on a busy machine."""

MOST_FORMER = 4
"""Former meshes that are kept: a stream that returns to what it was mostly has two or three states."""

NUMBERS = ("batch", "due", "decided", "known", "patience", "budget", "gain", "stage", "since", "next")
"""Rows of a usual round; due to be sampled; sampled when it was decided, and how many of them were evidence; how often
nothing came of it; seconds that may be spent on deciding; what the mesh saves of a row beside the best single route, on
rows that it was not made for; the stage that it waits for, 0 for none; rows sampled before the change; the number of
the next decision."""

CLASSES_CHANGED = "{} treats classes otherwise than before, by {:.1f} standard errors"

NO_TABLES: Mapping[str, Any] = {"old": (), "new": ()}


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
        self,
        stream: str,
        shape: tuple[int, int],
        operators: Sequence[str],
        plan: MeshSettings,
        prices: Prices,
        reason: str,
    ) -> None:
        self._stream = stream
        self._plan = plan
        self.guard = Guard(plan.costs, prices, ROWS_OF_A_TRY, USUAL_TRY)
        self.operators = tuple(operators)
        self._shape = shape
        self._editions = Editions(shape[0])
        self.rates = OperatorRates(operators, plan.costs, plan.window, prices)
        self.evidence = Evidence(shape, self.operators, plan.sample, self.rates)
        self.current: Generation | None = None
        self._reason = reason
        self._noticed = ""
        self._former: list[Mesh] = []
        self._first_hops = FirstHops(*shape)
        self.looks = Looks(is_free=plan.costs == "unit")
        self._numbers = dict.fromkeys(NUMBERS, 0.0)
        self._numbers["stage"] = self._size(STAGES[0])

    @property
    def decision(self) -> Decision | None:
        """The decision that rows go by, for reports."""
        if self.current is None or self.guard.is_closed:
            return None
        return self.current.decision(self._stream, self.operators)

    @property
    def is_calm(self) -> bool:
        """Whether nothing may change that would be noticed: it was given up for now, or has but one operator."""
        return len(self.operators) == 1 or self.guard.is_waiting

    def _size(self, share: float) -> int:
        """Rows that are a share of a whole sample."""
        return max(int(self._plan.sample * share), 1)

    @property
    def _fresh(self) -> int:
        """Rows sampled since the stages began."""
        return self.evidence.rows.total - int(self._numbers["since"])

    def count_samples(self, rows: int) -> int:
        """Say how many of a round's rows to sample."""
        # Three cases: nothing is known yet, so take what the first decision needs; a decision waits for its sample, so
        # take what is missing, up to `LARGEST_BURST`; or a mesh is at work, so save up until a burst is worth it.
        numbers, whole = self._numbers, self._plan.sample
        newest = 1 - fading(float(rows), ROWS_REMEMBERED)
        numbers["batch"] += (rows - numbers["batch"]) * (newest if numbers["batch"] else 1.0)
        most = max(int(rows * LARGEST_BURST), 1)
        if numbers["stage"] == self._size(STAGES[0]) and self._size(STAGES[1]) <= most:
            # The second stage comes in one round as well, and a decision costs as much as the rows between the two.
            numbers["stage"] = float(self._size(STAGES[1]))
        missing = max(int(numbers["stage"]) - self._fresh, 0)
        if self.current is None:
            return min(rows, missing)
        if numbers["stage"]:
            return min(missing, most)
        numbers["due"] += rows * self._share(self.current.mesh)
        burst = min(int(numbers["due"]), most)
        if burst < min(max(whole * SMALLEST_SAMPLE, 1), most):
            return 0
        numbers["due"] -= burst
        return burst

    def count_looks(self, rows: int) -> int:
        """Say how many of a round's rows to look at once they have taken their first hop."""
        if self.current is None or self._numbers["stage"] or not self._shape[0]:
            return 0
        return self.looks.count(rows)

    def look(self, looks: Iterable[tuple[int, int, Buckets, Floats]]) -> None:
        """Take note of what the first operator of a way made of some rows."""
        for way, operator, buckets, outcomes in looks:
            change = self._first_hops.add(way, operator, buckets, outcomes)
            if change is not None and not self._noticed:
                self._noticed = CLASSES_CHANGED.format(self.operators[change.operator], change.sure)

    def _begin_stages(self, reason: str) -> None:
        """Sample and decide anew: the stream has changed."""
        self._reason, self._noticed = reason, ""
        self._numbers["since"], self._numbers["stage"] = self.evidence.rows.total, self._size(STAGES[0])
        if self.current is not None:
            mesh = self.current.mesh
            self._former = [*(one for one in self._former if not one.is_like(mesh)), mesh][-MOST_FORMER:]

    def _share(self, mesh: Mesh) -> float:
        """The share of rows to sample, by the share of the cost."""
        price = SAMPLING_PRICE if self._is_enough(mesh) else FIRST_SAMPLING_PRICE
        return min(price * mesh.usual / self._price_sample(mesh), 1.0)

    def _is_enough(self, mesh: Mesh) -> bool:
        """Tell whether more rows would hardly make a better mesh."""
        rows, whole = len(self.evidence.rows), self._plan.sample
        if mesh.training == 1:
            return rows >= self._size(STAGES[-1])
        return rows >= min(ROWS_PER_TUPLE * mesh.training, whole)

    def learn(self, hops: Sequence[Hop], statistics: Sequence[Statistic]) -> None:
        """Count what operators did."""
        seconds = self.rates.count(hops, statistics)
        self._numbers["budget"] += DECIDING_SHARE * seconds
        self.looks.earn(seconds)

    def begin_anew(self) -> None:
        """Forget the sample: it is of a stream that was given up for a while."""
        self.evidence.rows.keep(0)
        self._numbers["due"] = 0.0
        if self.current is not None:
            self._begin_stages("tried again, since it did not pay before")

    def follow(self, editions: Sequence[int], attributes: Sequence[int] | None = None) -> bool:
        """Drop the sample and meshes whose buckets mean something else now.

        The editions are those of some attributes, or of all. Says whether there are such buckets.
        """
        changed = self._editions.follow(editions, attributes)
        if not changed:
            return False
        self.evidence.forget()
        self._first_hops = FirstHops(*self._shape)
        self._former = [mesh for mesh in self._former if set(changed).isdisjoint(mesh.tree.used)]
        if self.current is not None and not set(changed).isdisjoint(self.current.mesh.tree.used):
            self.current = None
            self._begin_stages("attributes were cut into other buckets")
        elif self._numbers["stage"]:
            self._numbers["since"] = self.evidence.rows.total
        return True

    def take_over(self, handed: Handed) -> None:
        """Learn from a sample that somebody else has taken."""
        if self.guard.wake():
            self.begin_anew()
        self.follow(handed.editions)
        self.learn(handed.hops, handed.statistics)
        self.evidence.keep(handed.hops, handed.statistics, handed.buckets, list(handed.outcomes.T))

    def save(self, rows: int) -> None:
        """Tell the guard what rows save by the mesh."""
        if self.current is not None and len(self.current.mesh.routes) > 1:
            self.guard.save(rows * self._numbers["gain"])

    def pay_sample(self, rows: int) -> None:
        """Tell the guard what rows that go to all operators cost."""
        self.guard.pay_sample(rows * max(float(self.rates.prices().sum()) - self.rates.price_common(), 0.0))

    def decide(self, legality: Legality, seed: int, clock: Clock) -> None:
        """Decide anew, if there is a reason to."""
        if not self._is_time():
            return
        started = clock()
        fresh = self._fresh if self._numbers["stage"] else None
        rows = self.evidence.choose_rows(fresh)
        sample, present = self.evidence.as_sample(rows), self.current
        finder = Finder(
            settings=replace(self._plan.settings, overheads=self.rates.overheads(self._numbers["batch"])),
            prices=self.rates.prices(),
            legality=legality,
            chance=np.random.default_rng(seed),
            clock=clock,
        )
        # After a change the present mesh is the last of the former ones; before the first it has no rivals.
        former = self._former if self._numbers["stage"] else ()
        mesh, self._numbers["gain"] = finder.find(sample, None if present is None else present.mesh, former)
        how = (self._plan.tolerance, self._plan.window)
        number = int(self._numbers["next"])
        self._numbers["next"] += 1
        decided = Generation.decide(number, self._reason, mesh, sample, finder.prices, legality, how)
        self._watch_first_hops(decided, rows, legality)
        seconds = clock() - started
        self._end_stage(mesh, rows)
        self.current = replace(decided, seconds=seconds)
        self._numbers["decided"], self._numbers["known"] = self.evidence.rows.total, rows
        self._numbers["budget"] -= seconds

    def _watch_first_hops(self, decided: Generation, rows: int, legality: Legality) -> None:
        """Take the sample for the reference of what comes."""
        buckets, outcomes = self.evidence.rows.newest(rows)
        self._first_hops = FirstHops(*self._shape)
        given = decided.mesh.tree.routes(buckets[:, list(decided.mesh.tree.used)])
        for way, wheel in enumerate(decided.wheels):
            first = [operator for operator in wheel.sets[0] if operator in legality.find_ready(())]
            self._first_hops.expect(way, first, buckets[given == way], outcomes[given == way])

    def _end_stage(self, mesh: Mesh, rows: int) -> None:
        """Wait for the next stage, unless all is known."""
        numbers = self._numbers
        self._reason = ""
        if not numbers["stage"]:
            if self.current is not None and mesh.is_like(self.current.mesh):
                numbers["patience"] += 1
            return
        stages = (*STAGES, WHOLE_SAMPLE) if mesh.training > 1 else STAGES
        later = [size for size in map(self._size, stages) if size > numbers["stage"]]
        # Where nothing tells rows apart, that may be because there are too few of them; and where something does, too
        # few may hide one more training tuple.
        least = max(ROWS_PER_TUPLE * (mesh.training + 1), ROWS_PER_BUCKET * self.evidence.count_buckets(mesh.tree.used))
        is_known = len(mesh.routes) > 1 and rows >= least
        if later and not is_known:
            numbers["stage"] = later[0]
            return
        if numbers["since"]:
            self.evidence.rows.keep(rows)
            if self._former and mesh.is_like(self._former[-1]):
                numbers["patience"] += 1
        numbers["stage"] = 0

    def _is_time(self) -> bool:
        """Tell whether to decide now; keeps the reason.

        A broken promise begins the stages: the sample is of a stream that has changed.
        """
        numbers, rows = self._numbers, len(self.evidence.rows)
        if not numbers["stage"] and self.current is not None:
            # Classes that have changed are noticed once, and followed as soon as that may pay.
            broken = self._noticed or self.current.find_breach(self.operators)
            if broken and self._is_worth_it(self.current):
                self._begin_stages(broken)
                return False
            if self.evidence.rows.total < numbers["decided"] + min(numbers["known"], self._plan.sample):
                return False
            if not self._can_afford():
                return False
        elif self._fresh < numbers["stage"]:
            return False
        self._reason = self._reason or f"{rows:,} rows sampled"
        return rows > 0

    def _is_worth_it(self, current: Generation) -> bool:
        """Tell whether a new sample pays.

        The price is twice as high each time that nothing came of it.
        """
        price = self._size(STAGES[-1]) * self._price_sample(current.mesh) * 2 ** self._numbers["patience"]
        return RENEWAL_PRICE * current.watch.spent + current.lost >= price

    def _price_sample(self, mesh: Mesh) -> float:
        """Price a row that goes to all operators, beside its route."""
        every = float(self.rates.prices().sum())
        usual = mesh.usual
        # There is a floor: where all operators together hardly cost more than the route, sampling is nearly free.
        return max(every - usual, usual)

    def _can_afford(self) -> bool:
        """Tell whether deciding again costs little beside operators."""
        return self._plan.costs == "unit" or self._numbers["budget"] > 0 or self.current is None

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values, and arrays."""
        plain = {
            **self.rates.snapshot(),
            "current": None if self.current is None else self.current.snapshot(),
            "reason": self._reason,
            "noticed": self._noticed,
            "class prices": self.evidence.prices.snapshot(),
            "numbers": {name: float(number) for name, number in self._numbers.items()},
            "total": self.evidence.rows.total,
            "begun": self.evidence.rows.begun,
            "former": [mesh.snapshot() for mesh in self._former],
            "first hops": self._first_hops.snapshot(),
            "looks": self.looks.snapshot(),
            "guard": self.guard.snapshot(),
            "editions": self._editions.snapshot(),
        }
        return plain, self.evidence.rows.snapshot()

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Go on from a snapshot of the same operators."""
        self.rates.restore(plain)
        self.current = None if plain["current"] is None else Generation.restore(plain["current"])
        self._reason, self._noticed = plain["reason"], plain.get("noticed", "")
        self._numbers = {name: float(plain["numbers"].get(name, 0.0)) for name in NUMBERS}
        if "next" not in plain["numbers"] and self.current is not None:
            self._numbers["next"] = self.current.number + 1.0
        # A snapshot from before there were stages has a mesh, or begins with the first of them.
        if "stage" not in plain["numbers"]:
            self._numbers["stage"] = 0.0 if self.current is not None else float(self._size(STAGES[0]))
            self._numbers["known"] = self._numbers["decided"]
        self._former = [Mesh.restore(mesh) for mesh in plain.get("former", ())]
        self._first_hops.restore(plain.get("first hops", NO_TABLES))
        self.looks.restore(plain.get("looks", (0.0, 0.0)))
        self._editions.restore(plain.get("editions", ()))
        self.evidence.prices.restore(plain.get("class prices", ((), ())))
        if "guard" in plain:
            self.guard.restore(plain["guard"])
        self.evidence.rows.restore(plain["total"], plain.get("begun", 0), arrays)
