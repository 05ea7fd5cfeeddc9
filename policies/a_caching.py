"""A-Caching: an order of probes, and caches that are placed in it where they pay.

It follows sections 5.4 to 5.6 of Babu's thesis, Adaptive Query Processing in Data Stream Management Systems (2005).
Some other policy has the order. Where two probes or more stand in a row a cache may stand in for them, which has what
they find for a key ready-made, and is kept up when rows come. A share of the rows goes without caches, so that what
they save stays known; a cache that costs more than it brings goes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from eddy.contracts import (
    Branch,
    CacheNote,
    Decision,
    Hop,
    Insight,
    Leg,
    Mask,
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
from eddy.observe.caching import read_notes, write_notes
from eddy.policies.caching.candidates import Candidate, keeps_prefix, list_candidates
from eddy.policies.caching.rest import Rest
from eddy.policies.caching.sharing import Known, SharedCaches
from eddy.policies.caching.states import StreamCaches
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.merit import Costs
from eddy.query.join_graph import is_cached

WHERE = 'policy "a_caching"'

ORDERS = ("a_greedy", "fixed", "source")
CONSISTENCIES = ("any", "prefix")

TRIAL_PART = 0.25
"""The share of rows by which a trial begins: a cache that is far dearer than its probes costs so much less."""

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
    >>> list(ACaching(setting, order="fixed").snapshot()["caches"])
    ['due', 'beyond', 'rows', 'rest', 'streams', 'upkeep', 'look_ups', 'promised']
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
        self._shared = SharedCaches(
            interval=interval, change=change, costs=costs, force=force, probes=setting.prices.probes
        )
        # Those of the engine, once there is a task.
        self._statistics: Statistics | None = None
        self._notes: Sequence[CacheNote] = ()
        self._candidates: dict[tuple[object, tuple[Hop, ...]], Sequence[Candidate]] = {}
        # Rows of the round, and rows that are due to go without caches, by stream.
        self._rows: dict[str, int] = {}
        self._due: dict[str, float] = {}
        # Parts of each stream's route that are not looked at, since `m` smaller ones are.
        self._beyond: dict[str, int] = {}
        self._rest = Rest()
        # What is told of streams with caches, once somebody has asked since the last round that was no rest.
        self._told: tuple[Sequence[Decision], Sequence[CacheNote]] | None = None

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Put caches into the routes of most rows."""
        self._statistics = task.statistics
        legs = self._order.plan(task, ready)
        if task.lineage.done or not self._probes:
            return legs
        origin = task.lineage.origin
        self._rows[origin] = self._rows.get(origin, 0) + task.rows
        if self._rest.is_on and self._shared.is_idle:
            return legs
        plain = [leg for leg in legs if not leg.exhaustive and not leg.aside]
        if not plain:
            return legs
        # Profiles see every hop, or what others lose: they go without.
        main = max(plain, key=lambda leg: task.rows if leg.rows is None else len(leg.rows))
        stream = self._shared.find(origin)
        stream.follow(main.route, self._choose_candidates(task, main.route))
        if stream.choose() == main.route:
            return legs
        return [one for leg in legs for one in (self._divide(task, leg, stream) if leg is main else [leg])]

    def _choose_candidates(self, task: Task, route: tuple[Hop, ...]) -> Sequence[Candidate]:
        """List the caches that may be placed in a route, by the routes of all streams as they are by now."""
        candidates = self._list_candidates(task, route)
        if self._is_prefix:
            routes = {name: stream.route for name, stream in self._shared.streams.items()}
            routes[task.lineage.origin] = route
            candidates = [one for one in candidates if keeps_prefix(one.inputs, routes, self._probes)]
        self._beyond[task.lineage.origin] = max(len(candidates) - self._most, 0)
        return candidates[: self._most]

    def _list_candidates(self, task: Task, route: tuple[Hop, ...]) -> Sequence[Candidate]:
        known = task.lineage, route
        if known not in self._candidates:
            self._candidates[known] = list_candidates(task, route, self._probes)
        return self._candidates[known]

    def _divide(self, task: Task, leg: Leg, stream: StreamCaches) -> Sequence[Leg]:
        """Send the rows of the main leg by caches, a few of them without, and by one that is tried at first a part."""
        rows = np.arange(task.rows) if leg.rows is None else leg.rows
        tried, used = stream.choose(), stream.choose(trying=False)
        if leg.classes is not None:
            return [replace(leg, route=tried)]
        few = len(rows) < FEWEST_WITHOUT
        without = _draw(task, len(rows), 0 if few else self._count_without(stream.origin, len(rows)))
        share = TRIAL_PART if stream.is_sampling and len(rows) * TRIAL_PART >= FEWEST_WITHOUT else 1.0
        trying = ~without & _draw(task, len(rows), int(len(rows) * share))
        # Where nothing else is in use, the rows that do not try go the same way as those without.
        parts = {route: np.zeros(len(rows), np.bool_) for route in (leg.route, used, tried)}
        for route, mask in ((leg.route, without), (used, ~(without | trying)), (tried, trying)):
            parts[route] |= mask
        return [replace(leg, route=route, rows=rows[mask]) for route, mask in parts.items() if mask.any()]

    def _count_without(self, origin: str, rows: int) -> int:
        """Count the rows that go without caches now: once enough of them are due."""
        due = self._due[origin] = self._due.get(origin, 0.0) + self._without * rows
        if due < FEWEST_WITHOUT or self._rest.is_on:
            return 0
        self._due[origin] = 0.0
        return min(int(due), rows // 2)

    @property
    def is_listening(self) -> bool:
        """Whether the order is, or something may come of caches."""
        return not self._rest.is_on or self._order.is_listening

    def observe(self, observation: Observation) -> None:
        """Count what caches take, and tell the order about everything else."""
        if self._rest.is_on:
            self._order.observe(observation)
            return
        if observation.is_profile or observation.hops[0].operator not in self._caches:
            if observation.keys is not None and observation.origin in self._shared.streams:
                self._shared.find(observation.origin).note_keys(observation.hops[0], observation.keys)
            if self._order.is_listening:
                self._order.observe(observation)
            return
        (hop,), (statistic,) = observation.hops, observation.statistics
        if observation.origin in self._shared.streams and statistic.rows_in:
            self._shared.observe(observation.origin, hop, statistic, observation.upkeep)

    def learn(self) -> None:
        """Let the order learn, and judge the caches of each stream."""
        self._order.learn()
        statistics = self._statistics or Statistics()
        if self._rest.is_on:
            self._shared.let_pass(self._rows)
            if self._rest.end_round(self._rows, statistics):
                self._shared.forget_keys()
        elif self._rows:
            self._shared.learn(self._rows, Known(self._prices, statistics))
            self._told = None
            if longest := self._shared.count_rest():
                self._rest.begin(self._rows, self._shared.list_hops(), statistics, longest)
            else:
                self._rest.forget()
        self._rows.clear()

    @property
    def is_calm(self) -> bool:
        """Whether the order is: caches are judged by rounds as large as they come."""
        return self._order.is_calm

    @property
    def is_new(self) -> bool:
        """Whether the order knows nothing of the rows yet."""
        return self._order.is_new

    @property
    def is_trying(self) -> bool | None:
        """Whether a cache is tried, or keys are counted to say whether it is worth that."""
        return self._shared.is_trying if self._caches else None

    @property
    def is_urgent(self) -> bool:
        """Whether rounds should be small."""
        return self._order.is_urgent

    @property
    def insight(self) -> Insight:
        """What the order tells, and for each stream with caches its route and what is known of them."""
        told = self._order.insight
        if self._told is None:
            streams = sorted(self._shared.streams.items())
            self._told = [self._tell(o, stream) for o, stream in streams if stream.candidates], self._list_notes()
        own, notes = self._told
        others = [one for one in told.decisions if one.stream not in {decision.stream for decision in own}]
        return Insight(uses=told.uses, decisions=[*others, *own], regrets=told.regrets, caches=notes)

    def _list_notes(self) -> Sequence[CacheNote]:
        """Tell what is thought of caches; after a restart what was, until rows come and with them statistics."""
        if self._statistics is None:
            return self._notes
        return self._shared.list_notes(Known(self._prices, self._statistics))

    def _tell(self, origin: str, stream: StreamCaches) -> Decision:
        known = ((one.hop.operator, stream.stand(one)) for one in stream.candidates)
        reason = "; ".join(f"{name} {standing.state}: {standing.why}" for name, standing in known)
        if beyond := self._beyond.get(origin):
            reason += f"; {beyond} larger parts of the join are not looked at: m is {self._most}"
        route = tuple(hop.operator for hop in stream.choose())
        ways = (RouteCost(route=route, share=1.0, predicted=np.nan, observed=np.nan),)
        tree = (Branch(level=0, way=0),)
        return Decision(stream=origin, number=stream.decided, reason=reason, seconds=0.0, ways=ways, tree=tree)

    def snapshot(self) -> State:
        """What the order has to say, and what is known of caches; combinations are found anew."""
        order = {f"{ORDER}{name}": value for name, value in self._order.snapshot().items()}
        return {
            **order,
            "notes": write_notes(self._list_notes()),
            "caches": {
                "due": dict(self._due),
                "beyond": dict(self._beyond),
                "rows": dict(self._rows),
                "rest": self._rest.snapshot(),
                **self._shared.snapshot(),
            },
        }

    def restore(self, state: State) -> None:
        """Go on from a snapshot."""
        own = {name.removeprefix(ORDER): value for name, value in state.items() if name.startswith(ORDER)}
        if own:
            self._order.restore(own)
        self._notes = read_notes(state["notes"])
        self._due, self._rows = dict(state["caches"]["due"]), dict(state["caches"]["rows"])
        self._beyond = dict(state["caches"]["beyond"])
        self._shared.restore(state["caches"])
        # An older version did not rest.
        if "rest" in state["caches"]:
            self._rest.restore(state["caches"]["rest"])
        self._told = None


def _draw(task: Task, rows: int, count: int) -> Mask:
    """Draw some of a task's rows, spread over all of them."""
    chosen = np.zeros(rows, np.bool_)
    if count >= rows:
        return ~chosen
    places = (np.arange(count) + task.chance().random(count)) * (rows / max(count, 1))
    chosen[places.astype(np.int64)] = True
    return chosen


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
