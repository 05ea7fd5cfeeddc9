"""What A-Greedy and its variants have in common: an order for each stream, kept by an invariant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import (
    NO_FEATURES,
    Branch,
    Decision,
    Hop,
    Insight,
    Leg,
    Observation,
    Policy,
    RouteCost,
    Setting,
    State,
    Task,
)
from eddy.errors import check_choice, check_whole
from eddy.policies.matrix.asking import Asking, ask_first
from eddy.policies.matrix.invariants import Conduct
from eddy.policies.matrix.order import SEARCHES
from eddy.policies.matrix.path_order import make_order
from eddy.policies.matrix.profiler import check_p, check_price
from eddy.policies.matrix.stream_order import FOREIGN, WRITTEN, StreamOrder
from eddy.policies.shared.call_counts import Uses
from eddy.policies.shared.checks import check_costs, check_share
from eddy.policies.shared.merit import find_reachable
from eddy.tuples.arrays import Integers

LARGEST_WINDOW = 100_000
"""Profile rows at most: each is looked at for every decision."""


class MatrixPolicy(Policy):
    """One order for all rows of a stream, from profiles of rows that several operators have seen."""

    @abstractmethod
    def __init__(self, setting: Setting, conduct: Conduct) -> None:
        # Each variant has parameters of its own, and says by them how it is conducted.
        where = f'policy "{conduct.variant}"'
        check_p(conduct.p, where=where)
        check_whole(conduct.window, "window", where=where, most=LARGEST_WINDOW)
        check_share(conduct.alpha, "alpha", where=where)
        check_choice(conduct.search, SEARCHES, "search", where=where)
        check_costs(conduct.costs, where=where)
        check_price(conduct.price, where=where)
        self._conduct = conduct
        self._operators, self._prices = setting.operators, setting.prices
        self._streams: dict[str, StreamOrder] = {}
        self._restored: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        # Samples that somebody else drew before a stream's order was made: their hops, and what those made of each row.
        self._samples: dict[str, tuple[list[Hop], Integers]] = {}
        self._uses = Uses(NO_FEATURES)
        # The variants stay as the thesis has them, for comparisons.
        is_asking = conduct.variant == "a_greedy" and len(setting.prices.probes) > 1
        self._asking = Asking(setting, conduct.costs) if is_asking else None

    @property
    def insight(self) -> Insight:
        """Calls of the operators, and the order of each stream."""
        told = {origin: plain for origin, (plain, _) in self._restored.items()}
        told |= {origin: stream.tell() for origin, stream in self._streams.items()}
        found = [_tell_decision(origin, plain) for origin, plain in sorted(told.items())]
        decisions = [one for one in found if one is not None]
        if self._asking is not None:
            decisions = [self._asking.tell(one) for one in decisions]
        return Insight(uses=self._uses.list_uses({}), decisions=decisions)

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Send all rows the same way, and a few of them with asides."""
        stream = self._find_stream(task, ready)
        legs = stream.legs(task, ready)
        if self._asking is None or task.lineage.done:
            return legs
        if stream.is_trying:
            stream.asked = frozenset()
            return legs
        taken = self._asking.find_route(task, legs[0].route)
        stream.asked = taken.asked
        return [ask_first(leg, taken.route) for leg in legs] if taken.asked else legs

    def _find_stream(self, task: Task, ready: tuple[Hop, ...]) -> StreamOrder:
        """Find the order of a stream; it is made when the first rows come, since only then its hops are known."""
        origin = task.lineage.origin
        found = self._streams.get(origin)
        if found is None:
            operators = find_reachable(task, self._operators)
            plain, arrays = self._restored.pop(origin, (None, {}))
            is_ours = plain is not None and plain["operators"] == list(operators)
            reason = WRITTEN if plain is None or is_ours else FOREIGN
            found = self._streams[origin] = make_order(task, ready, operators, self._conduct, self._prices, reason)
            if plain is not None and is_ours:
                found.restore(plain, arrays)
            else:
                found.begin()
            if (sample := self._samples.pop(origin, None)) is not None:
                found.begin_with(*sample)
        return found

    def observe(self, observation: Observation) -> None:
        """Count a step, or keep a profile."""
        if observation.is_profile:
            self._uses.count_aside(observation)
        else:
            self._uses.count_plain(observation)
        stream = self._streams.get(observation.origin)
        # Along a path a probe is counted for the row that arrived, and not for those that it was called with.
        if self._asking is not None and not (observation.is_profile and stream is not None and stream.along):
            self._asking.observe(observation)
        if stream is not None:
            stream.observe(observation)
        elif observation.is_profile:
            self._samples[observation.origin] = list(observation.hops), np.column_stack(observation.outcomes)

    def learn(self) -> None:
        """Let each stream look at the round that is over."""
        for stream in self._streams.values():
            stream.learn()

    @property
    def is_calm(self) -> bool:
        """Whether all orders have stood for long."""
        calm = [stream.is_calm for stream in self._streams.values()]
        calm += [plain["calm"] for plain, _ in self._restored.values()]
        return bool(calm) and all(calm)

    @property
    def is_urgent(self) -> bool:
        """Whether calls alone count."""
        return self._conduct.costs == "unit"

    def snapshot(self) -> State:
        """The order and the window of each stream, and the counts."""
        # In one order, whichever stream's rows came first after a restart.
        found = {**self._restored, **{origin: stream.snapshot() for origin, stream in self._streams.items()}}
        parts = dict(sorted(found.items()))
        state: dict[str, Any] = {"streams": {}, "uses": self._uses.snapshot()}
        for number, (origin, (plain, arrays)) in enumerate(parts.items()):
            state["streams"][origin] = plain
            state |= {f"{number} {name}": array for name, array in arrays.items()}
        for origin, (hops, outcomes) in self._samples.items():
            state["samples"] = {**state.get("samples", {}), origin: [list(hop) for hop in hops]}
            state[f"sample {origin}"] = outcomes
        return state if self._asking is None else {**state, "asking": self._asking.snapshot()}

    def restore(self, state: State) -> None:
        """Go on from a snapshot.

        What it has of a stream is taken up when the stream's first rows come.
        """
        self._uses.restore(state["uses"])
        if self._asking is not None and "asking" in state:
            self._asking.restore(state["asking"])
        for origin, hops in state.get("samples", {}).items():
            self._samples[origin] = [Hop(*hop) for hop in hops], state[f"sample {origin}"]
        for number, (origin, plain) in enumerate(state["streams"].items()):
            first = f"{number} "
            arrays = {name.removeprefix(first): array for name, array in state.items() if name.startswith(first)}
            self._restored[origin] = plain, arrays


def _tell_decision(stream: str, plain: Mapping[str, Any]) -> Decision | None:
    """Tell of an order, also from a snapshot: after a restart no rows may have come yet."""
    told = plain["priced"]
    if all(cost is None for cost in told):
        return None
    predicted, observed = (np.nan if cost is None else cost for cost in told)
    route = tuple(plain["operators"][number] for number in plain["order"])
    ways = (RouteCost(route=route, share=1.0, predicted=predicted, observed=observed),)
    number, (reason, _), tree = plain["numbers"][2], plain["told"], (Branch(level=0, way=0),)
    return Decision(stream=stream, number=number, reason=reason, seconds=0.0, ways=ways, tree=tree)
