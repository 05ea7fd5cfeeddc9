"""Joins in two phases: which inputs to ask for a match before anything is joined.

Follows 5.2.2 of the adaptive-ordering thesis, which asks every input first. Where it does better: an input is asked
only where that pays, and where in the route it pays most. A row that has no match in some input is best dropped before
other inputs multiply it; but where nearly all rows have a match, to ask first is to look everything up twice.

Whether it pays follows from four numbers of each probe: the share of its tuples that have a match, how many rows each
of those joins, how many candidates it has, and what one costs. The first three are counted here, the price is in the
one list that all share. Matches in different inputs count as independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from eddy.contracts import Counts, Hop, Observation, Setting, Task
from eddy.observe.prices import PROBES, USUAL_STEP
from eddy.observe.statistics import HALF_LIFE, fading
from eddy.policies.shared.merit import Costs, row_price, step_price
from eddy.query.join_graph import find_option

LEAST_GAIN = 0.02
"""The share of a route's price that one more input must save before it is asked: the counts are no surer than that."""

FEWEST_ASKED, FEWEST_MATCHED = 100.0, 1.0
"""Tuples of which a probe must know whether they have a match, and how many must have one: a share of matches is then
known to a few hundredths."""


@dataclass(frozen=True, slots=True)
class Fan:
    """What is known of a probe; older tuples count less.

    Of `asked` tuples `passed` have a match, as far as whoever was asked first could tell. Of those that were joined
    `matched` had one; `out` came out of them, and they had so many `candidates`.
    """

    asked: float = 0.0
    passed: float = 0.0
    matched: float = 0.0
    out: float = 0.0
    candidates: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether enough tuples have been seen."""
        return self.asked >= FEWEST_ASKED and self.passed > 0 and self.matched >= FEWEST_MATCHED

    @property
    def match(self) -> float:
        """The share of tuples that have a match."""
        return self.passed / self.asked

    def add(self, asked: float, passed: float) -> Fan:
        """Count tuples of which it is known whether they have a match."""
        kept = fading(asked, HALF_LIFE)
        return Fan(self.asked * kept + asked, self.passed * kept + passed, self.matched, self.out, self.candidates)

    def join(self, matched: float, out: float, candidates: float) -> Fan:
        """Count tuples that were joined."""
        kept = fading(matched, HALF_LIFE)
        found = (self.matched * kept + matched, self.out * kept + out, self.candidates * kept + candidates)
        return Fan(self.asked, self.passed, *found)


class TwoPhases:
    """Where in a route it pays to ask an input before it is probed.

    A policy hands on what it observes, and has a route improved when it is new: that takes up to some milliseconds, so
    it is nothing for every task.
    """

    def __init__(self, setting: Setting, costs: Costs) -> None:
        self._costs = costs
        self._options = {probe: find_option(probe) for probe in setting.prices.probes}
        self._probes = {option: probe for probe, option in self._options.items()}
        self._fans: dict[Hop, Fan] = {}

    def observe(self, observation: Observation) -> None:
        """Count what probes have found, and those that were asked first."""
        routed = {hop.operator for leg in observation.legs for hop in leg.route}
        is_step = len(observation.hops) == 1
        for hop, counts, statistic in zip(observation.hops, observation.outcomes, observation.statistics, strict=True):
            if hop.operator in self._probes:
                self._add(Hop(self._probes[hop.operator], hop.pattern), counts)
            elif hop.operator in self._options:
                # Of tuples that were asked before, the probe says nothing about the share of matches among all.
                if not (is_step and self._options[hop.operator] in routed):
                    self._add(hop, counts)
                matched = float(np.count_nonzero(counts > 0))
                self._fans[hop] = self._fans.get(hop, Fan()).join(matched, statistic.rows_out, statistic.evaluated)

    def _add(self, probe: Hop, counts: Counts) -> None:
        # A profile has numbers below 0 for the tuples that a hop has not seen.
        known = self._fans.get(probe, Fan())
        self._fans[probe] = known.add(float(np.count_nonzero(counts >= 0)), float(np.count_nonzero(counts > 0)))

    def improve(self, task: Task, route: tuple[Hop, ...]) -> tuple[Hop, ...]:
        """Ask inputs first in a legal route that asks none, one after the other, as long as that pays."""
        price = self.price(task, route)
        while True:
            tried = [(self.price(task, longer), longer) for longer in self._lengthen(task, route)]
            least, longer = min(tried, key=lambda one: one[0], default=(price, route))
            if least >= price * (1 - LEAST_GAIN):
                return route
            price, route = least, longer

    def _lengthen(self, task: Task, route: tuple[Hop, ...]) -> Iterator[tuple[Hop, ...]]:
        """Ask the input of each probe that is known, at each place before it."""
        for probe in route:
            if probe.operator not in self._options or not self._fans.get(probe, Fan()).is_known:
                continue
            option = Hop(self._options[probe.operator], probe.pattern)
            others = tuple(hop for hop in route if hop.operator != option.operator)
            # What is asked next to its probe is looked up twice for nothing. An option that searches by other keys than
            # the probe will is another question, of which nothing is known.
            for place in range(others.index(probe)):
                if option in task.options(others[:place]):
                    yield (*others[:place], option, *others[place:])

    def price(self, task: Task, route: Sequence[Hop]) -> float:
        """Price an arriving row on a route: seconds, or calls where only these count."""
        rows, price, asked = 1.0, 0.0, set[str]()
        for hop in route:
            probe = Hop(self._probes.get(hop.operator, hop.operator), hop.pattern)
            fan = self._fans.get(probe, Fan())
            price += self._price_step(task, hop) / task.rows
            if probe != hop:
                asked.add(probe.operator)
                price, rows = price + rows * self._price_looking(task, 0.0), rows * fan.match
            elif fan.is_known:
                share = 1.0 if hop.operator in asked else fan.match
                price += rows * self._price_looking(task, share * fan.candidates / fan.matched)
                rows *= share * fan.out / fan.matched
            else:
                price, rows = price + rows * row_price(hop, task.prices, self._costs), rows * task.statistics[hop].rate
        return price

    def _price_step(self, task: Task, hop: Hop) -> float:
        """Price a call, of an option the usual: whoever looks first in a micro-batch has the index to make besides."""
        price = step_price([hop], task.prices, self._costs)
        if hop.operator in self._probes and self._costs == "time":
            price += USUAL_STEP - task.prices[hop].step
        return price

    def _price_looking(self, task: Task, candidates: float) -> float:
        """Price a tuple that is looked up, and so many candidates.

        All probes do the same, and their steps together tell best what a row more of it takes.
        """
        return 1.0 if self._costs == "unit" else task.prices[PROBES].unit * (1.0 + candidates)

    def snapshot(self) -> list[list[Any]]:
        """A row for each probe."""
        return [[*hop, *astuple(fan)] for hop, fan in self._fans.items()]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._fans = {Hop(operator, pattern): Fan(*numbers) for operator, pattern, *numbers in rows}
