"""What `content` does with the rows of one stream: samples, classes, and a guard over all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Leg, Observation, Prices, Task
from eddy.policies.content.class_costs import ClassCosts, PricesOfAll, count_parts
from eddy.policies.content.knowledge import Knowledge
from eddy.policies.content.menu import Beliefs, Menu, make_menu
from eddy.policies.content.profile import Learning
from eddy.policies.content.samples import ONWARD, LegSample, Lesson, send_samples, take_lessons
from eddy.policies.shared.call_counts import Uses
from eddy.policies.shared.guard import Guard
from eddy.policies.shared.merit import Costs, greedy_route, row_price
from eddy.policies.shared.orders import mask_settled, price_orders, sort_by_merit
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Conduct:
    """What all streams of a policy have in common.

    `profile` asks for learning whatever it takes, also where there is nothing to choose.
    """

    learning: Learning
    share: float
    costs: Costs
    prices: Prices
    clock: Callable[[], float]
    profile: bool
    uses: Uses


class StreamContent:
    """The knowledge about one stream, and the routes that follow from it.

    It tells its rows apart by so many `attributes`; `own` has for each operator those that it reads itself, and as
    cheaply.
    """

    def __init__(self, attributes: int, own: Mapping[str, Sequence[int]], conduct: Conduct) -> None:
        self._attributes, self._own, self._conduct = attributes, own, conduct
        self._prices = PricesOfAll(conduct.prices, self._find_costs)
        # Learning that was asked for is not weighed against what it takes.
        self._guard = Guard("unit" if conduct.profile else conduct.costs, self._prices, ROWS_OF_A_TRY, USUAL_TRY)
        self._begin()

    def _begin(self) -> None:
        """Begin anew, and know nothing."""
        self.known = Knowledge(self._attributes, self._conduct.learning, self._own)
        self._menu: Menu | None = None

    def route(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Route samples to those that learn first, and each class its best way."""
        guard = self._guard
        if not task.lineage.done and guard.arrive(task.rows):
            self._begin()
        if guard.is_closed:
            return guard.common.legs(task, ready)
        # Routes are planned as a whole when rows arrive; only what somebody else began comes back for another plan.
        if task.lineage.done:
            return [Leg(route=greedy_route(task, ready, self._beliefs().rank), tag=ONWARD)]
        started = self._conduct.clock()
        legs = self._route_arrivals(task, ready)
        guard.split(legs)
        guard.spend(self._conduct.clock() - started)
        return legs

    def _route_arrivals(self, task: Task, ready: tuple[Hop, ...]) -> list[Leg]:
        is_cut = self.known.follow(task.buckets.editions())
        if self.known.refine(task.buckets.refine(self.known.attributes)) or is_cut:
            self._menu = None
        pupils, share = self._choose_pupils(task, ready)
        if not share:
            return self._route_classes(task, ready, None)
        drawn = task.chance().random(task.rows) < share
        rows, sample = np.flatnonzero(~drawn), np.flatnonzero(drawn)
        legs = self._route_classes(task, ready, rows) if len(rows) else []
        return [*legs, *self._route_samples(task, ready, pupils, sample)] if len(sample) else legs

    def _route_classes(self, task: Task, ready: tuple[Hop, ...], rows: Integers | None) -> list[Leg]:
        """Route each class its best way; all rows if none are named."""
        beliefs, menu = self._beliefs(), self._menu
        if menu is None or menu.ready != ready:
            menu = self._menu = make_menu(task, ready, beliefs, self.known.hops)
        if menu.is_single:
            return [Leg(route=menu.routes[0], rows=rows)]
        buckets = task.buckets.numbers(menu.used, beliefs.refined, rows)
        numbers, saved = menu.choose(buckets, beliefs)
        self._guard.save(saved)
        return menu.make_legs(numbers, np.arange(task.rows) if rows is None else rows, buckets, beliefs)

    def _beliefs(self) -> Beliefs:
        return Beliefs(self.known, self._prices, self._conduct.costs)

    def _route_samples(self, task: Task, ready: tuple[Hop, ...], pupils: Sequence[Hop], rows: Integers) -> list[Leg]:
        """Route samples: to the operator that learns, then on.

        After it they go on as others of their class, or as most do where operators wait for others. Samples come last
        in a plan: then they are the last of a step's rows too.
        """
        self._guard.pay_sample(len(rows) * self._price_sample(ready, pupils))
        pairs = [(i, hop) for i, hop in enumerate(pupils) if self._is_timed(hop, len(rows) // len(pupils))]
        attributes = range(self._attributes) if pairs else self.known.syllabus()
        buckets = task.buckets(attributes, rows)
        timed = {hop: self._cut_parts(hop, np.arange(i, len(rows), len(pupils)), buckets) for i, hop in pairs}
        if not task.independent:
            rank = cache(self._beliefs().rank)
            routes = {hop: greedy_route(task, (hop,), rank) for hop in pupils}
            return send_samples(pupils, [((), np.arange(len(rows)))], rows, attributes, buckets, routes, timed)
        ways = [
            (leg.route, np.arange(len(rows)) if leg.rows is None else np.searchsorted(rows, leg.rows))
            for leg in self._route_classes(task, ready, rows)
        ]
        return send_samples(pupils, ways, rows, attributes, buckets, timed=timed)

    def _is_timed(self, hop: Hop, rows: int) -> bool:
        """Whether so many rows of a sample are timed, which takes a filter that is dear enough."""
        prices, is_clocked = self._prices, self._conduct.costs == "time" and self._attributes > 0
        return is_clocked and hop.operator not in prices.probes and count_parts(rows, prices[hop]) > 0

    def _cut_parts(self, hop: Hop, places: Integers, buckets: Buckets) -> list[Integers]:
        """Cut the places of a sample into parts that are timed, by another attribute each time."""
        by = buckets[places, self.known.profile(hop).judged % self._attributes]
        count = count_parts(len(places), self._prices[hop])
        return [np.sort(part) for part in np.array_split(places[np.argsort(by, kind="stable")], max(count, 1))]

    def _price_sample(self, ready: tuple[Hop, ...], pupils: Sequence[Hop]) -> float:
        """Price a row that goes to its teacher first, beside one on the common way."""
        rates, costs = self.known.estimate_whole(ready), self._row_prices(ready)
        common = sort_by_merit(rates, costs)
        ways = [common, *(np.append(i, common[common != i]) for i, hop in enumerate(ready) if hop in pupils)]
        prices: list[float] = price_orders(rates[None], costs, np.array(ways))[:, 0].tolist()
        usual, *others = prices
        return max(float(np.mean(others)) - usual, 0.0)

    def _choose_pupils(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Sequence[Hop], float]:
        """Choose the operators that learn from samples, and the share of rows that they get.

        Those that wait for others learn from the rows that come to them anyway.
        """
        if len(ready) == 1 and not self._conduct.profile:
            return ready, 0.0
        known, sample, share = self.known, self._conduct.learning.sample, self._conduct.share
        known.meet(ready)
        young = [hop for hop in ready if not known.profile(hop).judged]
        most = MOST_SAMPLES * sample / task.rows
        if young:
            return young, min(1.0 if len(young) == len(ready) else share, most * len(young))
        hops = self._find_unsettled(ready)[: max(int(share * task.rows / sample), LEAST_TOGETHER)]
        is_open = any(map(self._is_open, hops))
        share = min(share, most * len(hops))
        size = max(share, min(len(hops) * sample / task.rows, MOST_SAMPLED))
        return hops, size if hops and known.is_due(share, size, task.rows, is_open=is_open) else 0.0

    def _find_unsettled(self, hops: Sequence[Hop]) -> Sequence[Hop]:
        """The operators whose place depends on the class.

        One whose rows cost unlike, and nobody knows why, comes first; then the one that was judged least often.
        """
        fixed = mask_settled(self.known.estimate_arriving(hops), self._row_prices(hops))
        return sorted(
            (h for h, is_fixed in zip(hops, fixed, strict=True) if not is_fixed),
            key=lambda h: (not self._is_open(h), self.known.profile(h).judged),
        )

    def _is_open(self, hop: Hop) -> bool:
        """Whether rows cost an operator unlike, and nobody knows why."""
        costs = self._find_costs(hop)
        return costs is not None and costs.is_open

    def _find_costs(self, hop: Hop) -> ClassCosts | None:
        # What is known is made anew after a wait, and prices are not.
        return self.known.find_costs(hop)

    def _row_prices(self, hops: Sequence[Hop]) -> Floats:
        return np.array([row_price(hop, self._prices, self._conduct.costs) for hop in hops])

    def observe(self, step: Observation) -> None:
        """Keep what a step did until the round is over."""
        guard, leg = self._guard, step.legs[0]
        if leg.exhaustive and not isinstance(leg.tag, LegSample):
            self._take_over(step)
        elif guard.is_closed:
            self._conduct.uses.count_plain(step)
            guard.notice(step)
            if guard.is_looking:
                guard.count_step(step)
        else:
            started = self._conduct.clock()
            self._keep(step)
            guard.count_step(step)
            guard.spend(self._conduct.clock() - started)

    def _take_over(self, sample: Observation) -> None:
        """Learn from a sample that somebody else has taken.

        It went through all operators, and counts as one of its own.
        """
        if self._guard.wake():
            self._begin()
        self.known.follow(sample.buckets.editions())
        attributes = range(self._attributes)
        buckets = sample.buckets(attributes)
        for hop, outcomes in zip(sample.hops, sample.outcomes, strict=True):
            self.known.keep_lesson(hop, Lesson(attributes, buckets, outcomes))
        self.known.keep(sample)
        self._conduct.uses.count(sample, (), len(buckets))

    def _keep(self, step: Observation) -> None:
        """Keep a step, and the samples in it."""
        (hop,) = step.hops
        self.known.keep(step)
        taught = 0
        for lesson in take_lessons(step):
            self.known.keep_lesson(hop, lesson)
            taught += len(lesson.outcomes)
            if step.legs[0].exhaustive:
                self.known.keep_time(hop, step.statistics[0].seconds, lesson.buckets, self._conduct.prices[hop].step)
        self._conduct.uses.count(step, self.known.profile(hop).classifiers, taught)

    def learn(self) -> None:
        """Learn from the round that is over, and give up where that does not pay."""
        guard = self._guard
        if guard.is_looking:
            if guard.look():
                self._begin()
        elif guard.is_waiting:
            guard.rest()
        else:
            started = self._conduct.clock()
            self.known.learn()
            if self.known.is_news:
                self._menu = None
            guard.spend(self._conduct.clock() - started)
            guard.close(self._price_common())

    def _price_common(self) -> float:
        """Price a row in the common order."""
        if not self.known.hops:
            return 0.0
        if self._menu is not None:
            hops, order = self._menu.hops, self._menu.orders[:1]
        else:
            hops = tuple(sorted(self.known.hops, key=self._beliefs().rank))
            order = np.arange(len(hops))[None]
        return float(price_orders(self.known.estimate_whole(hops)[None], self._row_prices(hops), order)[0, 0])

    @property
    def is_calm(self) -> bool:
        """Whether nothing is learned that later rows of the same micro-batch could be routed by.

        Where operators have no place of their own classes may appear at any time.
        """
        guard = self._guard
        is_known = not guard.is_looking and self.known.haste < 1
        return guard.is_waiting or (is_known and not self._find_unsettled(self.known.hops))

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Plain values, and arrays."""
        plain, arrays = self.known.snapshot()
        plain["menu"] = None if self._menu is None else self._menu.snapshot()
        plain["guard"] = self._guard.snapshot()
        return plain, arrays

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Floats]) -> None:
        """Go on from a snapshot."""
        if self.known.restore(plain, arrays):
            self._menu = Menu.restore(plain["menu"]) if plain["menu"] else None
        self._guard.restore(plain["guard"])
