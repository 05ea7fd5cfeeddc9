"""Orders in two phases: what A-Greedy asks before it probes.

The thesis gives a star join to A-Greedy as filters, and joins what passes them all (5.2.2). Here the order is that of
probes, which count their finds; inputs are asked before it where that pays, and only there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from eddy.contracts import Decision, Hop, Leg, Observation, RouteCost, Setting, Task
from eddy.errors import quote
from eddy.policies.shared.merit import Costs
from eddy.policies.shared.two_phases import TwoPhases
from eddy.query.join_graph import find_option

ROWS_BETWEEN_LOOKS = 20_000
"""Rows of a stream after which its route is weighed again; before, whenever they are twice as many."""

ASKED = "{} first, as few rows match; {}"

Route = tuple[Hop, ...]


class Taken(NamedTuple):
    """The route that a stream's rows take in place of another.

    `asked` are the probes whose inputs are asked first. `changes` is how often that has changed, and `price` what a row
    was to cost when it last did.
    """

    base: Route
    route: Route
    asked: frozenset[Hop]
    changes: int = 0
    price: float = math.nan


class Asking:
    """The routes of streams, with what is asked first."""

    def __init__(self, setting: Setting, costs: Costs) -> None:
        self._phases = TwoPhases(setting, costs)
        self._taken: dict[str, Taken] = {}
        # The rows of each stream, and how many they are when its route is weighed again.
        self._rows: dict[str, tuple[int, int]] = {}

    def observe(self, observation: Observation) -> None:
        """Take note of a step, or of a profile."""
        self._phases.observe(observation)

    def find_route(self, task: Task, base: Route) -> Taken:
        """Give the route for rows that have just arrived."""
        origin = task.lineage.origin
        known, (rows, next_look) = self._taken.get(origin), self._rows.get(origin, (0, 0))
        rows += task.rows
        self._rows[origin] = rows, next_look
        if known is not None and rows < next_look and (known.base == base or not known.asked):
            # Where nothing is asked, another order is no reason to look: orders that are about alike take turns.
            return known if known.base == base else Taken(base, base, frozenset(), known.changes, known.price)
        self._rows[origin] = rows, rows + min(rows, ROWS_BETWEEN_LOOKS)
        route = self._phases.improve(task, base, known.route if known is not None and known.base == base else ())
        options = {hop.operator for hop in route if hop not in base}
        asked = frozenset(hop for hop in base if find_option(hop.operator) in options)
        former = known if known is not None else Taken(base, base, frozenset())
        changes, price = former.changes, former.price
        if (asked or former.asked) and route != former.route:
            changes, price = changes + 1, self._phases.price(task, route)
        self._taken[origin] = Taken(base, route, asked, changes, price)
        return self._taken[origin]

    def tell(self, decision: Decision) -> Decision:
        """Tell a decision about a stream's order with what is asked first: another decision each time that changes."""
        taken = self._taken.get(decision.stream)
        if taken is None:
            return decision
        decision = replace(decision, number=decision.number + taken.changes)
        if not taken.asked or decision.ways[0].route != tuple(hop.operator for hop in taken.base):
            return decision
        route = tuple(hop.operator for hop in taken.route)
        first = quote([hop.operator for hop in taken.route if hop not in taken.base])
        # What a row costs in the order alone says nothing of one that is asked first.
        ways = (RouteCost(route=route, share=1.0, predicted=taken.price, observed=math.nan),)
        return replace(decision, reason=ASKED.format(first, decision.reason), ways=ways)

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        taken = {o: [[list(hop) for hop in hops] for hops in found[:3]] for o, found in self._taken.items()}
        told = {o: [found.changes, found.price] for o, found in self._taken.items()}
        rows = {o: list(r) for o, r in self._rows.items()}
        return {"phases": self._phases.snapshot(), "taken": taken, "told": told, "rows": rows}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._phases.restore(state["phases"])
        for origin, parts in state["taken"].items():
            base, route, asked = (tuple(Hop(*hop) for hop in hops) for hops in parts)
            self._taken[origin] = Taken(base, route, frozenset(asked), *state["told"][origin])
        self._rows = {origin: (rows, next_look) for origin, (rows, next_look) in state["rows"].items()}


def ask_first(leg: Leg, route: Route) -> Leg:
    """Give the same leg on a longer route, which asks some inputs first.

    What is dropped where one is asked is shown to the hop that comes next, and to those that see what this one drops.
    """
    if leg.exhaustive:
        return leg
    if not leg.aside:
        return replace(leg, route=route)
    aside: list[tuple[Hop, ...]] = []
    place = 0
    for hop in route:
        if hop == leg.route[place]:
            aside.append(leg.aside[place])
            place += 1
        else:
            aside.append((leg.route[place], *leg.aside[place]))
    return replace(leg, route=route, aside=tuple(aside))
