"""A-Caching: an order of probes, and caches that are placed in it where they pay.

It follows sections 5.4 to 5.6 of Babu's thesis, Adaptive Query Processing in Data Stream Management Systems (2005).
Some other policy has the order. Where two probes or more stand in a row a cache may stand in for them, which has what
they find for a key ready-made, and is kept up when rows come. A share of the rows goes without caches, so that what
they save stays known; a cache that costs more than it brings goes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eddy.contracts import (
    Branch,
    Decision,
    Hop,
    Insight,
    Leg,
    Observation,
    Policy,
    QueryError,
    RouteCost,
    Setting,
    State,
    Statistics,
    Task,
    check_whole,
    unknown_name,
)
from eddy.errors import check_choice
from eddy.policies.caching.candidates import Candidate, keeps_prefix, list_candidates
from eddy.policies.caching.states import StreamCaches
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.merit import Costs
from eddy.query.join_graph import is_cached

WHERE = 'policy "a_caching"'

ORDERS = ("a_greedy", "fixed", "source")
CONSISTENCIES = ("any", "prefix")

FEWEST_WITHOUT = 100
"""Rows that go without caches together: they are a leg of their own, whose calls should not cost more than its rows."""

ORDER = "order "
"""The parts of a snapshot that are the order's begin with it."""


class ACaching(Policy):
    """Places caches in the routes of another policy.

    `order` is the policy that has the routes. At most `m` caches are looked at for a route. What did not pay is tried
    again after `interval` rows of its stream, and a cache must save the share `change` of what probes take. The share
    `without` of the rows goes without caches. With `consistency` "prefix" only those caches count whose inputs are
    joined with each other before anything else, by rows of each of them. With `force`, which names operators as
    "cached_b_c", those caches are used and no others.

    >>> from eddy.policies.fixed import Fixed
    >>> setting = Setting(operators=("probe_a", "probe_b"), make=lambda *_: Fixed(setting))
    >>> ACaching(setting, order="fixed").snapshot()
    {'caches': {}}
    """

    def __init__(  # noqa: PLR0913  what a config file may say
        self,
        setting: Setting,
        *,
        order: str = "a_greedy",
        m: int = 6,
        interval: int = 10_000,
        change: float = 0.2,
        without: float = 0.02,
        consistency: str = "any",
        force: Sequence[str] = (),
        costs: Costs = "time",
    ) -> None:
        _check_choices({"order": (order, ORDERS), "consistency": (consistency, CONSISTENCIES)})
        _check_numbers(wholes={"m": m, "interval": interval}, shares={"change": change, "without": without})
        check_costs(costs, where=WHERE)
        # By name alone a filter might be taken for one of them.
        self._caches = frozenset(name for name in setting.options if is_cached(name))
        check_force(force, setting.options)
        self._order = setting.make(order, {"costs": costs})
        self.features = self._order.features
        self._probes, self._prices = setting.prices.probes, setting.prices
        self._most, self._without, self._is_prefix = m, without, consistency == "prefix"
        self._conduct: Mapping[str, Any] = {
            "interval": interval,
            "change": change,
            "costs": costs,
            "force": force,
            "probes": self._probes,
        }
        self._statistics = Statistics()
        self._streams: dict[str, StreamCaches] = {}
        self._candidates: dict[tuple[object, tuple[Hop, ...]], Sequence[Candidate]] = {}
        # Rows of the round, and rows that are due to go without caches, by stream.
        self._rows: dict[str, int] = {}
        self._due: dict[str, float] = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Put caches into the routes of most rows."""
        self._statistics = task.statistics
        legs = self._order.plan(task, ready)
        if task.lineage.done or not self._probes:
            return legs
        origin = task.lineage.origin
        self._rows[origin] = self._rows.get(origin, 0) + task.rows
        plain = [leg for leg in legs if not leg.exhaustive and not leg.aside]
        if not plain:
            return legs
        # Profiles see every hop, or what others lose: they go without.
        main = max(plain, key=lambda leg: task.rows if leg.rows is None else len(leg.rows))
        stream = self._find_stream(origin)
        stream.follow(main.route, self._choose_candidates(task, main.route))
        route = stream.choose()
        return legs if route == main.route else [one for leg in legs for one in self._divide(task, leg, main, route)]

    def _find_stream(self, origin: str) -> StreamCaches:
        if origin not in self._streams:
            self._streams[origin] = StreamCaches(**self._conduct)
        return self._streams[origin]

    def _choose_candidates(self, task: Task, route: tuple[Hop, ...]) -> Sequence[Candidate]:
        """List the caches that may be placed in a route, by the routes of all streams as they are by now."""
        candidates = self._list_candidates(task, route)
        if not self._is_prefix:
            return candidates
        routes = {name: stream.route for name, stream in self._streams.items()} | {task.lineage.origin: route}
        return [one for one in candidates if keeps_prefix(one.inputs, routes, self._probes)][: self._most]

    def _list_candidates(self, task: Task, route: tuple[Hop, ...]) -> Sequence[Candidate]:
        known = task.lineage, route
        if known not in self._candidates:
            most = len(self._caches) if self._is_prefix else self._most
            self._candidates[known] = list_candidates(task, route, self._probes, most)
        return self._candidates[known]

    def _divide(self, task: Task, leg: Leg, main: Leg, route: tuple[Hop, ...]) -> Sequence[Leg]:
        """Send the rows of the main leg by caches, and a few of them without."""
        if leg is not main:
            return [leg]
        rows = np.arange(task.rows) if leg.rows is None else leg.rows
        origin = task.lineage.origin
        due = self._due[origin] = self._due.get(origin, 0.0) + self._without * len(rows)
        if due < FEWEST_WITHOUT or len(rows) < FEWEST_WITHOUT or leg.classes is not None:
            return [replace(leg, route=route)]
        self._due[origin] = 0.0
        count = min(int(due), len(rows) // 2)
        chosen = np.zeros(len(rows), np.bool_)
        chosen[((np.arange(count) + task.chance().random(count)) * (len(rows) / count)).astype(np.int64)] = True
        return [replace(leg, route=route, rows=rows[~chosen]), replace(leg, rows=rows[chosen])]

    def observe(self, observation: Observation) -> None:
        """Count what caches take, and tell the order about everything else."""
        if observation.is_profile or observation.hops[0].operator not in self._caches:
            if self._order.is_listening:
                self._order.observe(observation)
            return
        (hop,), (statistic,) = observation.hops, observation.statistics
        if observation.origin in self._streams and statistic.rows_in:
            self._streams[observation.origin].observe(hop, statistic.rows_in, statistic.seconds)

    def learn(self) -> None:
        """Let the order learn, and judge the caches of each stream."""
        self._order.learn()
        for origin, stream in self._streams.items():
            stream.learn(self._rows.pop(origin, 0), self._prices, self._statistics)

    @property
    def is_calm(self) -> bool:
        """Whether the order is: caches are judged by rounds as large as they come."""
        return self._order.is_calm

    @property
    def is_new(self) -> bool:
        """Whether the order knows nothing of the rows yet."""
        return self._order.is_new

    @property
    def is_urgent(self) -> bool:
        """Whether rounds should be small."""
        return self._order.is_urgent

    @property
    def insight(self) -> Insight:
        """What the order tells, and for each stream with caches its route and what is known of them."""
        told = self._order.insight
        own = [self._tell(origin, stream) for origin, stream in sorted(self._streams.items()) if stream.tell()]
        others = [one for one in told.decisions if one.stream not in {decision.stream for decision in own}]
        return Insight(uses=told.uses, decisions=[*others, *own], regrets=told.regrets)

    def _tell(self, origin: str, stream: StreamCaches) -> Decision:
        reason = "; ".join(f"{name} {state}: {why}" for name, state, why in stream.tell())
        route = tuple(hop.operator for hop in stream.choose())
        ways = (RouteCost(route=route, share=1.0, predicted=np.nan, observed=np.nan),)
        tree = (Branch(level=0, way=0),)
        return Decision(stream=origin, number=stream.decided, reason=reason, seconds=0.0, ways=ways, tree=tree)

    def snapshot(self) -> State:
        """What the order has to say, and what is known of caches; combinations are found anew."""
        order = {f"{ORDER}{name}": value for name, value in self._order.snapshot().items()}
        caches = {
            origin: [self._due.get(origin, 0.0), self._rows.get(origin, 0), stream.snapshot()]
            for origin, stream in self._streams.items()
        }
        return {**order, "caches": caches}

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        own = {name.removeprefix(ORDER): value for name, value in state.items() if name.startswith(ORDER)}
        if own:
            self._order.restore(own)
        for origin, (due, rows, told) in state["caches"].items():
            self._due[origin], self._rows[origin] = due, rows
            self._find_stream(origin).restore(told)


def _check_choices(choices: Mapping[str, tuple[object, Sequence[str]]]) -> None:
    for name, (choice, known) in choices.items():
        check_choice(choice, known, name, where=WHERE)


def _check_numbers(*, wholes: Mapping[str, object], shares: Mapping[str, object]) -> None:
    for name, number in wholes.items():
        check_whole(number, name, where=WHERE)
    for name, share in shares.items():
        check_share(share, name, where=WHERE)


def check_force(force: object, options: Sequence[str]) -> None:
    """Check the names of caches that are to be used; those of a join are known once there is one."""
    where = f"{WHERE}: force"
    if isinstance(force, str) or not isinstance(force, Sequence) or not all(isinstance(name, str) for name in force):
        raise QueryError(f'{where}: expected a list of caches as ["cached_b_c"], got {force!r}')
    known = [name for name in options if is_cached(name)]
    for name in force:
        if options and name not in known:
            raise unknown_name("cache", name, known, where=where)
