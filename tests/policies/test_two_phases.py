"""Where it pays to ask an input before it is probed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from eddy.contracts import Leg, Lineage, Observation, Prices, Setting, Statistic, Statistics, Task
from eddy.policies.shared.merit import Costs
from eddy.policies.shared.two_phases import STEPS_APART, STEPS_AT_FIRST, TwoPhases
from eddy.tuples import Hop
from tests.eddy.test_router import Blind

CALL, ROW = 50e-6, 50e-9
"""Seconds of a probe's call, and of a tuple or candidate."""

LOOKUPS = ("b", "c", "d")


class Lookup(NamedTuple):
    """A probe's share of matches, and its rows for each."""

    match: float
    fan: int


def hop(name: str) -> Hop:
    return Hop(name, name[-1] + ".k")


class World:
    """Lookups of a star, and what has been seen of them."""

    def __init__(self, lookups: Mapping[str, Lookup], costs: Costs) -> None:
        names = [f"probe_{name}" for name in lookups]
        self.prices, self.statistics = Prices(names), Statistics()
        self.lookups = lookups
        self.setting = Setting(operators=("dear", *names), prices=self.prices)
        self.phases = TwoPhases(self.setting, costs)

    def step(self, name: str, rows: int, *, asked: bool = False, exhaustive: bool = False) -> None:
        """Some tuples of which every n-th matches."""
        lookup = self.lookups[name[-1]]
        joins = name.startswith("probe_")
        matches = np.arange(rows) % 100 < (100 if asked and joins else round(100 * lookup.match))
        counts = matches * np.int64(lookup.fan) if joins else matches
        out, candidates = int(counts.sum()), int(counts.sum()) if joins else rows
        seconds = CALL + ROW * (rows + (candidates if joins else 0))
        statistic = Statistic(rows, candidates, out, seconds)
        self.prices.add(hop(name), statistic)
        self.statistics.add(hop(name), statistic)
        route = (hop(f"meets_{name[-1]}"), hop(name)) if asked else (hop(name),)
        leg = Leg(route=route, exhaustive=exhaustive)
        hops = route if exhaustive else (hop(name),)
        times = len(hops)
        self.phases.observe(
            Observation("a", (leg,), (rows,), hops, [counts] * times, (statistic,) * times, Blind(rows), exhaustive)
        )

    def task(self, rows: int) -> Task:
        start = Lineage("a", frozenset("a"), frozenset())

        def options(route: Sequence[Hop]) -> tuple[Hop, ...]:
            gone = {one.operator for one in route}
            names = [name for name in self.lookups if not gone & {f"probe_{name}", f"meets_{name}"}]
            return tuple(hop(f"meets_{name}") for name in names)

        return Task(
            lineage=start,
            rows=rows,
            statistics=self.statistics,
            prices=self.prices,
            chance=lambda: np.random.default_rng(0),
            after=lambda route: (),
            independent=True,
            buckets=Blind(rows),
            options=options,
        )

    def improve(self, *names: str, rows: int = 1_000) -> list[str]:
        route = tuple(hop(name) for name in names)
        return [one.operator for one in self.phases.improve(self.task(rows), route)]


def seen(lookups: Mapping[str, Lookup], costs: Costs = "time") -> World:
    """Every probe has looked up many tuples, in steps of several sizes."""
    world = World(lookups, costs)
    for rows in (1_000, 2_000, 400, 10_000):
        for name in lookups:
            world.step(f"probe_{name}", rows)
    return world


PROBES = [f"probe_{name}" for name in LOOKUPS]


def alike(match: float, fan: int) -> dict[str, Lookup]:
    return dict.fromkeys(LOOKUPS, Lookup(match, fan))


@pytest.mark.parametrize(
    ("lookups", "costs", "asked"),
    [
        (alike(0.1, 20), "unit", {"meets_c", "meets_d"}),
        (alike(0.1, 20), "time", {"meets_c", "meets_d"}),
        (alike(0.9, 2), "time", set()),
        (alike(0.9, 1), "unit", set()),
        (alike(0.01, 1), "time", set()),
        ({"b": Lookup(1.0, 30), "c": Lookup(0.1, 1), "d": Lookup(1.0, 1)}, "time", {"meets_c"}),
        ({"b": Lookup(0.1, 1), "c": Lookup(1.0, 30), "d": Lookup(1.0, 1)}, "time", set()),
    ],
    ids=["few match", "in seconds", "most match", "by calls", "no fan-out", "the one that drops", "which is first"],
)
def test_an_input_is_asked_first_where_that_pays(lookups: dict[str, Lookup], costs: Costs, asked: set[str]) -> None:
    route = seen(lookups, costs).improve(*PROBES, rows=10_000)
    assert set(route) - set(PROBES) == asked
    assert [name for name in route if name in PROBES] == PROBES
    assert all(route.index(name) < route.index(name.replace("meets", "probe")) for name in asked)


def test_inputs_are_asked_before_what_multiplies() -> None:
    assert seen(alike(0.1, 20), "unit").improve(*PROBES)[2] == "probe_b"


def test_a_call_more_for_few_rows_does_not_pay() -> None:
    world = seen(alike(0.1, 20))
    assert world.improve(*PROBES, rows=20) == PROBES
    assert world.improve(*PROBES, rows=10_000) != PROBES


def test_a_route_that_asks_stays_while_another_saves_little() -> None:
    world = seen(alike(0.1, 20))
    base = tuple(hop(name) for name in PROBES)
    former = world.phases.improve(world.task(10_000), base)
    few = world.task(300)
    assert former not in (base, world.phases.improve(few, base))
    assert world.phases.improve(few, base, former) == former
    assert world.phases.improve(world.task(10), base, former) == base
    assert world.phases.improve(world.task(10_000), base, base) == former


def test_a_dear_filter_is_worth_asking_before() -> None:
    world = seen(alike(0.5, 1))
    world.prices.add(hop("dear"), Statistic(1_000, 1_000, 900, 1.0))
    world.statistics.add(hop("dear"), Statistic(1_000, 1_000, 900, 1.0))
    route = world.improve("dear", *PROBES)
    assert set(route[: route.index("dear")]) == {"meets_b", "meets_c", "meets_d"}


@pytest.mark.parametrize("rows", [0, 50])
def test_of_what_is_not_known_nothing_is_asked(rows: int) -> None:
    world = World(alike(0.1, 20), "unit")
    for name in PROBES:
        if rows:
            world.step(name, rows)
    assert world.improve(*PROBES) == PROBES
    for name in PROBES:
        world.step(name, 100)
    assert world.improve(*PROBES) != PROBES


def test_a_probe_of_what_was_asked_tells_nothing_of_the_share_that_matches() -> None:
    world = seen(alike(0.1, 20), "unit")
    for _ in range(5 * STEPS_APART):
        for name in LOOKUPS:
            world.step(f"meets_{name}", 1_000)
            world.step(f"probe_{name}", 1_000, asked=True)
    shares = [passed / asked for _, _, asked, passed, *_ in world.phases.snapshot()["fans"]]
    assert shares == pytest.approx([0.1] * 3)


def test_where_matches_become_common_asking_ends() -> None:
    world = seen(alike(0.1, 2), "unit")
    assert world.improve(*PROBES) != PROBES
    world.lookups = alike(0.95, 2)
    for _ in range(STEPS_AT_FIRST + 5 * STEPS_APART):
        for name in LOOKUPS:
            world.step(f"meets_{name}", 10_000)
    assert world.improve(*PROBES) == PROBES


def test_a_profile_says_of_every_tuple_whether_it_matches() -> None:
    world = World(alike(0.1, 20), "unit")
    for name in PROBES:
        world.step(name, 1_000, asked=True, exhaustive=True)
    assert world.phases.snapshot()["fans"][0][2] == pytest.approx(1_000 + 1_000 * 0.5**0.1)


def test_what_a_hop_has_not_seen_does_not_count() -> None:
    world = World(alike(0.1, 20), "unit")
    statistic = Statistic(2, 3, 3, 0.1)
    leg, hops = Leg(route=(hop("dear"),)), (hop("dear"), hop("probe_b"))
    outcomes = [np.array([True, False, True]), np.array([3, -1, 0])]
    world.phases.observe(Observation("a", (leg,), (3,), hops, outcomes, (statistic,) * 2, Blind(3), True))
    assert world.phases.snapshot()["fans"] == [["probe_b", "b.k", 2.0, 1.0, 0.0, 0.0, 0.0]]


def test_it_goes_on_from_a_snapshot() -> None:
    world = seen(alike(0.1, 20))
    state = json.loads(json.dumps(world.phases.snapshot()))
    other = TwoPhases(world.setting, "time")
    other.restore(state)
    assert other.snapshot() == world.phases.snapshot()
    world.phases = other
    assert world.improve(*PROBES, rows=10_000) != PROBES
