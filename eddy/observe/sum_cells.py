"""Adds up the counters of a query's cells, by micro-batch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from eddy.observe.caching import sum_caches, sum_notes
from eddy.observe.counters import CellCount, ClassRoute, Counters, FaultCount, StreamCount
from eddy.observe.indexing import Tuning, sum_indexes
from eddy.observe.insight import Decision, DecisionKey, Insight, Use
from eddy.observe.regret import sum_over_cells, sum_over_time
from eddy.observe.statistics import NOTHING, Statistic
from eddy.tuples import Hop

SUMMED = (
    *("results", "decisions", "seconds", "planning", "learning"),
    *("restoring", "packing", "saving", "indexing", "tuning"),
)
"""Counters that are added up. The seconds of several cores together are more than the time that passed."""

STANDING = frozenset({"stored", "nbytes"})
"""Counts that a cell also has in micro-batches in which it is not called, because none of its rows came."""


class CellSum:
    """Adds up the counters of cells, called in this batch or not."""

    def __init__(self) -> None:
        self._latest: dict[int, Counters] = {}

    def add(self, batch: int, parts: Mapping[int, Counters]) -> Counters:
        """Add up the counters of all cells in one micro-batch."""
        # A cell without rows in this batch is not called, and its store is still there:
        #
        #     came      cells called now        ->  rows, results, seconds, accounts
        #     known     all cells seen so far   ->  stored rows, state, uses
        self._latest |= parts
        came, known = parts.values(), self._latest.values()
        routes, decisions = _sum_routes(came), _list_decisions(self._latest)
        sums: dict[str, Any] = {name: sum(getattr(part, name) for part in came) for name in SUMMED}
        return Counters(
            batch=batch,
            **sums,
            state=sum(part.state for part in known),
            streams={name: _sum_stream(name, came, known) for part in came for name in part.streams},
            operators=_sum_operators(came),
            routes=routes,
            classes={(stream, name): name for stream, name, _ in routes},
            insight=Insight(
                uses=_sum_uses(known),
                decisions=[decision for _, decision in decisions],
                regrets=sum_over_cells(regret for part in came for regret in part.insight.regrets),
                caches=sum_notes(part.insight.caches for part in known),
            ),
            faults=_sum_faults(came),
            indexes=sum_indexes([part.indexes for part in came], [part.indexes for part in known]),
            caches=sum_caches([part.caches for part in came], [part.caches for part in known]),
            tunings=_list_tunings(parts, several=len(self._latest) > 1),
            costs={name: cost for part in came for name, cost in part.costs.items()},
            in_seconds=all(part.in_seconds for part in came),
            cells=[CellCount.of(cell, part) for cell, part in sorted(parts.items())],
            watermark=_find_newest(part.watermark for part in came),
            clock=next((part.clock for part in came), None),
            held=sum(part.held for part in known),
            shared=sum(part.shared for part in came),
            sharers=max(part.sharers for part in came),
            trees={new.key: self._latest[cell].trees.get(old, ()) for (cell, old), new in decisions},
        )


def merge_batches(before: Counters, after: Counters) -> Counters:
    """Merge the counters of two micro-batches of one engine into those of one."""
    both = (before, after)
    routes = _sum_routes(both)
    decisions = {d.key: d for part in both for d in part.insight.decisions}
    return Counters(
        batch=after.batch,
        **{name: sum(getattr(part, name) for part in both) for name in SUMMED},
        state=after.state,
        streams={name: _sum_stream(name, both, [after]) for name in after.streams},
        operators=_sum_operators(both),
        routes=routes,
        classes={(stream, name): name for stream, name, _ in routes},
        # Uses are counted since the policy began, accounts since the micro-batch before.
        insight=Insight(
            uses=after.insight.uses,
            decisions=list(decisions.values()),
            regrets=sum_over_time(regret for part in both for regret in part.insight.regrets),
            caches=after.insight.caches,
        ),
        faults=_sum_faults(both),
        indexes=sum_indexes([part.indexes for part in both], [after.indexes]),
        tunings=[*before.tunings, *after.tunings],
        costs=after.costs,
        in_seconds=after.in_seconds,
        watermark=after.watermark,
        clock=after.clock,
        held=after.held,
        shared=before.shared + after.shared,
        sharers=after.sharers,
        trees={**before.trees, **after.trees},
    )


def _sum_stream(name: str, came: Iterable[Counters], known: Iterable[Counters]) -> StreamCount:
    now = [asdict(part.streams[name]) for part in came]
    ever = [asdict(part.streams[name]) for part in known]
    counts = [count for count in now[0] if count != "newest"]
    sums = {count: sum(row[count] for row in (ever if count in STANDING else now)) for count in counts}
    return StreamCount(**sums, newest=_find_newest(row["newest"] for row in ever))


def _find_newest(ticks: Iterable[float | None]) -> float | None:
    return max((tick for tick in ticks if tick is not None), default=None)


def _sum_operators(came: Collection[Counters]) -> dict[Hop, Statistic]:
    hops = dict.fromkeys(hop for part in came for hop in part.operators)
    return {hop: sum((part.operators.get(hop, NOTHING) for part in came), NOTHING) for hop in hops}


def _sum_faults(came: Collection[Counters]) -> list[FaultCount]:
    """Add up faults of one kind; the sample is the first cell's."""
    faults: dict[tuple[str, str, str], FaultCount] = {}
    for fault in (fault for part in came for fault in part.faults):
        key = (fault.predicate, fault.kind, fault.on_error)
        faults[key] = replace(fault, rows=fault.rows + faults[key].rows) if key in faults else fault
    return list(faults.values())


def _sum_routes(came: Collection[Counters]) -> dict[ClassRoute, int]:
    """Add up routes by the names of classes.

    The number of a value's bucket differs from cell to cell.
    """
    routes: dict[ClassRoute, int] = {}
    for part in came:
        for (stream, key, route), rows in part.routes.items():
            named = (stream, part.classes.get((stream, key), key), route)
            routes[named] = routes.get(named, 0) + rows
    return routes


def _list_decisions(cells: Mapping[int, Counters]) -> list[tuple[tuple[int, DecisionKey], Decision]]:
    """List each cell's last decisions: each learns by itself."""
    return [
        ((cell, d.key), replace(d, stream=f"{d.stream}, cell {cell}") if len(cells) > 1 else d)
        for cell, part in sorted(cells.items())
        for d in part.insight.decisions
    ]


def _list_tunings(parts: Mapping[int, Counters], *, several: bool) -> list[Tuning]:
    """List the decisions about indexes: each cell has its own."""
    return [
        replace(tuning, input=f"{tuning.input}, cell {cell}") if several else tuning
        for cell, part in sorted(parts.items())
        for tuning in part.tunings
    ]


def _sum_uses(known: Iterable[Counters]) -> list[Use]:
    """Add up the uses of each operator by all policies.

    The gain ratio is the mean of theirs, weighed by calls.
    """
    uses: dict[tuple[str, str, str], list[Use]] = {}
    for part in known:
        for use in part.insight.uses:
            uses.setdefault((use.operator, use.kind, use.attribute), []).append(use)
    return [_sum_use(*key, same) for key, same in uses.items()]


def _sum_use(operator: str, kind: str, attribute: str, same: Collection[Use]) -> Use:
    calls = sum(use.calls for use in same)
    gain = sum(use.gain_ratio * (use.calls or 1) for use in same) / sum(use.calls or 1 for use in same)
    return Use(operator=operator, kind=kind, attribute=attribute, gain_ratio=gain, calls=calls)
