"""The eddy: plan, run and observe until every tuple is complete or dropped.

Tasks wait by lineage, so that tuples which took different routes to the same lineage go on together. The least
advanced lineage is taken first: when its turn comes, nothing that is still under way can join it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from eddy.contracts import Counts, Leg, Observation, Operator, Outcome, Policy, Task
from eddy.errors import EngineError
from eddy.features import Look
from eddy.lineage import Hop, Lineage, Machine
from eddy.observe import NOTHING, Statistic, Statistics
from eddy.tuples import Tuples, merge

Clock = Callable[[], float]
Classify = Callable[[Tuples], Look]
Chance = Callable[[], np.random.Generator]
Waiting = dict[Lineage, list[Tuples]]

NO_HOPS: tuple[Hop, ...] = ()

CROWD = 1 << 20
"""Tuples that may wait before those nearest to their end go first: some tens of megabytes of row ids."""


class Routing:
    """What routing one micro-batch took."""

    def __init__(self) -> None:
        self.operators: dict[Hop, Statistic] = {}
        self.routes: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self.decisions = 0
        self.planning = 0.0
        self.learning = 0.0

    def add(self, hop: Hop, statistic: Statistic) -> None:
        """Count a step."""
        self.operators[hop] = self.operators.get(hop, NOTHING) + statistic

    def start(self, lineage: Lineage, leg: Leg, rows: int) -> None:
        """Count the rows that begin a route, by where they came from and what the policy calls them."""
        if not lineage.done:
            key = (lineage.origin, leg.label, tuple(hop.operator for hop in leg.route))
            self.routes[key] = self.routes.get(key, 0) + rows


class Router:
    """Routes tuples through operators along the legs that a policy plans."""

    def __init__(
        self, operators: Sequence[Operator], policy: Policy, policy_name: str, classify: Classify, clock: Clock
    ) -> None:
        rules = {operator.name: operator.rule for operator in operators}
        self.machine = Machine(rules, {operator.name: operator.pattern for operator in operators})
        self.statistics = Statistics()
        self._run = {operator.name: operator.run for operator in operators}
        self._policy = policy
        self._policy_name = policy_name
        self._classify = classify
        self._clock = clock
        self.routing = Routing()

    def route(self, arrived: Sequence[Tuples], chance: Chance) -> Iterator[Tuples]:
        """Bring tuples to their end; yields those that completed, as they do."""
        self.routing = Routing()
        waiting: Waiting = {}
        for tuples in arrived:
            yield from self._place(tuples, waiting)
        yield from self._drain(waiting, chance, 0)

    def _drain(self, waiting: Waiting, chance: Chance, enough: int) -> Iterator[Tuples]:
        """Route until no more than so many tuples wait.

        Normally the least advanced lineage is next; in a crowd it is the most advanced, which is the shortest way
        out of it.
        """
        while (crowd := sum(len(t) for parts in waiting.values() for t in parts)) > enough:
            lineage = max(waiting, key=_advance) if crowd > CROWD else min(waiting, key=_advance)
            tuples = merge(waiting.pop(lineage))
            for leg in self._plan(tuples, chance):
                part = tuples if leg.rows is None else tuples.take(leg.rows)
                if not len(part):
                    continue
                self.routing.start(lineage, leg, len(part))
                for moved in self._exhaust(part, leg) if leg.exhaustive else self._follow(part, leg, leg.route):
                    yield from self._place(moved, waiting)
                    yield from self._drain(waiting, chance, CROWD)

    def _place(self, tuples: Tuples, waiting: Waiting) -> Iterator[Tuples]:
        """Hand over tuples that are complete, and let others wait for the next decision."""
        if len(tuples) and self.machine.complete(tuples.lineage):
            yield tuples
        elif len(tuples):
            waiting.setdefault(tuples.lineage, []).append(tuples)

    def _plan(self, tuples: Tuples, chance: Chance) -> Sequence[Leg]:
        lineage = tuples.lineage
        ready = self.machine.ready(lineage)
        started = self._clock()
        legs = self._policy.plan(
            Task(
                lineage=lineage,
                rows=len(tuples),
                statistics=self.statistics,
                chance=chance,
                after=lambda route: self.machine.ready_after(lineage, route),
                buckets=self._classify(tuples),
            ),
            ready,
        )
        self.routing.planning += self._clock() - started
        self.routing.decisions += 1
        try:
            return self._checked(legs, tuples)
        except EngineError as error:
            raise EngineError(f'policy "{self._policy_name}": {error}') from None

    def _checked(self, legs: object, tuples: Tuples) -> Sequence[Leg]:
        """Legs that a policy may plan: each of them legal, and each row in one of them."""
        checked = _partition(legs, len(tuples))
        for leg in checked:
            if leg.exhaustive:
                for hop in leg.route:
                    self.machine.after(tuples.lineage, hop.operator)
            self.machine.ready_after(tuples.lineage, leg.route)
        return checked

    def _follow(self, tuples: Tuples, leg: Leg, route: Sequence[Hop]) -> Iterator[Tuples]:
        """Take a route, step by step, with the tuples that are left.

        Where a step acts on some of its tuples only, those go all the way before the others come: however many
        tuples come out, only as many as one step makes are held at a time.
        """
        if not route:
            yield tuples
            return
        hop = route[0]
        onward = self.machine.after(tuples.lineage, hop.operator)
        while len(tuples):
            outcome, statistic = self._step(hop, tuples)
            self._learn(tuples, leg, (hop,), (outcome.counts,), (statistic,))
            yield from self._follow(outcome.tuples.at(onward), leg, route[1:])
            tuples = tuples.rest(len(outcome.counts))

    def _exhaust(self, tuples: Tuples, leg: Leg) -> Iterator[Tuples]:
        """Run every hop on every tuple; those that no filter drops go on, through the route's last probe if any.

        What the probes found on the way is only counted: keeping it would mean joining tuples that a filter drops.
        """
        passed = np.ones(len(tuples), np.bool_)
        onward, last = tuples.lineage, NO_HOPS
        counts, statistics = [], []
        for hop in leg.route:
            after = self.machine.after(tuples.lineage, hop.operator)
            count, statistic = self._count(hop, tuples)
            counts.append(count)
            statistics.append(statistic)
            if after.spans == tuples.lineage.spans:
                passed &= count.astype(np.bool_)
                onward = self.machine.after(onward, hop.operator)
            else:
                last = (hop,)
        self._learn(tuples, leg, leg.route, counts, statistics)
        yield from self._follow(tuples.take(np.flatnonzero(passed)).at(onward), Leg(route=last), last)

    def _count(self, hop: Hop, tuples: Tuples) -> tuple[Counts, Statistic]:
        """Run a hop on every tuple, for the counts alone."""
        parts: list[Counts] = [np.empty(0, np.bool_)]
        statistic = NOTHING
        while len(tuples):
            outcome, step = self._step(hop, tuples)
            parts.append(outcome.counts)
            statistic += step
            tuples = tuples.rest(len(outcome.counts))
        whole = np.concatenate([part.astype(np.int64) for part in parts])
        return whole, statistic

    def _step(self, hop: Hop, tuples: Tuples) -> tuple[Outcome, Statistic]:
        started = self._clock()
        outcome = self._run[hop.operator](tuples)
        seconds = self._clock() - started
        statistic = Statistic(len(outcome.counts), outcome.evaluated, len(outcome.tuples), seconds)
        self.routing.add(hop, statistic)
        return outcome, statistic

    def _learn(
        self, tuples: Tuples, leg: Leg, hops: tuple[Hop, ...], counts: Sequence[Counts], made: Sequence[Statistic]
    ) -> None:
        started = self._clock()
        for hop, statistic in zip(hops, made, strict=True):
            self.statistics.add(hop, statistic)
        rows = len(counts[0])
        self._policy.observe(
            Observation(
                lineage=tuples.lineage,
                leg=leg,
                hops=hops,
                outcomes=tuple(counts),
                statistics=tuple(made),
                buckets=self._classify(tuples if rows == len(tuples) else tuples.take(np.arange(rows))),
            )
        )
        self.routing.learning += self._clock() - started


def _advance(lineage: Lineage) -> int:
    return len(lineage.done) + len(lineage.spans)


def _partition(legs: object, rows: int) -> Sequence[Leg]:
    """Every row in exactly one leg: a policy may not lose a tuple, nor double it."""
    if not isinstance(legs, list | tuple) or not all(isinstance(leg, Leg) for leg in legs):
        raise EngineError(f"it must plan a list of Leg(...), and planned {legs!r}")
    for leg in legs:
        _check_leg(leg, rows)
    if len(legs) == 1 and legs[0].rows is None:
        return legs
    taken = np.zeros(rows, np.int64)
    for leg in legs:
        if leg.rows is None:
            taken += 1
        else:
            np.add.at(taken, leg.rows, 1)
    if not (taken == 1).all():
        lost, doubled = int((taken == 0).sum()), int((taken > 1).sum())
        raise EngineError(
            f"its legs leave out {lost} and repeat {doubled} of the task's {rows} rows; "
            "every row must be in exactly one leg"
        )
    return legs


def _check_leg(leg: Leg, rows: int) -> None:
    if not isinstance(leg.route, tuple) or not leg.route or not all(isinstance(hop, Hop) for hop in leg.route):
        raise EngineError(f"a leg's route must be a tuple of hops, at least one, and is {leg.route!r}")
    if leg.rows is None:
        return
    if not isinstance(leg.rows, np.ndarray) or leg.rows.dtype.kind not in "iu" or leg.rows.ndim != 1:
        got = getattr(leg.rows, "dtype", type(leg.rows).__name__)
        raise EngineError(
            f"a leg's rows must be positions, an array of integers, and are {got}; for a mask use np.flatnonzero(mask)"
        )
    if len(leg.rows) and not (leg.rows.min() >= 0 and leg.rows.max() < rows):
        raise EngineError(f"a leg has rows outside the task's {rows}")
