"""Content-based routing: different orders for different classes of rows, learned while they pass (Content-Learns).

Follows section 4 of the content-based routing paper: operators are profiled in turn on samples (P, |R|); for each, the
attribute with the highest gain ratio becomes its classifier (CA); running selectivities are kept for each of its
buckets (S, d, alpha) and for all rows (W); a tuple goes first where its own class is most likely to be dropped; a new
pair of operator and attribute stays only if it pays.

Where it does better: before anything is known all rows are samples, of all operators at once; once every operator has
been profiled twice and nothing changes, samples become rare; gain that chance explains does not count (`gain`); steady
selectivities go beside the quick ones, and cells with few tuples lean on the whole (`running`); orders that promise
nothing are not split off (`orders`); costs count, and probes are routed like filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.contracts import Leg, Observation, Setting, State, Task
from eddy.errors import QueryError
from eddy.features import choose
from eddy.lineage import Hop
from eddy.observe import Insight
from policies.checks import check_costs, check_count, check_share
from policies.merit import Costs, cost
from policies.orders import Integers, are_independent, best_orders, classes, legs
from policies.pending import Key, Part, Pending
from policies.profile import NO_ATTRIBUTE, Profile
from policies.trial import Trial
from policies.uses import SAMPLE, Uses

CALM = 0.25
"""Of the micro-batches are sampled once all is known and calm: few large samples cost less than many small ones."""

FREE = 256
"""Rows of a micro-batch that one operator without a classifier learns from though they came to it anyway. They have
passed other operators; among rows of a class that makes no difference unless the operators are correlated."""

CONTROL = 0.1
"""Of the rows do without a new classifier while it is on trial."""

ENOUGH = 2
"""Times |R| are the most rows that an operator is sent to learn from in one micro-batch, however large it is."""

FIRST = 0.5
"""Of |R| is enough for a first judgement: a coarse idea soon is worth more than a fine one late."""


class Content:
    """Learns which attribute tells what each operator will do, and routes each class its own way.

    `attributes` are those that may classify; all that can, when none are named. `d` is the number of buckets of each,
    `P` the share of rows that profile an operator, `R` the rows of one sample, `alpha` the memory of the quick
    selectivities by tuple, `threshold` the gain ratio that a classifier must exceed.

    >>> Content(Setting(operators=("cheap", "dear")), d=8).features.buckets
    8
    """

    def __init__(
        self,
        setting: Setting,
        *,
        attributes: Sequence[str] | None = None,
        d: int = 24,
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
        check_count(R, "R", where=where)
        if not isinstance(threshold, int | float) or not 0 <= threshold < 1:
            raise QueryError(f"{where}: threshold: expected a gain ratio from 0 to below 1, got {threshold!r}")
        self.features = choose(attributes, setting.columns, d, where=where)
        self._share, self._sample, self._alpha, self._threshold = P, R, alpha, threshold
        self._costs: Costs = costs
        self._profiles: dict[Key, Profile] = {}
        self._alone = len(setting.operators) == 1
        self._pending = Pending()
        self._on_trial: dict[int, tuple[Leg, bool]] = {}
        self._changes: dict[str, int] = {}
        self._turn = 0
        self._uses = Uses(self.features)
        self._trial: tuple[Key, Trial] | None = None

    @property
    def insight(self) -> Sequence[Insight]:
        """For each operator the classifier, its gain ratio, and the calls that went by it."""
        gains: dict[str, float] = {}
        for (_, hop), profile in self._profiles.items():
            gains[hop.operator] = max(profile.gain, gains.get(hop.operator, 0.0))
        return self._uses.insight(gains)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Samples for the operators whose turn it is; for the other rows the best order of their class."""
        if not task.lineage.done:
            self._catch_up()
        if len(ready) == 1:
            return [Leg(route=ready)]
        origin = task.lineage.origin
        profiles = [self._profile(origin, hop) for hop in ready]
        if task.lineage.done:
            return self._routed(task, ready, profiles, np.arange(task.rows), None)
        sampled, rows = self._samples(task, ready, profiles)
        tried = next((i for i, hop in enumerate(ready) if self._trial and self._trial[0] == (origin, hop)), None)
        if tried is None or self._trial is None or not are_independent(task, ready):
            return [*sampled, *self._routed(task, ready, profiles, rows, None)]
        old = task.chance().random(len(rows)) < CONTROL
        ways = {
            new: self._routed(task, ready, profiles, rows[old != new], None if new else tried) for new in (True, False)
        }
        self._on_trial = {id(leg): (leg, new) for new, way in ways.items() for leg in way}
        for new in ways:
            self._trial[1].start(new, int((old != new).sum()))
        return [*sampled, *ways[True], *ways[False]]

    def _profile(self, origin: str, hop: Hop) -> Profile:
        profile = self._profiles.get((origin, hop))
        if profile is None:
            made = Profile(len(self.features.of(origin)), self.features.buckets, self._alpha)
            profile = self._profiles[origin, hop] = made
        return profile

    def _samples(self, task: Task, ready: tuple[Hop, ...], profiles: Sequence[Profile]) -> tuple[list[Leg], Integers]:
        """Rows that go to an operator to learn, before any other; and the rows that are left."""
        young = [hop for hop, profile in zip(ready, profiles, strict=True) if not profile.judged]
        hops = young or [ready[min(range(len(ready)), key=lambda i: profiles[i].judged)]]
        haste = 1.0 if young else self._haste(task.lineage.origin, profiles)
        share = 1.0 if len(young) == len(ready) else self._share * (task.chance().random() < haste)
        share = min(share, ENOUGH * self._sample * len(hops) / task.rows)
        drawn = task.chance().random(task.rows) < share
        places = np.flatnonzero(drawn)
        parts = [places[i :: len(hops)] for i in range(len(hops))]
        legs = [Leg(route=(h,), rows=part, exhaustive=True, label=SAMPLE) for h, part in zip(hops, parts, strict=True)]
        return legs, np.flatnonzero(~drawn)

    def _haste(self, origin: str, profiles: Sequence[Profile]) -> float:
        """How much of P is worth its price: all of it until everything is known, and again when something changes."""
        if min(profile.judged for profile in profiles) < 2:
            return 1.0
        changes = sum(profile.changes for profile in profiles)
        stirred, self._changes[origin] = changes > self._changes.get(origin, 0), changes
        return 1.0 if stirred else CALM

    def _routed(
        self, task: Task, ready: tuple[Hop, ...], profiles: Sequence[Profile], rows: Integers, without: int | None
    ) -> list[Leg]:
        """The best order for each class of rows; `without` is an operator whose classifier is left out."""
        if not len(rows):
            return []
        asked = [NO_ATTRIBUTE if i == without else profile.attribute for i, profile in enumerate(profiles)]
        used = sorted(set(asked) - {NO_ATTRIBUTE})
        buckets = task.buckets(used).take(rows, axis=0)
        first, which = classes(buckets)
        examples = buckets.take(first, axis=0)
        columns = [None if a == NO_ATTRIBUTE else examples[:, used.index(a)] for a in asked]
        rates = np.column_stack([p.rates(c, len(first)) for p, c in zip(profiles, columns, strict=True)])
        whole = np.array([profile.rate for profile in profiles])
        costs = np.array([cost(task.statistics[hop], self._costs) for hop in ready])
        orders = best_orders(rates, costs, np.argsort((whole - 1) / costs, kind="stable"))
        orders = orders if are_independent(task, ready) else orders[:, :1]
        return legs(orders, which, rows, ready, used, examples)

    def observe(self, observation: Observation) -> None:
        """Keep what a step did until the next rows arrive; that it was taken and what it cost counts at once."""
        if self._alone:
            return
        self._pending.add(observation)
        origin, leg = observation.lineage.origin, observation.leg
        self._uses.count(observation, [self._profile(origin, hop).attribute for hop in observation.hops])
        if id(leg) in self._on_trial and self._trial is not None:
            paid = sum(s.rows_in if self._costs == "unit" else s.seconds for s in observation.statistics)
            self._trial[1].pay(self._on_trial[id(leg)][1], paid)

    def _catch_up(self) -> None:
        """Learn from the steps that are over."""
        self._on_trial = {}
        steps = self._pending.take()
        unexplained = [key for key in steps if self._profile(*key).attribute == NO_ATTRIBUTE]
        for key, parts in steps.items():
            for exhaustive, some in enumerate(parts):
                if some:
                    self._learn(key, some, exhaustive=bool(exhaustive))
        if unexplained:
            self._turn += 1
            key = unexplained[self._turn % len(unexplained)]
            if self._profile(*key).judged and steps[key][0]:
                look, outcomes = max(steps[key][0], key=lambda part: len(part[1]))
                self._profile(*key).learn(look()[:FREE], outcomes[:FREE])
        for key in steps:
            self._judge(key, self._profile(*key))
        self._end_trial()

    def _learn(self, key: Key, parts: Sequence[Part], *, exhaustive: bool) -> None:
        profile = self._profile(*key)
        outcomes = np.concatenate([part for _, part in parts])
        buckets = None
        if profile.attribute != NO_ATTRIBUTE:
            buckets = np.concatenate([look((profile.attribute,))[:, 0] for look, _ in parts])
        profile.add(buckets, outcomes)
        if exhaustive:
            profile.learn(np.concatenate([look() for look, _ in parts]), outcomes)

    def _end_trial(self) -> None:
        if self._trial is not None and self._trial[1].is_over:
            key, trial = self._trial
            if trial.is_lost:
                self._profile(*key).drop()
            self._trial = None

    def _judge(self, key: Key, profile: Profile) -> None:
        """A sample that is full names the classifier; a new one is on trial, if no other is."""
        if profile.sampled >= (self._sample if profile.judged else self._sample * FIRST):
            changed = profile.judge(self._threshold)
            if changed and self._trial is None and profile.judged > 1:
                self._trial = (key, Trial())

    def snapshot(self) -> State:
        """Profiles, the trial, and what has been counted."""
        self._catch_up()
        state: dict[str, Any] = {"profiles": [], "changes": self._changes, "turn": self._turn, "trial": None}
        state["uses"] = self._uses.snapshot()
        for number, ((origin, hop), profile) in enumerate(self._profiles.items()):
            numbers, arrays = profile.snapshot()
            state["profiles"].append([origin, hop.operator, hop.pattern, numbers])
            state |= {f"{name} {number}": array for name, array in arrays.items()}
        if self._trial is not None:
            (origin, hop), trial = self._trial
            state["trial"] = [origin, hop.operator, hop.pattern, trial.snapshot()]
        return state

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        self._changes, self._turn = dict(state["changes"]), state["turn"]
        self._uses.restore(state["uses"])
        for number, (origin, operator, pattern, numbers) in enumerate(state["profiles"]):
            arrays = {name: state[f"{name} {number}"] for name in ("tables", "running")}
            self._profile(origin, Hop(operator, pattern)).restore(numbers, arrays)
        if state["trial"] is not None:
            origin, operator, pattern, rows = state["trial"]
            self._trial = ((origin, Hop(operator, pattern)), Trial())
            self._trial[1].restore(rows)
