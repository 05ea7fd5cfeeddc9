"""The mesh of one stream, and when it is decided anew.

Section 5 of the Query Mesh paper has a self-routing fabric that executes a mesh. Here the router executes, and this
class keeps what is known of one stream's rows and the generation of the mesh that rows set out on.

It decides in stages (`schedule`). When the mesh breaks a promise (`promise`), or its first operators treat classes
otherwise than before (`first_hops`), the stages begin again. Older rows stay evidence if the new ones agree with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eddy.classes.classifier import Look
from eddy.classes.divider import Buckets, ValueNumbers
from eddy.contracts import Clock, Prices
from eddy.observe.insight import Decision
from eddy.observe.statistics import Statistic
from eddy.policies.query_mesh.decision import Answer, Deciding, MeshSettings, Question, UnderWay
from eddy.policies.query_mesh.evidence import Evidence, OperatorRates
from eddy.policies.query_mesh.first_hops import FirstHops, Looks
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.query_mesh.promise import Noting
from eddy.policies.query_mesh.rusters import Handed
from eddy.policies.query_mesh.schedule import Pace, Schedule
from eddy.policies.shared.editions import Editions
from eddy.policies.shared.guard import Guard
from eddy.policies.shared.legality import Legality
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

ROWS_OF_A_TRY = 10_000
"""Rows whose cost the first try may take where it gains nothing: a first sample alone takes as much as a thousand."""

USUAL_TRY = 50e-3
"""Seconds that the first decision takes with six operators and eight attributes, on a busy machine."""

LEAST_DECISION = 10e-3
"""Seconds that a decision may take at least, however cheap the sample was: a grid takes half, a search some looks."""

CLASSES_CHANGED = "{} treats classes otherwise than before, by {:.1f} standard errors"


class StreamMesh:
    """Samples, statistics and the current mesh of one stream.

    The order in a round is: `count_samples` says how many rows to sample, `learn` and `keep` count what came of them,
    and `decide` looks for another mesh where there is a reason to, in as many steps as the round pays for (`Pace`).
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
        # The mesh that rows went by when the stages began.
        self._former: Mesh | None = None
        self._first_hops = FirstHops(*shape)
        self.looks = Looks(is_free=plan.costs == "unit")
        self.notes = Noting()
        self.is_noted = True
        self.schedule = Schedule(plan.sample, self.evidence, self.rates)
        self.pace, self.under_way = Pace(plan.costs), UnderWay()

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
        is_idle = self.guard.is_waiting or bool(self.under_way)
        return len(self.operators) > 1 and self.current is None and not is_idle

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
        # A decision that is under way goes by the sample as it was.
        return self.schedule.count_samples(rows, mesh, may_sample=may_sample and not self.under_way)

    def begin_round(self, sampled: int) -> None:
        """Say whether this round is noted: in any case while something is sampled, waited for, or counted by bucket."""
        is_learning = self.current is None or self.schedule.is_staged or bool(self.under_way)
        is_learning = is_learning or self.evidence.is_counting
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
        self._former = None if self.current is None else self.current.mesh

    def learn(self, hops: Sequence[Hop], statistics: Sequence[Statistic], steps: int = 0) -> None:
        """Count what operators did, in so many steps."""
        seconds = self.rates.count(hops, statistics)
        self._earn(seconds)
        calls = sum(statistic.rows_in for statistic in statistics)
        self.pace.count(calls, seconds + steps * self.rates.price_step())

    def _earn(self, seconds: float) -> None:
        """Operators took so long: shares of it may go into learning."""
        self.schedule.earn(seconds)
        self.looks.earn(seconds)
        self.notes.earn(seconds)

    def begin_anew(self) -> None:
        """Forget the sample: it is of a stream that was given up for a while."""
        self.under_way.drop()
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
        self.under_way.drop()
        self.evidence.forget()
        self._first_hops = FirstHops(*self._shape)
        self._former = None
        if self.current is not None and not set(changed).isdisjoint(self.current.mesh.tree.used):
            self.current = None
            self._begin_stages("attributes were cut into other buckets")
        elif self.schedule.is_staged:
            self.schedule.numbers["since"] = self.evidence.rows.total
        return True

    def refine(self, look: Look) -> None:
        """Tell values of the attributes that operators go by apart one by one, where they are hashed."""
        if tellers := {*self.evidence.tellers, *self.evidence.refined}:
            refined = look.refine(sorted(tellers))
            if refined.keys() != self.evidence.refined.keys():
                self.under_way.drop()
            self.evidence.refine(refined)

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
        self.under_way.drop()
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
        """Go on with a decision, as far as this round pays for; begin one, if there is a reason to."""
        steps = self.pace.end_round()
        if not self.under_way:
            if not self._is_time():
                return
            self.under_way.ask(self._ask(seed))
        if not steps:
            return
        present = None if self.current is None else self.current.mesh
        deciding = self.under_way.go_on(
            lambda question: Deciding(question, self.evidence, self._plan, legality, present)
        )
        before, started = deciding.work.steps, clock()
        answer = deciding.go_on(steps)
        seconds = clock() - started
        deciding.seconds += seconds
        self.pace.take(deciding.work.steps - before, seconds)
        if answer is not None:
            self.under_way.drop()
            self._end(answer, deciding.seconds)

    def _ask(self, seed: int) -> Question:
        """Keep what a decision goes by, as it is now."""
        schedule, rates = self.schedule, self.rates
        mesh = None if self.current is None else self.current.mesh
        overheads = rates.overheads(schedule.numbers["batch"])
        return Question(
            number=int(schedule.numbers["next"]),
            reason=self._reason,
            seed=seed,
            fresh=schedule.fresh if schedule.is_staged else None,
            shares=rates.shares().copy(),
            prices=rates.prices().copy(),
            step=rates.price_step(),
            overheads=overheads,
            steps=self.pace.count_budget(self._count_seconds()),
            tables=self.evidence.by_bucket.copy(),
            is_recount=mesh is not None and mesh.is_grid and schedule.is_recount,
            may_wait=schedule.is_staged and schedule.may_wait,
        )

    def _count_seconds(self) -> float:
        """The seconds that a decision may take: no longer than it took to sample its rows."""
        most = self._plan.seconds
        if self._plan.costs == "unit":
            return most
        return min(most, max(len(self.evidence.rows) * float(self.rates.prices().sum()), LEAST_DECISION))

    def _end(self, answer: Answer, seconds: float) -> None:
        """Go by what was decided."""
        schedule, evidence, rows = self.schedule, self.evidence, answer.rows
        evidence.prices = answer.prices
        if answer.decided is None:
            schedule.wait_on()
            return
        evidence.is_independent = answer.is_independent
        if answer.tellers is not None:
            told, outcomes = evidence.tell(rows)
            evidence.by_bucket.take_up(answer.tellers, told, outcomes, anew=rows < len(evidence.rows))
        schedule.numbers["gain"] = answer.gain
        schedule.numbers["next"] += 1
        self._first_hops = answer.first_hops
        self._end_stage(answer.decided.mesh, rows)
        self.current = replace(answer.decided, seconds=seconds)
        if answer.gain > 0:
            self.guard.renew()
        schedule.decide(rows, seconds)

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
            is_idle = bool(schedule.numbers["since"]) and self._former is not None and mesh.is_like(self._former)
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
            "former": None if self._former is None else self._former.snapshot(),
            "first hops": self._first_hops.snapshot(),
            "looks": self.looks.snapshot(),
            "notes": self.notes.snapshot(),
            "guard": self.guard.snapshot(),
            "editions": self._editions.snapshot(),
            "pace": self.pace.snapshot(),
            "told": self.decision is not None,
            "refined": [[a, buckets.tolist()] for a, buckets in self.evidence.refined.items()],
        }
        asked, arrays = self.under_way.snapshot()
        return plain | asked, self.evidence.rows.snapshot() | self.evidence.by_bucket.snapshot() | arrays

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Go on from a snapshot of the same operators."""
        self.rates.restore(plain)
        self.current = None if plain["current"] is None else Generation.restore(plain["current"])
        self._reason, self._noticed = plain["reason"], plain["noticed"]
        self.schedule.restore(plain["numbers"])
        self._former = None if plain["former"] is None else Mesh.restore(plain["former"])
        self._first_hops.restore(plain["first hops"])
        self.looks.restore(plain["looks"])
        self.notes.restore(plain["notes"])
        self._editions.restore(plain["editions"])
        self.evidence.prices.restore(plain["class prices"])
        self.evidence.tried = plain["tried"]
        self.guard.restore(plain["guard"])
        self.evidence.rows.restore(plain["total"], plain["begun"], arrays)
        self.evidence.by_bucket.restore(arrays)
        self.evidence.refine({a: np.array(buckets, np.uint8) for a, buckets in plain["refined"]})
        self.evidence.is_independent = plain["independent"]
        self.pace.restore(plain["pace"])
        self.under_way.restore(plain, arrays)
