"""The eddy: plan, run, observe, until every tuple is complete.

Tasks wait by lineage, so that tuples which took different routes to the same lineage go on together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from eddy.classes.classifier import Look
from eddy.contracts import Chance, Clock, Counts, Leg, Observation, Operator, Outcome, Policy, Task
from eddy.errors import EngineError, quote_choice
from eddy.observe.prices import ALONE, SHARED, Prices
from eddy.observe.statistics import Statistic, Statistics
from eddy.observe.tariff import NO_TARIFF, Tariff
from eddy.routing.aside import Asides
from eddy.routing.exhaustive import Exhaustion, join_counts
from eddy.routing.plan_check import check_plan
from eddy.routing.side_by_side import LegWalk, SharedStep, SideBySide
from eddy.routing.sieve import NO_SIFTS, Sieves, Sift
from eddy.routing.tally import RouteTally
from eddy.taps import NO_TAPS, Taps
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import RowIds
from eddy.tuples.lineage import Machine
from eddy.tuples.tuples import merge

Classify = Callable[[Tuples], Look]

MOST_WAITING = 1 << 20
"""Tuples that may wait before those nearest to their end go first: some tens of megabytes of row ids."""


class Waiting:
    """Tuples that wait for a decision, by lineage."""

    def __init__(self) -> None:
        self._parts: dict[Lineage, list[Tuples]] = {}
        self._tuples = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    @property
    def is_crowd(self) -> bool:
        """More tuples wait than may be held at a time."""
        return self._tuples > MOST_WAITING

    def put(self, tuples: Tuples) -> None:
        """Let some more tuples wait."""
        self._parts.setdefault(tuples.lineage, []).append(tuples)
        self._tuples += len(tuples)

    def next(self) -> Tuples:
        """Take the tuples whose turn it is.

        Normally they are the least advanced: nothing that is still under way can join them any more. In a crowd they
        are the most advanced, which is the shortest way out of it.
        """
        # All tuples of the least advanced lineage wait here already: only less advanced ones could add to it. So a
        # lineage is decided about once, however many routes lead to it:
        #
        #     a -> {f} -> {f, g}        g first and f first come together in {f, g}, and go on as one batch
        #     a -> {g} -> {f, g}
        choose = max if self.is_crowd else min
        tuples = merge(self._parts.pop(choose(self._parts, key=_count_done)))
        self._tuples -= len(tuples)
        return tuples


class Router:
    """Routes tuples through operators along the legs that a policy plans."""

    def __init__(  # noqa: PLR0913  all that tuples may meet on their way
        self,
        operators: Sequence[Operator],
        policy: Policy,
        policy_name: str,
        classify: Classify,
        clock: Clock,
        prices: Prices,
        tariff: Tariff = NO_TARIFF,
        taps: Taps = NO_TAPS,
        *,
        sifts: Mapping[str, Sift] = NO_SIFTS,
    ) -> None:
        rules = {operator.name: operator.rule for operator in operators}
        self.machine = Machine(rules, {operator.name: operator.pattern for operator in operators})
        self.statistics = Statistics()
        self.prices = prices
        self._tariff = tariff
        # The seconds of the last step by the clock: the rest of what it took is the router's own.
        self._timed = 0.0
        self._run = {operator.name: operator.run for operator in operators}
        self._reads = {operator.name: operator.reads for operator in operators}
        self._policy = policy
        self._policy_name = policy_name
        self._classify = classify
        self._clock = clock
        self._taps = taps
        self._asides = Asides(self.machine, self._find_read, self._step)
        self._sieves = Sieves(sifts, clock)
        self._exhaustion = Exhaustion(self.machine, self._step)
        self.routing = RouteTally()

    def begin(self) -> None:
        """Begin a micro-batch, which may come in several rounds."""
        self._asides.clear()
        self._taps.begin()
        self.routing = RouteTally()

    def learn(self) -> None:
        """Let the policy think about the round that is over."""
        started = self._clock()
        self._policy.learn()
        self.routing.learning += self._clock() - started

    def route(self, arrived: Sequence[Tuples], chance: Chance) -> Iterator[Tuples]:
        """Bring tuples to their end; yields those that complete."""
        waiting = Waiting()
        for tuples in self._taps.start(arrived):
            if not self._waits(tuples, waiting):
                yield tuples
        # The plans under way, the innermost last. A plan makes its tuples one step at a time. When too many wait, the
        # plan rests where it is, and those that wait go first:
        #
        #     [plan of the arrivals]  ->  crowd  ->  [plan of the arrivals, plan of those nearest to their end]
        plans: list[Iterator[Tuples]] = []
        while plans or waiting:
            if not plans or waiting.is_crowd:
                plans.append(self._start(waiting.next(), chance))
            elif (moved := next(plans[-1], None)) is None:
                plans.pop()
            elif not self._waits(moved, waiting):
                yield moved
            # While the next ones are made, these are gone.
            moved = None

    def _start(self, tuples: Tuples, chance: Chance) -> Iterator[Tuples]:
        """Plan for tuples, and begin to take the plan."""
        return self._take(tuples, self._plan(tuples, chance))

    def _waits(self, tuples: Tuples, waiting: Waiting) -> bool:
        """Let tuples wait for a decision, unless they are complete; says whether they do, or there are none."""
        if not len(tuples):
            return True
        if self.machine.is_complete(tuples.lineage):
            return False
        waiting.put(tuples)
        return True

    def _take(self, tuples: Tuples, legs: Sequence[Leg]) -> Iterator[Tuples]:
        """Take all legs of a plan."""
        parts: list[tuple[Leg, Tuples]] = []
        part = tuples
        for leg in legs:
            part = tuples if leg.rows is None else tuples.take(leg.rows)
            if not len(part):
                continue
            self.routing.start(tuples.lineage, leg, len(part))
            if leg.exhaustive:
                yield from self._exhaust(part, leg)
            else:
                # Legs that are no experiments wait for each other, so that operators that they share are called once.
                parts.append((self._asides.begin(leg, part) if leg.aside else leg, part))
        with_aside = [leg for leg, _ in parts if leg.aside]
        if len(parts) == 1:
            leg, part = parts.pop()
            following = self._follow(part, leg, leg.route)
            # Nothing but the walk itself may hold the tuples: it lets go of those that have come to their end.
            del tuples, part
            yield from following
        elif parts:
            walks = SideBySide(parts, self.machine.after, self._find_read, self._taps.note)
            del tuples, part, parts
            yield from self._walk(walks)
        if with_aside:
            self._end_asides(with_aside)

    def _walk(self, walks: SideBySide) -> Iterator[Tuples]:
        """Go all routes to their end, step by step; the last leg goes by itself."""
        while len(walks) > 1:
            ended, ahead = self._step_together(walks)
            while ended:
                yield ended.pop().tuples
            if ahead is not None:
                yield from self._walk(ahead)
        for walk in walks.leave():
            yield from self._follow(*walk)

    def _step_together(self, walks: SideBySide) -> tuple[list[LegWalk], SideBySide | None]:
        """Take a step with all legs that can take it together.

        Gives the walks that are at their end or were refused, and those that have to go on before all others: a probe
        may turn each tuple into thousands, and only so many are held at a time.
        """
        started = self._clock()
        hop, step = walks.step()
        counts: list[Counts] = []
        made: list[Tuples] = []
        left: list[RowIds] = []
        taken, apart = 0, 0.0
        while taken < len(step.tuples) and not walks.is_crowd(taken, sum(map(len, made))):
            outcome, statistic = self._step(hop, step.tuples.rest(taken) if taken else step.tuples)
            acted = taken + len(outcome.counts)
            self.statistics.add(hop, statistic)
            apart += self._timed
            if self._asides.trails or self._policy.is_listening:
                apart += self._learn(step.cut(taken, acted), hop, outcome, statistic)
            counts.append(outcome.counts)
            made.append(outcome.tuples)
            left += [] if outcome.left is None else [outcome.left + taken]
            taken = acted
        is_ahead = walks.is_crowd(taken, sum(map(len, made)))
        walks = walks.split(taken) if is_ahead else walks
        refused = walks.leave_behind(np.concatenate(left), self._refuse) if left else []
        ended = [*walks.go_on(join_counts(counts), merge(made)), *refused]
        self.prices.add_own(SHARED, taken, self._clock() - started - apart)
        return ended, walks if is_ahead else None

    def _refuse(self, lineage: Lineage, operator: str) -> Lineage:
        """Give the lineage of tuples that an option has refused; they go another way than the others."""
        self._taps.tear(lineage)
        return self.machine.refuse(lineage, operator)

    def _find_read(self, lineage: Lineage, operator: str) -> frozenset[str]:
        """Find the inputs of a tuple that an operator reads."""
        return self._reads[operator](lineage)

    def _plan(self, tuples: Tuples, chance: Chance) -> Sequence[Leg]:
        lineage = tuples.lineage
        ready = self.machine.ready(lineage)
        started = self._clock()
        # The policy gets functions and not lists: most policies ask for few of these, and buckets are dear.
        legs = self._policy.plan(
            Task(
                lineage=lineage,
                rows=len(tuples),
                statistics=self.statistics,
                prices=self.prices,
                chance=chance,
                after=lambda route: self.machine.ready_after(lineage, route),
                independent=self.machine.is_independent(lineage),
                buckets=self._classify(tuples),
                options=lambda route: self.machine.options_after(lineage, route),
            ),
            ready,
        )
        self.routing.planning += self._clock() - started
        self.routing.decisions += 1
        try:
            return check_plan(legs, lineage, len(tuples), self.machine)
        except EngineError as error:
            raise EngineError(f"policy {quote_choice(self._policy_name)}: {error}") from None

    def _follow(self, tuples: Tuples, leg: Leg, route: tuple[Hop, ...]) -> Iterator[Tuples]:
        """Take a route, step by step, with the tuples that are left.

        A step may act on its first tuples only. Those go all the way before the others come: however many tuples
        come out, only as many as one step makes are held at a time.
        """
        lineages = self.machine.along(tuples.lineage, route)
        begun, tuples = self._sift(tuples, route, lineages)
        # The tuples that wait, with their places in the route, those nearest to its end last. Depth first: a probe may
        # turn each tuple into thousands, and only one step's are held at each place:
        #
        #     tuples  [0 1 2 3 4 5]    step takes [0 1 2] -> their results go all the way -> [3 4 5] remain
        waiting = [(begun, tuples)]
        del tuples
        while waiting:
            place, tuples = waiting.pop()
            rows = len(tuples)
            while rows and place < len(route):
                made, left, step = self._step_alone(route[place], tuples, leg)
                if left is not None:
                    yield tuples.take(left).with_lineage(self._refuse(lineages[place], route[place].operator))
                if step.rows_in < rows:
                    waiting.append((place, tuples.rest(int(step.rows_in))))
                place, rows = place + 1, int(step.rows_out)
                tuples = Tuples(lineages[place], made.ids, made.faults)
                self._taps.note(lineages[place - 1], int(step.rows_in), tuples)
                del made
            yield tuples

    def _sift(self, tuples: Tuples, route: tuple[Hop, ...], lineages: Sequence[Lineage]) -> tuple[int, Tuples]:
        """Take the first steps in one loop, where nobody hears of each; gives how many, and what is left."""
        if self._policy.is_listening or self._asides.trails or tuples.faults is not None:
            return 0, tuples
        sieve = self._sieves.find(route)
        if not sieve:
            return 0, tuples
        ((name, ids),) = tuples.ids.items()
        ids, faults, steps, own = self._sieves.sift(sieve, ids)
        for hop, statistic in zip(route, steps, strict=False):
            self.statistics.add(hop, self._note(hop, statistic))
            self.prices.add_own(ALONE, int(statistic.rows_in), own / len(steps))
        left = Tuples(lineages[len(steps)], {name: ids})
        return len(steps), left.with_faults(faults)

    def _step_alone(self, hop: Hop, tuples: Tuples, leg: Leg) -> tuple[Tuples, RowIds | None, Statistic]:
        """Take a step with the tuples of one leg; gives what came out, and which were refused."""
        started = self._clock()
        outcome, statistic = self._step(hop, tuples)
        self.statistics.add(hop, statistic)
        acted, apart = len(outcome.counts), self._timed
        if self._asides.trails or self._policy.is_listening:
            apart += self._learn(SharedStep(tuples.first(acted), (leg,), (acted,)), hop, outcome, statistic)
        self.prices.add_own(ALONE, acted, self._clock() - started - apart)
        return outcome.tuples, outcome.left, statistic

    def _exhaust(self, tuples: Tuples, leg: Leg) -> Iterator[Tuples]:
        """Run every hop on every tuple, tell the policy, and go on with those that no filter dropped."""
        self._taps.tear(tuples.lineage)
        found = self._exhaustion.run(tuples, leg)
        started = self._clock()
        for hop, statistic in zip(leg.route, found.statistics, strict=True):
            self.statistics.add(hop, statistic)
        step = SharedStep(tuples, (leg,), (len(tuples),))
        self._tell(step, leg.route, found.counts, found.statistics, is_profile=True)
        self.routing.learning += self._clock() - started
        yield from self._follow(found.passed, Leg(route=found.last), found.last)

    def _step(self, hop: Hop, tuples: Tuples) -> tuple[Outcome, Statistic]:
        """Let an operator act; gives what came out, and what the step is to count for."""
        started = self._clock()
        outcome = self._run[hop.operator](tuples)
        self._timed = seconds = self._clock() - started
        made, skipped, reused = len(outcome.tuples), outcome.skipped, outcome.reused
        statistic = Statistic(len(outcome.counts), outcome.evaluated, made, seconds, skipped, reused)
        return outcome, self._note(hop, statistic)

    def _note(self, hop: Hop, statistic: Statistic) -> Statistic:
        """Count a step; gives what it is to count for."""
        # Reports have the seconds that it took; whoever chooses goes by what users say that it costs.
        self.routing.add(hop, statistic)
        if self._tariff.seconds:
            statistic = self._tariff.charge(hop, statistic)
        self.prices.add(hop, statistic)
        return statistic

    def _learn(self, step: SharedStep, hop: Hop, outcome: Outcome, made: Statistic) -> float:
        """Tell the policy what a step did; returns the seconds that it took to listen."""
        started = self._clock()
        if self._asides.trails:
            self._asides.note(step.legs, step.rows, hop, outcome.counts)
        self._tell(step, (hop,), (outcome.counts,), (made,), is_profile=False, outcome=outcome)
        seconds = self._clock() - started
        self.routing.learning += seconds
        return seconds

    def _end_asides(self, legs: Sequence[Leg]) -> None:
        """Ask the hops aside, and tell the policy; the shared statistics stay as they are."""
        profile = self._asides.end(legs)
        started = self._clock()
        step = SharedStep(profile.tuples, profile.legs, profile.rows)
        self._tell(step, profile.hops, profile.outcomes, profile.statistics, is_profile=True)
        self.routing.learning += self._clock() - started

    def _tell(
        self,
        step: SharedStep,
        hops: tuple[Hop, ...],
        outcomes: Sequence[Counts],
        statistics: Sequence[Statistic],
        *,
        is_profile: bool,
        outcome: Outcome | None = None,
    ) -> None:
        """Tell the policy, if it listens."""
        if not self._policy.is_listening:
            return
        self._policy.observe(
            Observation(
                origin=step.tuples.lineage.origin,
                legs=step.legs,
                rows=step.rows,
                hops=hops,
                outcomes=tuple(outcomes),
                statistics=tuple(statistics),
                buckets=self._classify(step.tuples),
                is_profile=is_profile,
                keys=None if outcome is None else outcome.keys,
                upkeep=0.0 if outcome is None else outcome.upkeep,
            )
        )


def _count_done(lineage: Lineage) -> int:
    return len(lineage.done) + len(lineage.spans)
