"""Content-based routing: each class of rows has its own order.

The policy is Content-Learns of the content-based routing paper, section 4: operators are profiled in turn on samples
(P, |R|); for each, the attribute with the highest gain ratio becomes its classifier (CA); running selectivities are
kept for each of its buckets (S, d, alpha) and for all rows (W); a tuple goes first where its own class is most likely
to be dropped; a new pair of operator and attribute stays only if it pays.

It does better in these points. Before anything is known all rows are samples, of all operators at once; once every
operator has been profiled twice and nothing changes, samples become rare. Gain that chance explains does not count
(`profile`). Steady selectivities go beside the quick ones, and cells with few tuples lean on the whole
(`selectivities`). Orders that promise nothing are not split off (`orders`). Costs count, and probes are routed like
filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.classes.classifier import choose
from eddy.classes.divider import Buckets
from eddy.contracts import Leg, Observation, Policy, Setting, State, Task
from eddy.errors import QueryError, check_whole
from eddy.observe.insight import Insight
from eddy.policies.content.knowledge import Knowledge, Learning, mask_settled
from eddy.policies.content.order_cache import Standing
from eddy.policies.content.profile import NO_ATTRIBUTE
from eddy.policies.content.samples import Lesson, send_samples, take_lessons
from eddy.policies.content.trial import HalfTrial
from eddy.policies.shared.call_counts import Uses
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.guard import Guard
from eddy.policies.shared.merit import Costs, row_price, step_price
from eddy.policies.shared.orders import MOST_CLASSES, best_orders, classes, expected_costs, legs
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

MOST_SAMPLED = 0.3
"""The largest share of a round that is sampled. Up to that, a whole |R| is taken at once, of each of some
operators: to look at few rows by all attributes costs as much as to look at many."""

LEAST_TOGETHER = 2
"""Operators at least that are sampled at the same time, half as often: one look at their rows serves both."""

MOST_SAMPLES = 2
"""Times |R| are the most rows that an operator is sent to learn from in one round, however large it is."""


ROWS_OF_A_TRY = 4_000
"""Rows whose cost the first try may take where it gains nothing: it takes some four rounds until all is known."""

USUAL_TRY = 10e-3
"""Seconds that it takes to look at the first samples by ten attributes."""


class Content(Policy):
    """Learns which attribute foretells each operator's outcomes.

    `attributes` are those that may classify; all that can, when none are named. `d` is the number of buckets of each,
    as many as are of use where none is given; `P` is the share of rows that profile an operator, `R` the rows of one
    sample, `alpha` the memory of the quick selectivities by tuple, `threshold` the gain ratio that a classifier must
    exceed.

    >>> Content(Setting(operators=("cheap", "dear")), d=8).features.buckets
    8
    """

    def __init__(
        self,
        setting: Setting,
        *,
        attributes: Sequence[str] | None = None,
        d: int | None = None,
        P: float = 0.06,  # noqa: N803  the paper's name
        R: int = 150,  # noqa: N803  the paper's name
        alpha: float = 0.95,
        threshold: float = 0.001,
        costs: Costs = "time",
    ) -> None:
        where = 'policy "content"'
        check_costs(costs, where=where)
        check_share(P, "P", where=where)
        check_share(alpha, "alpha", where=where)
        check_whole(R, "R", where=where)
        if not isinstance(threshold, int | float) or not 0 <= threshold < 1:
            raise QueryError(f"{where}: threshold: expected a gain ratio from 0 to below 1, got {threshold!r}")
        self.features = choose(attributes, setting.columns, d, where=where)
        self._share, self._sample = P, R
        self._how = Learning(cells=self.features.buckets + 1, alpha=alpha, threshold=threshold, sample=R)
        self._costs: Costs = costs
        self._prices = setting.prices
        # Where only calls count, the time that is taken to think of them does not: no clock is asked.
        self._clock = setting.clock if costs == "time" else float
        # Where only calls count, a call of SQL counts as much as any other.
        self._sql_reads = setting.sql_reads if costs == "time" else {}
        self._alone = len(setting.operators) == 1
        self._known: dict[str, Knowledge] = {}
        self._guards: dict[str, Guard] = {}
        self._trial: HalfTrial | None = None
        self._uses = Uses(self.features)

    @property
    def insight(self) -> Insight:
        """How each operator is classified, and with what gain.

        Its calls are counted by the attribute that they went by.
        """
        gains: dict[str, float] = {}
        for known in self._known.values():
            for hop, profile in zip(known.hops, known.profiles, strict=True):
                gains[hop.operator] = max(profile.gain, gains.get(hop.operator, 0.0))
        return Insight(uses=self._uses.list_uses(gains))

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Plan samples first, then the best order of each class."""
        if self._alone:
            return [Leg(route=ready)]
        origin = task.lineage.origin
        guard = self._guard(origin)
        if not task.lineage.done and guard.arrive(task.rows):
            self._known[origin] = self._make_knowledge(origin)
        if guard.is_closed:
            return guard.common.legs(task, ready)
        if len(ready) == 1:
            return [Leg(route=ready)]
        started = self._clock()
        legs = self._plan_classes(task, ready)
        guard.split(legs)
        guard.spend(self._clock() - started)
        return legs

    def _plan_classes(self, task: Task, ready: tuple[Hop, ...]) -> list[Leg]:
        """Plan samples, and the best order of each class."""
        if not task.lineage.done:
            self._knowledge(task.lineage.origin).follow(task.buckets.editions())
        pupils, share = self._pupils(task, ready)
        drawn = task.chance().random(task.rows) < share if share else np.zeros(task.rows, np.bool_)
        rows, sample = np.flatnonzero(~drawn), np.flatnonzero(drawn)
        legs = (
            self._route_trial(task, ready, rows, self._trial) if self._trial else self._route_classes(task, ready, rows)
        )
        return [*legs, *self._route_samples(task, ready, pupils, sample)] if len(sample) else legs

    def _route_trial(self, task: Task, ready: tuple[Hop, ...], rows: Integers, trial: HalfTrial) -> list[Leg]:
        """Route by the best orders, with and without the trial.

        A classifier on trial is left out for some of the rows, if it is of this stream.
        """
        tried = trial.place(ready)
        if task.lineage.origin != trial.origin:
            return self._route_classes(task, ready, rows)
        if task.lineage.done or not task.independent:
            is_new = trial.turn(0 if task.lineage.done else task.rows, task.chance())
            return self._route_classes(task, ready, rows, without=None if is_new else tried)
        old, new = trial.split(rows, task.chance())
        ways = self._route_classes(task, ready, old, without=tried), self._route_classes(task, ready, new)
        return [*trial.mark(ways[1], new=True), *trial.mark(ways[0], new=False)]

    def _knowledge(self, origin: str) -> Knowledge:
        self._guard(origin)
        return self._known[origin]

    def _make_knowledge(self, origin: str) -> Knowledge:
        columns = [attribute.column for attribute in self.features.of(origin)]
        own = {name: [columns.index(c) for c in read if c in columns] for name, read in self._sql_reads.items()}
        return Knowledge(len(columns), self._how, own)

    def _guard(self, origin: str) -> Guard:
        guard = self._guards.get(origin)
        if guard is None:
            guard = self._guards[origin] = Guard(self._costs, self._prices, ROWS_OF_A_TRY, USUAL_TRY)
            self._known[origin] = self._make_knowledge(origin)
        return guard

    def _route_samples(self, task: Task, ready: tuple[Hop, ...], pupils: Sequence[Hop], rows: Integers) -> list[Leg]:
        """Route samples: to the operator that learns, then on.

        After it they go on as others of their class. Samples come last in a plan: then they are the last of a step's
        rows too.
        """
        known = self._knowledge(task.lineage.origin)
        self._guard(task.lineage.origin).pay_sample(len(rows) * self._price_sample(known, ready, pupils))
        attributes = known.syllabus()
        buckets = task.buckets(attributes, rows)
        onward = self._route_classes(task, ready, rows) if task.independent else []
        ways = [(leg.route, np.searchsorted(rows, leg.rows)) for leg in onward if leg.rows is not None]
        return send_samples(pupils, ways or [((), np.arange(len(rows)))], rows, attributes, buckets)

    def _price_sample(self, known: Knowledge, ready: tuple[Hop, ...], pupils: Sequence[Hop]) -> float:
        """Price a row that goes to its teacher first, beside one on the common way."""
        rates, costs = known.estimate_whole(ready), self._row_prices(ready)
        common = np.argsort((rates - 1) / costs, kind="stable")
        ways = [common, *(np.append(i, common[common != i]) for i, hop in enumerate(ready) if hop in pupils)]
        table = np.broadcast_to(rates, (len(ways), len(ready)))
        usual, *others = (float(price) for price in expected_costs(table, costs, np.array(ways)))
        return max(sum(others) / len(others) - usual, 0.0)

    def _pupils(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Sequence[Hop], float]:
        """Choose the operators that learn, and the share of rows.

        Those that may act on rows as they arrive learn from such; others from tuples that have come as far as that.
        """
        known = self._knowledge(task.lineage.origin)
        hops = known.pupils(ready, arriving=not task.lineage.done)
        young = [hop for hop in hops if not known.profile(hop).judged]
        most = MOST_SAMPLES * self._sample / task.rows
        if young:
            share = 1.0 if len(young) == len(ready) else self._share
            return young, min(share, most * len(young))
        hops = self._find_unsettled(known, hops)[: max(int(self._share * task.rows / self._sample), LEAST_TOGETHER)]
        share = min(self._share, most * len(hops))
        size = max(share, min(len(hops) * self._sample / task.rows, MOST_SAMPLED))
        return hops, size if hops and known.is_due(share, size, task.rows) else 0.0

    def _find_unsettled(self, known: Knowledge, hops: Sequence[Hop]) -> Sequence[Hop]:
        """The operators whose place depends on the class.

        The one that was judged least often comes first.
        """
        fixed = mask_settled(known.estimate_whole(hops), self._row_prices(hops))
        return sorted(
            (h for h, is_fixed in zip(hops, fixed, strict=True) if not is_fixed), key=lambda h: known.profile(h).judged
        )

    def _row_prices(self, hops: Sequence[Hop]) -> Floats:
        return np.array([row_price(hop, self._prices, self._costs) for hop in hops])

    def _route_classes(
        self, task: Task, ready: tuple[Hop, ...], rows: Integers, without: int | None = None
    ) -> list[Leg]:
        """Route each class in its best order.

        `without` is an operator whose classifier is left out.
        """
        if not len(rows):
            return []
        known = self._knowledge(task.lineage.origin)
        asked = [NO_ATTRIBUTE if i == without else known.profile(hop).attribute for i, hop in enumerate(ready)]
        used, examples, which = _classes(task, rows, asked, [known.profile(hop).gain for hop in ready])
        standing = known.standing if without is None and not task.lineage.done else Standing()
        standing = standing if standing.fits(ready, used) else Standing(hops=ready, used=tuple(used))
        fresh = standing.find_unknown(examples)
        if len(fresh):
            columns = [None if a not in used else examples[fresh, used.index(a)] for a in asked]
            rates, whole = known.rates(ready, columns, len(fresh)), known.estimate_whole(ready)
            costs = self._row_prices(ready)
            common = np.argsort((whole - 1) / costs, kind="stable")
            weights = np.bincount(which, minlength=len(examples))[fresh]
            orders = best_orders(rates, costs, common, weights, step_price(ready, self._prices, self._costs))
            saved = expected_costs(rates, costs, np.broadcast_to(common, orders.shape))
            saved -= expected_costs(rates, costs, orders)
            standing = standing.extend(examples[fresh], orders if task.independent else orders[:, :1], saved)
            if not task.lineage.done and without is None:
                known.standing = standing
        if not task.lineage.done:
            # Later hops of the same rows are in the estimate already.
            self._guard(task.lineage.origin).save(standing.count_saved(examples, np.bincount(which)))
        return legs(standing.of(examples), which, rows, ready, used, examples)

    def observe(self, observation: Observation) -> None:
        """Keep what a step did until the round is over."""
        if self._alone:
            return
        guard = self._guard(observation.origin)
        if observation.legs[0].exhaustive:
            self._take_over(observation, guard)
        elif guard.is_closed:
            self._uses.count_plain(observation)
            if guard.is_looking:
                guard.count_step(observation)
        else:
            started = self._clock()
            self._keep(observation)
            guard.count_step(observation)
            guard.spend(self._clock() - started)

    def _take_over(self, sample: Observation, guard: Guard) -> None:
        """Learn from a sample that somebody else has taken, through all operators, as if from an own one."""
        if guard.wake():
            self._known[sample.origin] = self._make_knowledge(sample.origin)
        known, attributes = self._knowledge(sample.origin), range(len(self.features.of(sample.origin)))
        known.follow(sample.buckets.editions())
        buckets = sample.buckets(attributes)
        for hop, outcomes in zip(sample.hops, sample.outcomes, strict=True):
            known.keep_lesson(hop, Lesson(attributes, buckets, outcomes))
        known.keep(sample)
        self._uses.count(sample, (), len(buckets))

    def _keep(self, observation: Observation) -> None:
        """Keep a step, and the samples in it."""
        known, (hop,) = self._knowledge(observation.origin), observation.hops
        known.keep(observation)
        taught = 0
        for lesson in take_lessons(observation):
            known.keep_lesson(hop, lesson)
            taught += len(lesson.outcomes)
        self._uses.count(observation, known.profile(hop).classifiers, taught)
        if self._trial is not None and observation.origin == self._trial.origin:
            self._trial.pay(observation.legs, observation.rows, row_price(hop, self._prices, self._costs))

    def learn(self) -> None:
        """Learn from the round that is over; a new classifier is on trial, if no other is."""
        if self._trial is not None:
            self._trial.rest()
        for origin, known in self._known.items():
            guard = self._guard(origin)
            if guard.is_looking:
                if guard.look():
                    self._known[origin] = self._make_knowledge(origin)
            elif not guard.is_waiting:
                self._learn_stream(origin, known, guard)
        if self._trial is not None and self._trial.is_over:
            if self._trial.is_lost:
                self._known[self._trial.origin].profile(self._trial.hop).drop()
            self._trial = None

    def _learn_stream(self, origin: str, known: Knowledge, guard: Guard) -> None:
        """Learn from the rows of one stream, and give up where that does not pay."""
        started = self._clock()
        for hop in known.learn():
            if self._trial is None and known.profile(hop).judged > 1:
                self._trial = HalfTrial(origin, hop)
        guard.spend(self._clock() - started)
        if guard.close(self._price_common(known)) and self._trial is not None and self._trial.origin == origin:
            self._trial = None

    def _price_common(self, known: Knowledge) -> float:
        """Price a row in the common order."""
        if not known.hops:
            return 0.0
        rates, costs = known.estimate_whole(known.hops), self._row_prices(known.hops)
        common = np.argsort((rates - 1) / costs, kind="stable")
        return float(expected_costs(rates[None], costs, common[None])[0])

    @property
    def is_calm(self) -> bool:
        """Whether all is known of every stream or given up, nothing changes, and nothing is on trial."""
        if self._alone:
            return True
        if self._trial is not None or not self._guards:
            return False
        return all(
            guard.is_waiting or (not guard.is_looking and self._knowledge(origin).haste < 1)
            for origin, guard in self._guards.items()
        )

    def snapshot(self) -> State:
        """The knowledge of each stream, the trial, and the counts."""
        state: dict[str, Any] = {"known": {}, "trial": None, "uses": self._uses.snapshot()}
        state["guards"] = {origin: guard.snapshot() for origin, guard in self._guards.items()}
        for number, (origin, known) in enumerate(self._known.items()):
            state["known"][origin], arrays = known.snapshot()
            state |= {f"{number} {name}": array for name, array in arrays.items()}
        if self._trial is not None:
            state["trial"] = self._trial.snapshot()
        return state

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        self._uses.restore(state["uses"])
        for number, (origin, plain) in enumerate(state["known"].items()):
            first = f"{number} "
            arrays = {name.removeprefix(first): array for name, array in state.items() if name.startswith(first)}
            self._knowledge(origin).restore(plain, arrays)
        if state["trial"] is not None:
            self._trial = HalfTrial.restore(state["trial"])
        for origin, guarded in state.get("guards", {}).items():
            self._guard(origin).restore(guarded)


def _classes(
    task: Task, rows: Integers, asked: Sequence[int], gains: Sequence[float]
) -> tuple[list[int], Buckets, Integers]:
    """Divide rows into classes by the attributes that tell most.

    As many attributes count as make no more than `MOST_CLASSES`.
    """
    used = sorted(set(asked) - {NO_ATTRIBUTE})
    examples, which = classes(task.buckets(used, rows), MOST_CLASSES)
    if examples.shape[1] < len(used):
        telling = dict.fromkeys(used, 0.0)
        for attribute, gain in zip(asked, gains, strict=True):
            if attribute != NO_ATTRIBUTE:
                telling[attribute] += gain
        used.sort(key=lambda attribute: -telling[attribute])
        examples, which = classes(task.buckets(used, rows), MOST_CLASSES)
    return used[: examples.shape[1]], examples, which
