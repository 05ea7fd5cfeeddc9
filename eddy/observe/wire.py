"""Counters as plain values, sent from cells to their readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from eddy.classes.value_names import OTHERS
from eddy.observe import indexing
from eddy.observe.caching import read_caches, read_notes, write_caches, write_notes
from eddy.observe.counters import BAD, VARIOUS, Counters, FaultCount, StreamCount
from eddy.observe.insight import Decision, DecisionKey, Insight, Regret, RouteCost, Use
from eddy.observe.statistics import Statistic
from eddy.tuples import Hop

NESTED = frozenset(
    {"streams", "operators", "routes", "classes", "insight", "trees", "faults", "indexes", "tunings", "caches"}
    | {"costs", "in_seconds", "cells", "held", "shared", "sharers"}
)
"""The parts of counters that are no plain values themselves."""

DIGITS = 6
"""Digits of the seconds of an account: a thousandth of its standard error, and half the characters."""

MOST_LATEST_ROUTES = 32
"""Classes and their routes that are kept of each stream, the largest: a page, and few bytes beside the rows. The
others are one more."""


def to_plain(counters: Counters) -> dict[str, Any]:
    """Write counters as JSON can hold them.

    Lists stand for what would repeat its names.
    """
    return {
        **{field.name: getattr(counters, field.name) for field in fields(Counters) if field.name not in NESTED},
        "streams": {name: list(asdict(count).values()) for name, count in counters.streams.items()},
        "operators": [[*hop, *done] for hop, done in counters.operators.items()],
        "routes": [[stream, label, list(route), rows] for (stream, label, route), rows in counters.routes.items()],
        "classes": [[*key, name] for key, name in counters.classes.items()],
        "insight": [list(asdict(use).values()) for use in counters.insight.uses],
        "decided": [_write_decision(decision) for decision in counters.insight.decisions],
        "trees": [[*key, list(lines)] for key, lines in counters.trees.items()],
        "faults": [asdict(fault) for fault in counters.faults],
        **_write_regrets(counters.insight.regrets),
        "indexes": indexing.write_indexes(counters.indexes),
        "tunings": indexing.write_tunings(counters.tunings),
        "caches": write_caches(counters.caches),
        **({"cache_notes": write_notes(counters.insight.caches)} if counters.insight.caches else {}),
        **({"costs": dict(counters.costs), "in_seconds": counters.in_seconds} if counters.costs else {}),
        **({"held": counters.held} if counters.held else {}),
        **({"shared": counters.shared, "sharers": counters.sharers} if counters.sharers > 1 else {}),
    }


def from_plain(values: Mapping[str, Any]) -> Counters:
    """Read the counters that `to_plain` wrote.

    Parts that are missing, because they were too long to be sent or nobody tells them, are empty.
    """
    decisions = read_decisions(values)
    uses = [f.name for f in fields(Use)]
    return Counters(
        **{field.name: values[field.name] for field in fields(Counters) if field.name not in NESTED},
        streams=read_streams(values),
        operators={Hop(row[0], row[1]): Statistic(*row[2:]) for row in values.get("operators", ())},
        routes={(stream, label, tuple(route)): rows for stream, label, route, rows in values.get("routes", ())},
        classes={(stream, key): name for stream, key, name in values.get("classes", ())},
        insight=Insight(
            uses=[Use(**dict(zip(uses, row, strict=True))) for row in values.get("insight", ())],
            decisions=decisions,
            regrets=read_regrets(values),
            caches=read_notes(values.get("cache_notes", ())),
        ),
        trees=_read_trees(values.get("trees", ()), decisions),
        faults=[FaultCount(**row) for row in values.get("faults", ())],
        indexes=indexing.read_indexes(values.get("indexes", ())),
        tunings=indexing.read_tunings(values.get("tunings", ())),
        caches=read_caches(values.get("caches", ())),
        costs=values.get("costs", {}),
        in_seconds=values.get("in_seconds", True),
        held=values.get("held", 0),
        shared=values.get("shared", 0.0),
        sharers=values.get("sharers", 1),
    )


def read_streams(values: Mapping[str, Any]) -> dict[str, StreamCount]:
    """Read what `to_plain` wrote of the streams."""
    names = [field.name for field in fields(StreamCount)]
    return {name: StreamCount(**dict(zip(names, row, strict=True))) for name, row in values["streams"].items()}


def read_decisions(values: Mapping[str, Any]) -> list[Decision]:
    """Read what `to_plain` wrote of decisions."""
    return [_read_decision(row) for row in values.get("decided", ())]


def read_regrets(values: Mapping[str, Any]) -> list[Regret]:
    """Read what `to_plain` wrote of accounts; older versions wrote none."""
    return [Regret._make(row) for row in values.get("regrets", ())]


def latest_routes(before: Mapping[str, Any], last: Mapping[str, Counters]) -> dict[str, Any]:
    """Give each stream's routes in the last batch with its rows, whose counters are given for some.

    `routes` are rows of a class, a route and how many tuples took it; `tree` are the lines by which a policy tells the
    classes apart.
    """
    return {**before, **{stream: _tell_routes(stream, counters) for stream, counters in last.items()}}


def _tell_routes(stream: str, last: Counters) -> dict[str, Any]:
    """Tell a stream's routes in one batch."""
    rows: list[list[Any]] = []
    # The largest come first, so the one row behind `MOST_LATEST_ROUTES` gathers the smallest.
    for (other, key, route), tuples in sorted(last.routes.items(), key=lambda item: -item[1]):
        if other != stream:
            continue
        if len(rows) < MOST_LATEST_ROUTES:
            rows.append([last.classes.get((stream, key), key), list(route), tuples])
        elif len(rows) == MOST_LATEST_ROUTES:
            rows.append([OTHERS, list(VARIOUS), tuples])
        else:
            rows[MOST_LATEST_ROUTES][-1] += tuples
    return {"batch": last.batch, "routes": rows, "tree": list(_trees_in_charge(last).get(stream, ()))}


def count_arrived(before: Mapping[str, Any], last: Counters) -> dict[str, Any]:
    """Count the rows of each stream since the state began.

    Late rows, and bad ones of each kind, are counted apart.
    """
    known = dict(before)
    for stream, count in last.streams.items():
        old = known.get(stream, {})
        known[stream] = {name: old.get(name, 0) + int(getattr(count, name)) for name in ("rows", "late", *BAD)}
    return known


def _write_decision(decision: Decision) -> list[Any]:
    """Write a decision without the branches of its tree.

    The lines of the tree say the same to people.
    """
    ways = [[list(way.route), way.share, way.predicted, way.observed] for way in decision.ways]
    who = [decision.policy] if decision.policy else []
    return [decision.stream, decision.number, decision.reason, decision.seconds, ways, *who]


def _read_decision(row: Sequence[Any]) -> Decision:
    stream, number, reason, seconds, ways, *who = row
    made = tuple(RouteCost(route=tuple(r), share=s, predicted=p, observed=o) for r, s, p, o in ways)
    return Decision(
        stream=stream, number=number, reason=reason, seconds=seconds, ways=made, tree=(), policy=who[0] if who else ""
    )


def _read_trees(written: Any, decisions: Sequence[Decision]) -> dict[DecisionKey, Sequence[str]]:
    """Read the lines of trees, each of one decision.

    Versions that knew one decision of a stream wrote them by stream.
    """
    if isinstance(written, Mapping):
        return {d.key: tuple(written[d.stream]) for d in decisions if d.stream in written}
    return {(stream, policy, number): tuple(lines) for stream, policy, number, lines in written}


def _trees_in_charge(last: Counters) -> dict[str, Sequence[str]]:
    """Find the tree by which the rows of each stream are routed.

    Where a policy has others decide for it, it is that of the one in charge.
    """
    arms = {regret.stream: regret.arm for regret in last.insight.regrets}
    return {
        stream: lines for (stream, policy, _), lines in last.trees.items() if policy in ("", arms.get(stream, policy))
    }


def _write_regrets(regrets: Sequence[Regret]) -> dict[str, list[list[Any]]]:
    """Write accounts; policies that keep none add nothing."""
    rows = [[_shorten(value) for value in regret] for regret in regrets]
    return {"regrets": rows} if rows else {}


def _shorten(value: str | float) -> str | float:
    """Leave out digits that say nothing: a line is sent for each stream, by each cell, in each micro-batch."""
    return value if isinstance(value, str) else float(f"{value:.{DIGITS}g}")
