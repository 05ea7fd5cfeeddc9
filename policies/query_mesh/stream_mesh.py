"""The mesh of one stream, and when it is decided anew.

Section 5 of the Query Mesh paper has a self-routing fabric that executes a mesh. Here the router executes, and this
class keeps what is known of one stream's rows and the generation of the mesh that rows set out on.

It decides in stages (`schedule`). When the mesh breaks a promise (`promise`), or its first operators treat classes
otherwise than before (`first_hops`), the stages begin again. Older rows stay evidence if the new ones agree with them,
and former meshes are tried first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eddy.classes.classifier import Look
from eddy.classes.divider import Buckets, ValueNumbers
from eddy.contracts import Clock, Prices
from eddy.observe.insight import Decision
from eddy.observe.statistics import Statistic
from eddy.policies.query_mesh.evidence import Evidence
from eddy.policies.query_mesh.finding import Finder, Found
from eddy.policies.query_mesh.first_hops import FirstHops, Looks
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.query_mesh.operator_rates import OperatorRates
from eddy.policies.query_mesh.optimizer import Settings
from eddy.policies.query_mesh.promise import Noting
from eddy.policies.query_mesh.rusters import Handed
from eddy.policies.query_mesh.schedule import Schedule
from eddy.policies.shared.editions import Editions
from eddy.policies.shared.guard import Guard
from eddy.policies.shared.legality import Legality
from eddy.policies.shared.merit import Costs
from eddy.policies.shared.sample import Sample
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

ROWS_OF_A_TRY = 10_000
"""Rows whose cost the first try may take where it gains nothing: a first sample alone takes as much as a thousand."""

USUAL_TRY = 50e-3
"""Seconds that the first decision takes with six operators and eight attributes, on a busy machine."""

LEAST_SEARCH = 2e-3
"""Seconds of a search at least, however cheap the sample was: some looks."""

MOST_FORMER = 4
"""Former meshes that are kept: a stream that returns to what it was mostly has two or three states."""

SURE_OF_ORDERS = 2.0
"""Outcomes counted by bucket, for each of the sample, from which the orders that follow from them are not drawn."""

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
        self._told: tuple[Generation, Decision] | None = None
        self._former: list[Mesh] = []
        self._first_hops = FirstHops(*shape)
        self.looks = Looks(is_free=plan.costs == "unit")
        self.notes = Noting()
        self.is_noted = True
        self.schedule = Schedule(plan.sample, self.evidence, self.rates)

    @property
    def decision(self) -> Decision | None:
        """The decision that rows go by, for reports."""
        if self.current is None or self.guard.is_closed:
            return None
        # It is told of every micro-batch, and the same as long as nothing is noted.
        if self.is_noted or self._told is None or self._told[0] is not self.current:
            self._told = self.current, self.current.decision(self._stream, self.operators)
        return self._told[1]

    @property
    def is_calm(self) -> bool:
        """Whether nothing may change that would be noticed: it was given up for now, or has but one operator."""
        return len(self.operators) == 1 or self.guard.is_waiting

    @property
    def is_new(self) -> bool:
        """Whether it waits for its first look, or for the first sample of a try."""
        return len(self.operators) > 1 and self.current is None and not self.guard.is_waiting

    @property
    def is_urgent(self) -> bool:
        """Whether the mesh waits for a sample to be decided anew: until then rows go a way that is not theirs."""
        return self.current is not None and self.schedule.is_staged and not self.guard.is_closed

    def count_samples(self, rows: int) -> int:
        """Say how many of a round's rows to sample."""
        mesh = None if self.current is None else self.current.mesh
        # A mesh that pays goes on, and is made better when it has paid for what it has cost.
        is_paying = self.schedule.numbers["gain"] > 0 and mesh is not None
        may_sample = self._plan.costs == "unit" or not is_paying or not self.guard.is_overdrawn
        return self.schedule.count_samples(rows, mesh, may_sample=may_sample)

    def begin_round(self, sampled: int) -> None:
        """Say whether this round is noted: in any case while something is sampled, waited for, or counted by bucket."""
        is_learning = self.current is None or self.schedule.is_staged or self.evidence.is_counting
        self.is_noted = sampled > 0 or is_learning or self.notes.is_due

    def count_looks(self, rows: int) -> int:
        """Say how many of a round's rows to look at once they have taken their first hop."""
        if self.current is None or self.schedule.is_staged or not self._shape[0]:
            return 0
        return self.looks.count(rows, is_noted=self.is_noted)

    def look(self, looks: Iterable[tuple[int, int, Buckets, Floats]]) -> None:
        """Take note of what the first operator of a way made of some rows."""
        for way, operator, buckets, outcomes in looks:
            change = self._first_hops.add(way, operator, buckets, outcomes)
            if change is not None and not self._noticed:
                self._noticed = CLASSES_CHANGED.format(self.operators[change.operator], change.sure)

    def _begin_stages(self, reason: str) -> None:
        """Sample and decide anew: the stream has changed."""
        self._reason, self._noticed = reason, ""
        self.schedule.begin()
        # A grid is made of tables, which know more by now.
        if self.current is not None and not self.current.mesh.is_grid:
            mesh = self.current.mesh
            self._former = [*(one for one in self._former if not one.is_like(mesh)), mesh][-MOST_FORMER:]

    def learn(self, hops: Sequence[Hop], statistics: Sequence[Statistic]) -> None:
        """Count what operators did."""
        self._earn(self.rates.count(hops, statistics))

    def _earn(self, seconds: float) -> None:
        """Operators took so long: shares of it may go into learning."""
        self.schedule.earn(seconds)
        self.looks.earn(seconds)
        self.notes.earn(seconds)

    def begin_anew(self) -> None:
        """Forget the sample: it is of a stream that was given up for a while."""
        self.evidence.forget_rows()
        self.schedule.numbers["due"] = 0.0
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
        elif self.schedule.is_staged:
            self.schedule.numbers["since"] = self.evidence.rows.total
        return True

    def refine(self, look: Look) -> None:
        """Tell values of the attributes that operators go by apart one by one, where they are hashed."""
        if tellers := {*self.evidence.tellers, *self.evidence.refined}:
            self.evidence.refine(look.refine(sorted(tellers)))

    def number(self, look: Look, rows: Integers, buckets: Buckets) -> ValueNumbers | None:
        """Give the numbers of some rows' values beside their buckets; None where none are told apart."""
        refined = list(self.evidence.refined)
        if not refined:
            return None
        numbers = buckets.astype(np.uint16)
        numbers[:, refined] = look.numbers(refined, refined, rows)
        return numbers

    def take_over(self, handed: Handed) -> None:
        """Learn from a sample that somebody else has taken."""
        if self.guard.wake():
            self.begin_anew()
        self.follow(handed.editions)
        self.learn(handed.hops, handed.statistics)
        self.evidence.keep(handed.hops, handed.statistics, handed.buckets, list(handed.outcomes.T))

    def set_out(self, rows: int) -> None:
        """Take note of rows that go by the mesh: the guard is told what they save by it."""
        if self.current is None:
            return
        if len(self.current.mesh.routes) > 1:
            self.guard.save(rows * self.schedule.numbers["gain"])
        if not self.is_noted:
            self.notes.pass_by(rows)
            self._earn(rows * self.current.mesh.usual)

    def pay_sample(self, rows: int) -> None:
        """Tell the guard what rows that go to all operators cost."""
        self.guard.pay_sample(rows * max(float(self.rates.prices().sum()) - self.rates.price_common(), 0.0))

    def decide(self, legality: Legality, seed: int, clock: Clock) -> None:
        """Decide anew, if there is a reason to."""
        if not self._is_time():
            return
        started = clock()
        schedule, rates = self.schedule, self.evidence.by_bucket
        rows = self.evidence.choose_rows(schedule.fresh if schedule.is_staged else None)
        sample, prices = self.evidence.as_sample(rows), self.rates.prices()
        is_open = self.evidence.prices.is_open and self.evidence.is_timing
        if is_open and schedule.is_staged and self.current is not None and schedule.wait_on():
            return
        mesh, schedule.numbers["gain"] = self._find(sample, prices, legality, seed, clock)
        number = int(schedule.numbers["next"])
        schedule.numbers["next"] += 1
        how = (self._plan.tolerance, self._plan.window)
        promised = rates.predict(sample.told, self.rates.shares()) if mesh.is_grid else sample.outcomes
        # Rates that are from the sample alone are no surer than it: a lottery learns the order from the rows that come.
        is_counted = rates.rows > SURE_OF_ORDERS * sample.outcomes.size
        believed = promised, promised if is_counted else sample.outcomes
        decided = Generation.decide(number, self._reason, mesh, sample, prices, legality, how, believed)
        self._watch_first_hops(decided, sample, rows, legality)
        seconds = clock() - started
        self._end_stage(mesh, rows)
        self.current = replace(decided, seconds=seconds)
        if schedule.numbers["gain"] > 0:
            self.guard.renew()
        schedule.decide(rows, seconds)

    def _find(self, sample: Sample, prices: Floats, legality: Legality, seed: int, clock: Clock) -> Found:
        """Find a mesh: by a search, or by what has been counted since, if nothing else is new."""
        present = None if self.current is None else self.current.mesh
        is_recount = present is not None and present.is_grid and self.schedule.is_recount
        if not is_recount:
            self.evidence.find_tellers(len(sample))
        finder = Finder(
            settings=self._settings(len(sample)),
            prices=prices,
            legality=legality,
            chance=np.random.default_rng(seed),
            clock=clock,
            by_bucket=self.evidence.by_bucket,
            priced=self.evidence.prices.tables,
            is_independent=self.evidence.is_independent,
        )
        if present is not None and is_recount:
            return finder.recount(sample, present)
        # After a change the present mesh is the last of the former ones; before the first it has no rivals.
        return finder.find(sample, present, self._former if self.schedule.is_staged else ())

    def _settings(self, rows: int) -> Settings:
        """The settings of a search by so many rows: it takes no longer than it took to sample them."""
        settings, overheads = self._plan.settings, self.rates.overheads(self.schedule.numbers["batch"])
        if self._plan.costs == "unit":
            return replace(settings, overheads=overheads)
        sampling = max(rows * float(self.rates.prices().sum()), LEAST_SEARCH)
        effort = replace(settings.effort, seconds=min(settings.effort.seconds, sampling))
        return replace(settings, overheads=overheads, effort=effort)

    def _watch_first_hops(self, decided: Generation, sample: Sample, rows: int, legality: Legality) -> None:
        """Take the sample for the reference of what comes."""
        buckets, outcomes = self.evidence.rows.newest(rows)
        self._first_hops = FirstHops(*self._shape)
        given = decided.mesh.give_ways(sample)
        for way, wheel in enumerate(decided.wheels):
            first = [operator for operator in wheel.sets[0] if operator in legality.find_ready(())]
            self._first_hops.expect(way, first, buckets[given == way], outcomes[given == way])

    def _end_stage(self, mesh: Mesh, rows: int) -> None:
        """Wait for the next stage, unless all is known."""
        schedule = self.schedule
        self._reason = ""
        was_staged = schedule.is_staged
        if was_staged and not schedule.end_stage(mesh, rows):
            return
        if not was_staged:
            is_idle = self.current is not None and mesh.is_like(self.current.mesh)
        else:
            is_idle = bool(schedule.numbers["since"] and self._former and mesh.is_like(self._former[-1]))
            if schedule.numbers["since"]:
                self.evidence.rows.keep(rows)
        schedule.numbers["patience"] += is_idle

    def _is_time(self) -> bool:
        """Tell whether to decide now; keeps the reason.

        A broken promise begins the stages: the sample is of a stream that has changed.
        """
        rows = len(self.evidence.rows)
        if not self.schedule.is_staged and self.current is not None:
            # Classes that have changed are noticed once, and followed as soon as that may pay.
            broken = self._noticed or (self.is_noted and self.current.find_breach(self.operators))
            if broken and self.schedule.is_renewal_worth_it(self.current):
                self._begin_stages(broken)
                return False
        if not self.schedule.is_time(self.current):
            return False
        self._reason = self._reason or f"{rows:,} rows sampled"
        return rows > 0

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values, and arrays."""
        plain = {
            **self.rates.snapshot(),
            "current": None if self.current is None else self.current.snapshot(),
            "reason": self._reason,
            "noticed": self._noticed,
            "independent": self.evidence.is_independent,
            "class prices": self.evidence.prices.snapshot(),
            "tried": self.evidence.tried,
            "numbers": {name: float(number) for name, number in self.schedule.numbers.items()},
            "total": self.evidence.rows.total,
            "begun": self.evidence.rows.begun,
            "former": [mesh.snapshot() for mesh in self._former],
            "first hops": self._first_hops.snapshot(),
            "looks": self.looks.snapshot(),
            "notes": self.notes.snapshot(),
            "guard": self.guard.snapshot(),
            "editions": self._editions.snapshot(),
            "refined": [[a, buckets.tolist()] for a, buckets in self.evidence.refined.items()],
        }
        return plain, self.evidence.rows.snapshot() | self.evidence.by_bucket.snapshot()

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Go on from a snapshot of the same operators."""
        self.rates.restore(plain)
        self.current = None if plain["current"] is None else Generation.restore(plain["current"])
        self._reason, self._noticed = plain["reason"], plain.get("noticed", "")
        self.schedule.restore(plain["numbers"], self.current)
        self._former = [Mesh.restore(mesh) for mesh in plain.get("former", ())]
        self._first_hops.restore(plain.get("first hops", NO_TABLES))
        self.looks.restore(plain.get("looks", (0.0, 0.0)))
        self.notes.restore(plain.get("notes", (0.0, 0.0)))
        self._editions.restore(plain.get("editions", ()))
        self.evidence.prices.restore(plain.get("class prices", ((), ())))
        self.evidence.tried = plain.get("tried", 0)
        if "guard" in plain:
            self.guard.restore(plain["guard"])
        self.evidence.rows.restore(plain["total"], plain.get("begun", 0), arrays)
        self.evidence.by_bucket.restore(arrays)
        self.evidence.refine({a: np.array(buckets, np.uint8) for a, buckets in plain.get("refined", ())})
        self.evidence.is_independent = plain.get("independent", False)
