"""Joins in two phases: which inputs to ask for a match before anything is joined.

It follows section 5.2.2 of Babu's thesis, which asks every input first. Where it does better: an input is asked
only where that pays, and where in the route it pays most. A row that has no match in some input is best dropped before
other inputs multiply it; but where nearly all rows have a match, to ask first is to look everything up twice.

Whether it pays follows from four numbers of each probe: the share of its tuples that have a match, how many rows each
of those joins, how many candidates it has, and what one costs. The first three are counted here, the price is in the
one list that all share. Matches in different inputs count as independent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

import numpy as np

from eddy.contracts import Hop, Observation, Setting, Task
from eddy.observe.prices import PROBES, USUAL_STEP
from eddy.observe.statistics import HALF_LIFE, fading
from eddy.policies.shared.merit import Costs, row_price, step_price
from eddy.query.join_graph import find_option

LEAST_GAIN = 0.02
"""The share of a route's price that one more input must save before it is asked: the counts are no surer than that."""

LEAST_CHANGE = 0.1
"""The share of its price that must be saved before a route that asks is another: prices swing more than what they say
of each other."""

FEWEST_ASKED, FEWEST_MATCHED = 100.0, 1.0
"""Tuples of which a probe must know whether they have a match, and how many must have one: a share of matches is then
known to a few hundredths."""

STEPS_AT_FIRST, STEPS_APART = 8, 8
"""Steps of a hop that are counted to begin with, and of how many one is later."""


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


NOTHING_KNOWN = Fan()


class HopPrice(NamedTuple):
    """What a hop takes on a route, and what comes out of it.

    A call costs `call` of an arriving row, an input `row`, and the candidates of one that has a match `found`. A share
    of `match` goes on, as `fan` tuples each; of those that were asked first, all. `asks` is the probe that an option is
    about.
    """

    call: float
    row: float
    match: float
    found: float = 0.0
    fan: float = 1.0
    asks: str = ""


class TwoPhases:
    """Where in a route it pays to ask an input before it is probed.

    A policy hands on what it observes, and has a route improved when it is new: that takes some tenths of a
    millisecond, so it is nothing for every task.
    """

    def __init__(self, setting: Setting, costs: Costs) -> None:
        self._costs = costs
        self._options = {probe: find_option(probe) for probe in setting.prices.probes}
        self._probes = {option: probe for probe, option in self._options.items()}
        self._fans: dict[Hop, Fan] = {}
        self._steps: dict[Hop, int] = {}

    def observe(self, observation: Observation) -> None:
        """Count what probes have found, and those that were asked first."""
        for place, hop in enumerate(observation.hops):
            probe = self._probes.get(hop.operator, hop.operator)
            if probe in self._options and self._is_due(hop):
                known = self._fans.get(Hop(probe, hop.pattern), NOTHING_KNOWN)
                self._fans[Hop(probe, hop.pattern)] = self._count(known, observation, place)

    def _is_due(self, hop: Hop) -> bool:
        """Tell whether to look at a step; to look at all of them would take longer than asking saves at times."""
        step = self._steps[hop] = self._steps.get(hop, -1) + 1
        return step < STEPS_AT_FIRST or not step % STEPS_APART

    def _count(self, known: Fan, observation: Observation, place: int) -> Fan:
        hop, counts = observation.hops[place], observation.outcomes[place]
        # A profile has numbers below 0 for the tuples that a hop has not seen.
        asked, matched = float(np.count_nonzero(counts >= 0)), float(np.count_nonzero(counts > 0))
        option = self._options.get(hop.operator)
        # Of tuples that were asked before, a probe says nothing about the share that matches among all.
        is_first = observation.is_profile or all(
            other.operator != option for leg in observation.legs for other in leg.route
        )
        known = known.add(asked, matched) if is_first else known
        if option is None or observation.is_profile:
            return known
        statistic = observation.statistics[place]
        return known.join(matched, statistic.rows_out, statistic.evaluated)

    def improve(self, task: Task, route: tuple[Hop, ...], former: tuple[Hop, ...] = ()) -> tuple[Hop, ...]:
        """Ask inputs first in a legal route that asks none, one after the other, as long as that pays.

        `former` is what the same route became before: it stays, unless another one saves much.
        """
        known = [hop for hop in route if hop.operator in self._options and self._fans.get(hop, NOTHING_KNOWN).is_known]
        options = {hop: Hop(self._options[hop.operator], hop.pattern) for hop in known}
        # What is asked next to its probe is looked up twice for nothing.
        if not any(probe in options for probe in route[1:]):
            return route
        prices = {hop: self._price(task, hop) for hop in (*route, *options.values())}
        kept = price_route(former, prices) * (1 - LEAST_CHANGE) if former and prices.keys() >= set(former) else math.inf
        least = price_route(route, prices)
        while True:
            tried = [(price_route(other, prices), other) for other in lengthen(task, route, options)]
            price, other = min(tried, key=lambda one: one[0], default=(least, route))
            if price >= least * (1 - LEAST_GAIN):
                return former if least >= kept else route
            least, route = price, other

    def price(self, task: Task, route: tuple[Hop, ...]) -> float:
        """Price an arriving row on a route."""
        return price_route(route, {hop: self._price(task, hop) for hop in route})

    def _price(self, task: Task, hop: Hop) -> HopPrice:
        call = step_price([hop], task.prices, self._costs)
        # All probes do the same, and their steps together tell best what a row more of it takes.
        looking = 1.0 if self._costs == "unit" else task.prices[PROBES].unit
        if hop.operator in self._probes:
            probe = Hop(self._probes[hop.operator], hop.pattern)
            # Whoever looks first in a micro-batch has the index to make besides: that is no price of asking.
            call += 0.0 if self._costs == "unit" else USUAL_STEP - task.prices[hop].step
            return HopPrice(call / task.rows, looking, self._fans[probe].match, asks=probe.operator)
        fan = self._fans.get(hop, NOTHING_KNOWN)
        if not fan.is_known:
            row, rate = row_price(hop, task.prices, self._costs), task.statistics[hop].rate
            return HopPrice(call / task.rows, row, rate)
        found = 0.0 if self._costs == "unit" else looking * fan.candidates / fan.matched
        return HopPrice(call / task.rows, looking, fan.match, found, fan.out / fan.matched)

    def snapshot(self) -> dict[str, Any]:
        """A row for each probe, and the steps of each hop."""
        return {
            "fans": [[*hop, *astuple(fan)] for hop, fan in self._fans.items()],
            "steps": [[*hop, steps] for hop, steps in self._steps.items()],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._fans = {Hop(operator, pattern): Fan(*numbers) for operator, pattern, *numbers in state["fans"]}
        self._steps = {Hop(operator, pattern): steps for operator, pattern, steps in state["steps"]}


def lengthen(task: Task, route: tuple[Hop, ...], options: Mapping[Hop, Hop]) -> Iterator[tuple[Hop, ...]]:
    """Ask about each probe that has an option, at each place before it."""
    for probe, option in options.items():
        others = tuple(hop for hop in route if hop != option)
        # An option that searches by other keys than the probe will is another question, of which nothing is known.
        for place in range(others.index(probe)):
            if option in task.options(others[:place]):
                yield (*others[:place], option, *others[place:])


def price_route(route: Sequence[Hop], prices: Mapping[Hop, HopPrice]) -> float:
    """Price an arriving row on a route: seconds, or calls where only these count.

    >>> prices = {Hop("probe_b"): HopPrice(0.0, 1.0, 0.5, 2.0, 2.0), Hop("probe_c"): HopPrice(0.0, 1.0, 0.1, 2.0, 2.0)}
    >>> price_route([Hop("probe_b"), Hop("probe_c")], prices)
    3.2
    >>> prices[Hop("meets_c")] = HopPrice(0.0, 1.0, 0.1, asks="probe_c")
    >>> round(price_route([Hop("meets_c"), Hop("probe_b"), Hop("probe_c")], prices), 3)
    1.5
    """
    rows, price, asked = 1.0, 0.0, set[str]()
    for hop in route:
        call, row, match, found, fan, asks = prices[hop]
        share = 1.0 if hop.operator in asked else match
        price += call + rows * (row + share * found)
        rows *= share * fan
        asked.add(asks)
    return price
