"""The policy `query_mesh`: a tree gives rows whole routes.

It follows the Query Mesh paper. `stream_mesh` decides; here a round is classified by the tree, rows of one route
travel together (a ruster of section 5.2), and the outcomes of their steps are counted. Nobody is asked again on the
way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eddy.classes.classifier import choose
from eddy.contracts import Classes, Leg, Observation, Policy, Setting, State, Task
from eddy.errors import QueryError, check_whole
from eddy.observe.insight import Insight
from eddy.policies.query_mesh.decision import MeshSettings
from eddy.policies.query_mesh.join_routes import JoinRoutes
from eddy.policies.query_mesh.learn.cut import BUCKETS
from eddy.policies.query_mesh.mesh import Generation, Mesh
from eddy.policies.query_mesh.round_steps import RoundSteps
from eddy.policies.query_mesh.rusters import Handed, Ruster, Sampled
from eddy.policies.query_mesh.stream_mesh import StreamMesh
from eddy.policies.shared.call_counts import SAMPLE, Uses
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.legality import HopNumbers, Legality
from eddy.policies.shared.merit import Costs, find_reachable, greedy_route
from eddy.policies.shared.orders import number_classes, split_lots, split_ways
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers

UNCLASSIFIED: tuple[int, ...] = ()

NO_STREAM = (None, None)

MOST_HANDED = 4
"""Samples of others that are kept of a stream until its first rows come here: later ones tell more than older ones."""

FOREIGN = "first rows; what was restored is for other operators, attributes, d or S"


class QueryMesh(Policy):
    """Decides a full route for each class of rows at once.

    It searches over sets of routes. `attributes` are those that may classify; all that can, when none are named. `d` is
    the number of buckets of each, as many as are of use where none is given; `S` is the rows of a sample, `T` the
    training tuples that it is condensed to, `budget_ms` how long a decision may take. Operators whose exchange costs
    less than `tolerance`, a share of the route's cost, are taken in an order that a lottery draws. `window` is the
    number of rows after which what a row costs counts half.

    >>> QueryMesh(Setting(operators=("cheap", "dear")), d=8).features.buckets
    8
    """

    def __init__(  # noqa: PLR0913  what a config file may say, all by keyword
        self,
        setting: Setting,
        *,
        attributes: Sequence[str] | None = None,
        d: int | None = None,
        S: int = 1_000,  # noqa: N803  the paper's name
        T: int = 100,  # noqa: N803  the paper's name
        budget_ms: float = 200,
        tolerance: float = 0.01,
        window: int = 1_000,
        costs: Costs = "time",
    ) -> None:
        where = 'policy "query_mesh"'
        check_costs(costs, where=where)
        for name, count in (("S", S), ("T", T), ("window", window)):
            check_whole(count, name, where=where)
        if not isinstance(budget_ms, int | float) or isinstance(budget_ms, bool) or budget_ms <= 0:
            raise QueryError(f"{where}: budget_ms: expected a number of milliseconds above 0, got {budget_ms!r}")
        check_share(tolerance, "tolerance", where=where)
        self.features = choose(attributes, setting.columns, d, where=where)
        self._plan = MeshSettings(
            costs=costs, sample=S, training=T, seconds=budget_ms / 1_000, window=window, tolerance=tolerance
        )
        self._operators, self._prices, self._clock = setting.operators, setting.prices, setting.clock
        # Where only calls count, the time that is taken to think of them does not: no clock is asked.
        self._watch = setting.clock if costs == "time" else float
        self._streams: dict[str, tuple[StreamMesh, Legality]] = {}
        self._joins: dict[str, JoinRoutes] = {}
        self._restored_joins: dict[str, Mapping[str, Any]] = {}
        self._restored: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        self._handed: dict[str, list[Handed]] = {}
        self._round = RoundSteps(self.features, self._watch)
        self._seeds: dict[str, int] = {}
        self._uses = Uses(self.features)

    @property
    def insight(self) -> Insight:
        """Calls of the operators, and the mesh of each stream."""
        told = {origin: stream.decision for origin, (stream, _) in self._streams.items()}
        for origin, (plain, _) in self._restored.items():
            made_for = plain["made for"]
            if plain["told"] and self._setting(origin, made_for[0]) == made_for:
                told[origin] = Generation.restore(plain["current"]).decision(origin, made_for[0])
        decisions = [decision for _, decision in sorted(told.items())]
        joins = {**self._restored_joins, **{origin: routes.snapshot() for origin, routes in self._joins.items()}}
        decisions += [JoinRoutes.tell(origin, state) for origin, state in sorted(joins.items())]
        return Insight(uses=self._uses.list_uses({}), decisions=[decision for decision in decisions if decision])

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Send a few rows to learn from, and route the others.

        The others take the routes of the mesh.
        """
        origin = task.lineage.origin
        if origin in self._joins or (origin not in self._streams and not task.independent):
            return self._find_join_routes(task).legs(task, ready)
        stream, legality = self._find_stream(task, ready)
        guard = stream.guard
        if len(stream.operators) == 1:
            return [Leg(route=ready)]
        if not task.lineage.done and guard.arrive(task.rows):
            stream.begin_anew()
        if guard.is_closed:
            return guard.common.legs(task, ready)
        started = self._watch()
        legs = self._plan_ways(task, ready, stream, legality)
        guard.split(legs)
        guard.spend(self._watch() - started)
        return legs

    def _plan_ways(self, task: Task, ready: tuple[Hop, ...], stream: StreamMesh, legality: Legality) -> Sequence[Leg]:
        """A sample, and a leg for each way."""
        if task.lineage.done:
            return [Leg(route=_rest(task, ready, stream))]
        # Attributes are asked about only where rows are told apart by them, or sampled.
        used = () if stream.current is None else stream.current.mesh.tree.used
        stream.follow(task.buckets.editions(used), used)
        stream.refine(task.buckets)
        count = stream.count_samples(task.rows)
        stream.begin_round(count)
        if not count:
            return self._route_classes(task, ready, None, stream, legality)
        stream.follow(task.buckets.editions())
        chosen = np.zeros(task.rows, np.bool_)
        chosen[task.chance().choice(task.rows, count, replace=False)] = True
        drawn = np.flatnonzero(chosen)
        stream.pay_sample(count)
        buckets = task.buckets(None, drawn)
        sampled = Sampled(buckets, stream.number(task.buckets, drawn, buckets))
        samples = [
            Leg(route=ready, rows=drawn[part], exhaustive=True, label=SAMPLE, tag=sampled.take(part))
            for part in np.array_split(np.arange(count), stream.evidence.count_legs(count))
        ]
        self._seeds[task.lineage.origin] = int(task.chance().integers(1 << 62))
        return [*samples, *self._route_classes(task, ready, np.flatnonzero(~chosen), stream, legality)]

    def _find_stream(self, task: Task, ready: tuple[Hop, ...]) -> tuple[StreamMesh, Legality]:
        """The mesh of a stream's rows.

        It is made when the first of them come: only then their hops are known.
        """
        origin = task.lineage.origin
        found = self._streams.get(origin)
        if found is None:
            operators = find_reachable(task, self._operators)
            plain, arrays = self._restored.pop(origin, (None, {}))
            made_for = self._setting(origin, operators)
            is_ours = plain is not None and plain["made for"] == made_for
            reason = "first rows" if plain is None or is_ours else FOREIGN
            shape = (len(self.features.of(origin)), self.features.buckets + 1)
            stream = StreamMesh(origin, shape, operators, self._plan, self._prices, reason)
            if plain is not None and is_ours:
                stream.restore(plain, arrays)
            for handed in self._handed.pop(origin, ()):
                stream.take_over(handed)
            legality = Legality(operators, task.after, free=ready if task.independent else ())
            found = self._streams[origin] = (stream, legality)
        return found

    def _find_join_routes(self, task: Task) -> JoinRoutes:
        """The routes of a stream whose operators wait for each other."""
        origin = task.lineage.origin
        found = self._joins.get(origin)
        if found is None:
            legality = Legality(find_reachable(task, self._operators), task.after)
            found = self._joins[origin] = JoinRoutes(origin, legality, self._plan.costs, self._prices)
            if origin in self._restored_joins:
                found.restore(self._restored_joins.pop(origin))
            # A sample of somebody else went through all operators: no route would.
            self._handed.pop(origin, None)
        return found

    def _setting(self, origin: str, operators: Sequence[str]) -> list[Any]:
        """The setting that a mesh and a sample are valid for."""
        attributes = [str(attribute.column) for attribute in self.features.of(origin)]
        return [list(operators), attributes, self.features.buckets, self._plan.sample]

    def _route_classes(
        self, task: Task, ready: tuple[Hop, ...], some: Integers | None, stream: StreamMesh, legality: Legality
    ) -> list[Leg]:
        """A leg for each way that some row takes, of all rows or some."""
        generation, count = stream.current, task.rows if some is None else len(some)
        if not count:
            return []
        stream.set_out(count)
        if generation is None:
            return [Leg(route=_rest(task, ready, stream), rows=some)]
        used = generation.mesh.tree.used
        looks = stream.count_looks(count)
        if not used:
            ruster = Ruster(count, generation, 0, looks)
            tag = self._start(ruster, stream)
            return [Leg(route=legality.hops(_draw(task, ruster, is_noted=stream.is_noted)), rows=some, tag=tag)]
        rows = np.arange(count) if some is None else some
        legs = []
        for way, part, told in _split(generation.mesh, task, some, rows, stream):
            ruster = Ruster(len(part), generation, way, -(-looks * len(part) // count))
            tag = self._start(ruster, stream)
            route = legality.hops(_draw(task, ruster, is_noted=stream.is_noted))
            legs.append(Leg(route=route, rows=part, classes=told, tag=tag))
        return legs

    def _start(self, ruster: Ruster, stream: StreamMesh) -> Ruster | None:
        """Take note of rows that set out together, if the round is noted."""
        if not stream.is_noted:
            return None
        self._round.start(ruster)
        return ruster

    def observe(self, observation: Observation) -> None:
        """Keep what a step did until the round is over."""
        origin = observation.origin
        if origin in self._joins or origin in self._restored_joins:
            self._uses.count_plain(observation)
            if origin in self._joins and not observation.legs[0].exhaustive:
                self._joins[origin].count(observation.hops, observation.statistics)
            return
        leg, (stream, _) = observation.legs[0], self._streams.get(observation.origin, NO_STREAM)
        if leg.exhaustive and leg.tag is None:
            self._take_over(observation, stream)
        elif stream is None or stream.guard.is_closed:
            self._uses.count_plain(observation)
            if stream is not None:
                stream.guard.notice(observation)
                if stream.guard.is_looking:
                    stream.guard.count_step(observation)
        else:
            started = self._watch()
            self._keep(observation, stream)
            stream.guard.count_step(observation, is_noted=stream.is_noted)
            seconds = self._watch() - started
            stream.guard.spend(seconds)
            if stream.is_noted:
                stream.notes.pay(seconds)

    def _take_over(self, sample: Observation, stream: StreamMesh | None) -> None:
        """Keep a sample that somebody else has taken; where there is no mesh yet, until there is one."""
        handed = Handed.of(sample)
        self._uses.count(sample, UNCLASSIFIED, len(handed.buckets))
        if stream is None:
            self._handed[sample.origin] = [*self._handed.get(sample.origin, ())[-MOST_HANDED + 1 :], handed]
            return
        stream.take_over(handed)

    def _keep(self, observation: Observation, stream: StreamMesh) -> None:
        """Keep a step, and the sample that it may be."""
        leg, current = observation.legs[0], stream.current
        by = UNCLASSIFIED if current is None else current.mesh.tree.used
        self._uses.count(observation, by, observation.rows[0] if leg.exhaustive else 0)
        if len(stream.operators) > 1 and stream.is_noted:
            self._round.keep(observation, stream)
        if isinstance(leg.tag, Sampled):
            told = observation.hops, observation.statistics, leg.tag.buckets, observation.outcomes
            stream.evidence.keep(*told, leg.tag.numbers)

    def learn(self) -> None:
        """Count what the steps of the round did, and decide anew where there is a reason to."""
        for routes in self._joins.values():
            routes.learn()
        streams = {origin: stream for origin, (stream, _) in self._streams.items()}
        self._round.count(streams)
        self._round.look(streams)
        for origin, (stream, legality) in self._streams.items():
            if not stream.guard.is_looking:
                self._decide(origin, stream, legality)
            elif stream.guard.look():
                stream.begin_anew()
        self._round.clear()
        self._seeds = {}

    def _decide(self, origin: str, stream: StreamMesh, legality: Legality) -> None:
        """Decide about a stream, unless it is given up."""
        guard = stream.guard
        if guard.is_waiting or guard.close(stream.rates.price_common()) or stream.pace.is_idle:
            return
        started = self._watch()
        stream.decide(legality, self._seeds.get(origin, 0), self._clock)
        guard.pay(self._watch() - started)

    @property
    def is_calm(self) -> bool:
        """Whether there is nothing to notice soon: streams were given up for now, or it hardly matters how they go."""
        calm = [stream.is_calm for stream, _ in self._streams.values()]
        calm += [routes.is_calm for routes in self._joins.values()]
        # Streams that were restored are as they were, until their first rows come.
        restored = [*(plain for plain, _ in self._restored.values()), *self._restored_joins.values()]
        calm += [plain["calm"] for plain in restored]
        return bool(calm) and all(calm)

    @property
    def is_new(self) -> bool:
        """Whether there is no mesh of some stream yet, nor any that was given up."""
        restored = any(plain["new"] for plain, _ in self._restored.values())
        is_empty = not (self._streams or self._restored or self._joins or self._restored_joins)
        return is_empty or restored or any(stream.is_new for stream, _ in self._streams.values())

    @property
    def is_urgent(self) -> bool:
        """Whether some stream has changed, and waits for a sample; or calls alone count."""
        restored = [plain["urgent"] for plain, _ in self._restored.values()]
        waiting = any(restored) or any(stream.is_urgent for stream, _ in self._streams.values())
        return waiting or self._plan.costs == "unit"

    def snapshot(self) -> State:
        """The meshes of all streams, and the counts."""
        state: dict[str, Any] = {"streams": {}, "uses": self._uses.snapshot(), "handed": {}}
        for number, (origin, samples) in enumerate(self._handed.items()):
            state["handed"][origin] = [handed.plain() for handed in samples]
            for place, handed in enumerate(samples):
                state |= {f"handed {number} {place} {name}": array for name, array in handed.arrays().items()}
        joins = {origin: routes.snapshot() for origin, routes in self._joins.items()}
        state["joins"] = {**self._restored_joins, **joins}
        parts = {}
        for origin, (stream, _) in self._streams.items():
            known, own = stream.snapshot()
            made_for = self._setting(origin, stream.operators)
            parts[origin] = (
                known
                | {"made for": made_for, "calm": stream.is_calm, "urgent": stream.is_urgent, "new": stream.is_new},
                own,
            )
        for number, (origin, (plain, arrays)) in enumerate({**self._restored, **parts}.items()):
            state["streams"][origin] = plain
            state |= {f"{number} {name}": array for name, array in arrays.items()}
        return state

    def restore(self, state: State) -> None:
        """Go on from a snapshot.

        What it has of a stream is taken up when the stream's first rows come.
        """
        self._uses.restore(state["uses"])
        self._restored_joins = dict(state["joins"])
        for number, (origin, plain) in enumerate(state["streams"].items()):
            own = f"{number} "
            arrays = {name.removeprefix(own): value for name, value in state.items() if name.startswith(own)}
            self._restored[origin] = (plain, arrays)
        for number, (origin, samples) in enumerate(state["handed"].items()):
            self._handed[origin] = [
                Handed.restore(plain, *(state[f"handed {number} {place} {name}"] for name in ("buckets", "outcomes")))
                for place, plain in enumerate(samples)
            ]


def _split(
    mesh: Mesh, task: Task, some: Integers | None, rows: Integers, stream: StreamMesh
) -> Iterator[tuple[int, Integers, Classes]]:
    """Give the rows of each way of a mesh, and the classes among them."""
    used, singly = mesh.tree.used, mesh.tree.singly
    if singly:
        numbers = task.buckets.numbers(used, singly, some)
        buckets = stream.evidence.find_buckets(used, numbers)
        return split_ways(mesh.tree.routes(buckets, numbers), rows, used[:1], buckets[:, :1], BUCKETS)
    examples, which = number_classes(task.buckets(used, some))
    return split_lots(mesh.tree.routes(examples), which, rows, used, examples)


def _draw(task: Task, ruster: Ruster, *, is_noted: bool) -> HopNumbers:
    """The route of a ruster; a lottery draws what is uncertain about it, where something is learned from it."""
    wheel = ruster.generation.wheels[ruster.way]
    if wheel.is_certain:
        return ruster.generation.mesh.routes[ruster.way]
    return wheel.draw(task.chance()) if is_noted else wheel.guess()


def _rest(task: Task, ready: tuple[Hop, ...], stream: StreamMesh) -> tuple[Hop, ...]:
    """Route rows that no mesh is for.

    At every step the route takes what looks best.
    """
    merits = dict(zip(stream.operators, ((stream.rates.shares() - 1) / stream.rates.prices()).tolist(), strict=True))
    return greedy_route(task, ready, lambda hop: merits[hop.operator])
