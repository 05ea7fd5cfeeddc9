"""A decision, from the sample to the mesh that rows set out on, in steps.

It is a thought about a question: what was known when it was begun. Nothing that comes later changes it. So it finds the
same whether its steps are taken at once or in many rounds, and it need not be saved half done: after a restart the same
steps are taken again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.single_values import FIRST_VALUE
from eddy.errors import EngineError
from eddy.policies.query_mesh.evidence import Evidence
from eddy.policies.query_mesh.finding import Finder, Found, agree
from eddy.policies.query_mesh.first_hops import FirstHops
from eddy.policies.query_mesh.learn.class_prices import ClassPrices
from eddy.policies.query_mesh.learn.class_rates import ClassRates, find_tellers
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.query_mesh.optimizer import are_independent
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.shared.legality import Legality
from eddy.policies.shared.merit import Costs
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers

FEWEST_TOLD = 100
"""Rows of the sample whose values are told apart that say whether operators agree; with fewer they are believed not
to."""

ASKED = "asked "
"""The names of the arrays of a question begin with this, in a snapshot."""

REFINED = "refined "
"""The names of those that say which bucket a value has begin with this."""

SURE_OF_ORDERS = 2.0
"""Outcomes counted by bucket, for each of the sample, from which the orders that follow from them are not drawn."""


@dataclass(frozen=True, kw_only=True)
class MeshSettings:
    """A user's settings of the policy."""

    costs: Costs
    sample: int
    training: int
    seconds: float
    window: int
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a decision goes by, besides the rows of the sample, which stay as they are until it is over.

    `fresh` of them have come since a change, if there was one. `shares` are outputs per input of all rows, `prices`
    what an input costs, `step` what a call does. `steps` are those that the decision may have. `tables` are the rates
    by bucket as they were.
    """

    number: int
    reason: str
    seed: int
    fresh: int | None
    shares: Floats
    prices: Floats
    step: float
    overheads: Overheads
    steps: float
    tables: ClassRates
    is_recount: bool
    may_wait: bool

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Plain values, and arrays."""
        names = ("number", "reason", "seed", "fresh", "step", "steps", "is_recount", "may_wait")
        plain = {name: getattr(self, name) for name in names} | {"overheads": asdict(self.overheads)}
        plain["steps"] = self.steps if np.isfinite(self.steps) else None
        tables = self.tables.snapshot() | {f"{REFINED}{a}": buckets for a, buckets in self.tables.refined.items()}
        arrays = {"shares": self.shares, "prices": self.prices} | tables
        return plain, arrays

    @staticmethod
    def restore(plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> Question:
        """From a snapshot."""
        tables = ClassRates(*arrays["rates"].shape[1:])
        tables.restore(arrays)
        refined = {name: array for name, array in arrays.items() if name.startswith(REFINED)}
        tables.refined = {int(name.removeprefix(REFINED)): buckets.copy() for name, buckets in refined.items()}
        steps = float("inf") if plain["steps"] is None else plain["steps"]
        told = {**plain, "overheads": Overheads(**plain["overheads"]), "steps": steps}
        return Question(**told, shares=arrays["shares"].copy(), prices=arrays["prices"].copy(), tables=tables)


class Answer(NamedTuple):
    """What was decided, and what was learned on the way; no mesh, where it is better to wait for a larger sample.

    It is by so many `rows` of the sample. `gain` is what the mesh saves of a row. `tellers` are the attributes that
    operators go by, if they were looked for.
    """

    decided: Generation | None
    rows: int
    gain: float
    tellers: Integers | None
    is_independent: bool
    prices: ClassPrices
    first_hops: FirstHops


class Deciding:
    """A decision that is under way; `present` is the mesh that rows go by meanwhile."""

    def __init__(
        self,
        question: Question,
        evidence: Evidence,
        plan: MeshSettings,
        legality: Legality,
        present: Mesh | None,
    ) -> None:
        self.question, self._evidence, self._plan, self._legality = question, evidence, plan, legality
        self._present = present
        self._tables, self._prices = question.tables.copy(), evidence.prices.copy()
        self._is_independent = evidence.is_independent
        self.work = Work(question.steps)
        self.seconds = 0.0
        self._thought = self._think()

    def go_on(self, steps: int) -> Answer | None:
        """Take so many steps more at most; gives what was decided, when it was."""
        try:
            for _ in range(steps):
                next(self._thought)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        return None

    def _think(self) -> Steps[Answer]:
        """Decide."""
        rows = yield from self._choose_rows()
        sample = yield from self._price_sample(rows)
        yield self.work.step()
        if self.question.may_wait and self._prices.is_open and self._evidence.may_time(self._prices):
            return self._answer(None, rows, 0.0, None)
        tellers = None if self.question.is_recount else (yield from self._find_tellers(rows))
        yield self.work.step()
        mesh, gain = yield from self._find(sample)
        decided = yield from self._take_up(mesh, sample)
        hops = yield from self._watch_first_hops(decided, sample, rows)
        return self._answer(decided, rows, gain, tellers)._replace(first_hops=hops)

    def _answer(self, decided: Generation | None, rows: int, gain: float, tellers: Integers | None) -> Answer:
        hops = FirstHops(*self._evidence.shape)
        return Answer(decided, rows, gain, tellers, self._is_independent, self._prices, hops)

    def _choose_rows(self) -> Steps[int]:
        """Count the newest rows that are evidence.

        That is all of them, unless those since a change do not agree with the others.
        """
        every, fresh = len(self._evidence.rows), self.question.fresh
        if fresh is None or fresh >= every:
            return every
        buckets, outcomes = self._evidence.rows.newest(every)
        older, newer = slice(None, every - fresh), slice(every - fresh, None)
        both = (buckets[older], outcomes[older]), (buckets[newer], outcomes[newer])
        same = yield from agree(*both, self._evidence.shape[1], self.work)
        return every if same else fresh

    def _price_sample(self, rows: int) -> Steps[Sample]:
        """Make a sample of the newest rows, with what was seen of them, and what they cost.

        What could not be seen is as usual.
        """
        reservoir, question = self._evidence.rows, self.question
        buckets, outcomes = reservoir.newest(rows)
        filled = np.where(np.isnan(outcomes), np.broadcast_to(question.shares, outcomes.shape), outcomes)
        if self._plan.costs == "time":
            yield from self._prices.learn(buckets, *reservoir.timed(rows), self.work, question.step)
        prices, numbers = self._prices.price(buckets), reservoir.number(rows)
        return Sample(buckets=buckets, outcomes=filled, prices=prices, numbers=numbers)

    def _find_tellers(self, rows: int) -> Steps[Integers]:
        """Name the attribute that tells most of each operator, by the newest rows; older ones are of another stream."""
        reservoir, tables = self._evidence.rows, self._tables
        told, outcomes = self._evidence.tell(rows)
        anew = rows < len(reservoir)
        used = () if anew else tables.attributes
        tellers = yield from find_tellers(reservoir.newest(rows)[0], outcomes, used, self.work)
        yield self.work.step()
        tables.take_up(tellers, told, outcomes, anew=anew)
        # Hashed values that are unlike make operators seem to agree: only rows say it whose values are told apart.
        singly = [attribute for attribute in tables.attributes if attribute in tables.refined]
        some = (told[:, singly] >= FIRST_VALUE).all(axis=1)
        apart = outcomes[some] - tables.predict(told[some], self.question.shares)
        is_known = not singly or len(apart) >= FEWEST_TOLD
        self._is_independent = not is_known or are_independent(apart[:, ~np.isnan(apart).any(axis=0)])
        return tellers

    def _find(self, sample: Sample) -> Steps[Found]:
        """Find a mesh: by a search, or by what has been counted since, if nothing else is new."""
        question, present = self.question, self._present
        finder = Finder(
            training=self._plan.training,
            overheads=question.overheads,
            prices=question.prices,
            legality=self._legality,
            chance=np.random.default_rng(question.seed),
            work=self.work,
            by_bucket=self._tables,
            priced=self._prices.tables,
            is_independent=self._is_independent,
        )
        if present is not None and question.is_recount:
            return finder.recount(sample, present)
        return finder.find(sample)

    def _take_up(self, mesh: Mesh, sample: Sample) -> Steps[Generation]:
        """Take a mesh up, with what it promises."""
        question, tables = self.question, self._tables
        how = (self._plan.tolerance, self._plan.window)
        promised = tables.predict(sample.told, question.shares) if mesh.is_grid else sample.outcomes
        # Rates that are from the sample alone are no surer than it: a lottery learns the order from the rows that come.
        is_counted = tables.rows > SURE_OF_ORDERS * sample.outcomes.size
        believed = promised, promised if is_counted else sample.outcomes
        yield self.work.step()
        named = question.number, question.reason
        return (
            yield from Generation.decide(named, mesh, sample, question.prices, self._legality, how, believed, self.work)
        )

    def _watch_first_hops(self, decided: Generation, sample: Sample, rows: int) -> Steps[FirstHops]:
        """Take the sample for the reference of what comes."""
        buckets, outcomes = self._evidence.rows.newest(rows)
        hops = FirstHops(*self._evidence.shape)
        given, ready = decided.mesh.give_ways(sample), self._legality.find_ready(())
        for operator in ready:
            ways = [way for way, wheel in enumerate(decided.wheels) if operator in wheel.sets[0]]
            if ways:
                hops.expect(ways, operator, given, buckets, outcomes[:, operator])
                yield self.work.step()
        return hops


class Saved(NamedTuple):
    """A question, and the steps and seconds that a decision about it has had."""

    question: Question
    steps: int
    seconds: float


class UnderWay:
    """The decision that is under way, if there is one."""

    def __init__(self) -> None:
        self._deciding: Deciding | None = None
        self._saved: Saved | None = None

    def __bool__(self) -> bool:
        return self._deciding is not None or self._saved is not None

    def ask(self, question: Question) -> None:
        """Begin a decision."""
        self._saved = Saved(question, 0, 0.0)

    def drop(self) -> None:
        """Let go of it: it is over, or goes by what holds no more."""
        self._deciding = self._saved = None

    def go_on(self, make: Callable[[Question], Deciding]) -> Deciding:
        """Go on with it; after a restart the steps that it has had are taken again."""
        if self._deciding is None:
            if self._saved is None:
                raise EngineError("query_mesh: no decision is under way, so there is none to go on with")
            self._deciding, saved = make(self._saved.question), self._saved
            self._deciding.go_on(saved.steps)
            self._deciding.seconds, self._saved = saved.seconds, None
        return self._deciding

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The question, and how far it is; nothing where nothing is under way."""
        saved = self._saved
        if self._deciding is not None:
            saved = Saved(self._deciding.question, self._deciding.work.steps, self._deciding.seconds)
        if saved is None:
            return {}, {}
        plain, arrays = saved.question.snapshot()
        named = {ASKED + name: array for name, array in arrays.items()}
        return {"asked": [plain, saved.steps, saved.seconds]}, named

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
        """Go on from a snapshot; there is no question where nothing was under way."""
        if "asked" in plain:
            question, steps, seconds = plain["asked"]
            ours = {name.removeprefix(ASKED): array for name, array in arrays.items() if name.startswith(ASKED)}
            self._saved = Saved(Question.restore(question, ours), steps, seconds)
