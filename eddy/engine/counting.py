"""What a micro-batch has done, as people are told of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from eddy.classes.divider import NameClasses
from eddy.contracts import Policy
from eddy.engine.machinery import Machinery
from eddy.errors import EngineError, quote_choice
from eddy.observe.caching import CacheCount
from eddy.observe.counters import Counters, StreamCount
from eddy.observe.indexing import Indexed, check_latest, latest_indexing
from eddy.observe.insight import Insight, Regret, Trees
from eddy.observe.regret import count_since
from eddy.observe.tariff import NO_TARIFF
from eddy.observe.wire import count_arrived, latest_routes
from eddy.routing.tally import RouteTally, TalliedRoutes


class Came(NamedTuple):
    """The rows that came, the watermark that they were held against, and what clock it is of."""

    streams: Mapping[str, StreamCount]
    watermark: float | None
    clock: str | None


class Taken(NamedTuple):
    """The seconds of a query's own work in a micro-batch, and those of work that was done for several."""

    own: float
    shared: float = 0.0
    sharers: int = 1


class Settled(NamedTuple):
    """The end of a micro-batch: what its indexes have done, and the seconds of the rows and of choosing indexes.

    `results` are those that it told, `held` those that wait.
    """

    indexed: Indexed = Indexed()
    seconds: float = 0.0
    tuning: float = 0.0
    caches: Sequence[CacheCount] = ()
    results: int = 0
    held: int = 0


class Counting:
    """The counters of the last micro-batch, and what is kept of those before it.

    A checkpoint has the routes that each stream took last, the trees by which they were told apart, the rows that have
    come, and the latest about indexes. `last` is None while a micro-batch is under way.
    """

    def __init__(
        self, policy: Policy, policy_name: str, names: NameClasses, made: Machinery, *, by_clock: bool
    ) -> None:
        self.last: Counters | None = None
        self._policy, self._policy_name = policy, policy_name
        self._names = names
        self._faults, self._tariff = made.faults, made.tariff
        # A policy that does not go by seconds tells of calls, which are in no unit.
        self._unit = made.tariff if by_clock else NO_TARIFF
        self._trees = Trees(names)
        self._accounts: dict[str, Regret] = {}
        self._taken: dict[str, Any] = {}
        # The last counters with routes of each stream: these are written down when somebody wants to have them.
        self._routed: dict[str, Counters] = {}
        self._indexed: dict[str, Any] = {}
        self._came: dict[str, Any] = {}

    def count(
        self,
        batch: int,
        came: Came,
        routing: RouteTally,
        settled: Settled,
        stop_clock: Callable[[], Taken],
    ) -> None:
        """Count a micro-batch that is over; `stop_clock` says what it took, the naming of its classes included."""
        routes = self._name_routes(routing)
        taken, insight = stop_clock(), self._read_insight()
        self.last = Counters(
            batch=batch,
            streams=came.streams,
            results=settled.results,
            decisions=routing.decisions,
            seconds=taken.own + taken.shared / taken.sharers,
            planning=routing.planning,
            learning=routing.learning,
            operators=routing.operators,
            routes=routes.counted,
            classes=routes.names,
            insight=insight,
            trees=self._trees.lines(insight.decisions),
            faults=self._faults.list_counts(),
            indexes=settled.indexed.counts,
            tunings=settled.indexed.tunings,
            indexing=settled.seconds + sum(s.seconds for hop, s in routing.operators.items() if hop.pattern),
            tuning=settled.tuning,
            caches=settled.caches,
            costs=self._tariff.costs,
            in_seconds=self._tariff.unit is None,
            watermark=came.watermark,
            clock=came.clock,
            held=settled.held,
            shared=taken.shared if taken.sharers > 1 else 0.0,
            sharers=taken.sharers,
        )
        self._keep_latest(self.last)

    def _keep_latest(self, last: Counters) -> None:
        """Keep what a checkpoint has of micro-batches before the last one."""
        self._routed |= {stream: last for stream, _, _ in last.routes}
        self._came = count_arrived(self._came, last)
        if last.tunings:
            self._indexed = latest_indexing(self._indexed, (), last.tunings, last.batch)

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        told = {
            "taken": latest_routes(self._taken, self._routed),
            "trees": self._trees.snapshot(),
            "came": self._came,
        }
        indexed, last = self._indexed, self.last
        if last is not None:
            indexed = latest_indexing(indexed, last.indexes, (), last.batch)
        return {**told, "indexed": indexed} if indexed else told

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot with what any policy keeps."""
        self._came = state.get("came", {})
        self._indexed = check_latest(state.get("indexed", {}))

    def restore_learned(self, state: Mapping[str, Any]) -> None:
        """Go on with what the same policy has done; it must have been restored."""
        self._accounts = {account.stream: account for account in self._policy.insight.regrets}
        self._taken, self._routed = state.get("taken", {}), {}
        self._trees.restore(state.get("trees", []))

    def _name_routes(self, routing: RouteTally) -> TalliedRoutes:
        """Count the rows of each class on each route, by name."""
        try:
            return routing.routes(self._names)
        except EngineError as error:
            raise EngineError(f"policy {quote_choice(self._policy_name)}: {error}") from None

    def _read_insight(self) -> Insight:
        """Ask the policy what it has done; of its accounts only what is new."""
        insight = self._policy.insight
        if not insight.regrets:
            return self._unit.tell(insight)
        new = count_since(insight.regrets, self._accounts)
        self._accounts = {account.stream: account for account in insight.regrets}
        return self._unit.tell(replace(insight, regrets=new))
