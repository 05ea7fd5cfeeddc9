"""Counters as plain values, to be sent from where a cell runs to where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from eddy.lineage import Hop
from eddy.observe import Counters, Decision, FaultCount, Insight, Statistic, StreamCount, Use, Way

NESTED = frozenset({"streams", "operators", "routes", "classes", "insight", "trees", "faults"})
"""The parts of counters that are no plain values themselves."""


def plain(counters: Counters) -> dict[str, Any]:
    """Counters as JSON can hold them; lists stand for what would repeat its names."""
    return {
        **{field.name: getattr(counters, field.name) for field in fields(Counters) if field.name not in NESTED},
        "streams": {name: list(asdict(count).values()) for name, count in counters.streams.items()},
        "operators": [[*hop, *asdict(done).values()] for hop, done in counters.operators.items()],
        "routes": [[stream, label, list(route), rows] for (stream, label, route), rows in counters.routes.items()],
        "classes": [[*key, name] for key, name in counters.classes.items()],
        "insight": [list(asdict(use).values()) for use in counters.insight.uses],
        "decided": [_decision(decision) for decision in counters.insight.decisions],
        "trees": {stream: list(lines) for stream, lines in counters.trees.items()},
        "faults": [asdict(fault) for fault in counters.faults],
    }


def restored(values: Mapping[str, Any]) -> Counters:
    """The counters that `plain` wrote; parts that are not there, because they were too long to be sent, are empty."""
    uses = [f.name for f in fields(Use)]
    return Counters(
        **{field.name: values[field.name] for field in fields(Counters) if field.name not in NESTED},
        streams=streams(values),
        operators={Hop(row[0], row[1]): Statistic(*row[2:]) for row in values.get("operators", ())},
        routes={(stream, label, tuple(route)): rows for stream, label, route, rows in values.get("routes", ())},
        classes={(stream, key): name for stream, key, name in values.get("classes", ())},
        insight=Insight(
            uses=[Use(**dict(zip(uses, row, strict=True))) for row in values.get("insight", ())],
            decisions=[_decided(row) for row in values.get("decided", ())],
        ),
        trees={stream: tuple(lines) for stream, lines in values.get("trees", {}).items()},
        faults=[FaultCount(**row) for row in values.get("faults", ())],
    )


def streams(values: Mapping[str, Any]) -> dict[str, StreamCount]:
    """What `plain` wrote of the streams."""
    names = [field.name for field in fields(StreamCount)]
    return {name: StreamCount(**dict(zip(names, row, strict=True))) for name, row in values["streams"].items()}


def _decision(decision: Decision) -> list[Any]:
    """Without the branches: the lines of the tree say the same to people."""
    ways = [[list(way.route), way.share, way.predicted, way.observed] for way in decision.ways]
    return [decision.stream, decision.number, decision.reason, decision.seconds, ways]


def _decided(row: Sequence[Any]) -> Decision:
    stream, number, reason, seconds, ways = row
    made = tuple(Way(route=tuple(r), share=s, predicted=p, observed=o) for r, s, p, o in ways)
    return Decision(stream=stream, number=number, reason=reason, seconds=seconds, ways=made, tree=())
