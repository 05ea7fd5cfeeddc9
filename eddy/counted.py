"""Counters as plain values, to be sent from where a cell runs to where they are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from eddy.lineage import Hop
from eddy.observe import Counters, Insight, Statistic, StreamCount

NESTED = frozenset({"streams", "operators", "routes", "insight"})
"""The parts of counters that are no plain values themselves."""


def plain(counters: Counters) -> dict[str, Any]:
    """Counters as JSON can hold them; lists stand for what would repeat its names."""
    return {
        **{field.name: getattr(counters, field.name) for field in fields(Counters) if field.name not in NESTED},
        "streams": {name: list(asdict(count).values()) for name, count in counters.streams.items()},
        "operators": [[*hop, *asdict(done).values()] for hop, done in counters.operators.items()],
        "routes": [[stream, label, list(route), rows] for (stream, label, route), rows in counters.routes.items()],
        "insight": [list(asdict(insight).values()) for insight in counters.insight],
    }


def restored(values: Mapping[str, Any]) -> Counters:
    """The counters that `plain` wrote; parts that are not there, because they were too long to be sent, are empty."""
    counts, insights = [f.name for f in fields(StreamCount)], [f.name for f in fields(Insight)]
    return Counters(
        **{field.name: values[field.name] for field in fields(Counters) if field.name not in NESTED},
        streams={name: StreamCount(**dict(zip(counts, row, strict=True))) for name, row in values["streams"].items()},
        operators={Hop(row[0], row[1]): Statistic(*row[2:]) for row in values.get("operators", ())},
        routes={(stream, label, tuple(route)): rows for stream, label, route, rows in values.get("routes", ())},
        insight=[Insight(**dict(zip(insights, row, strict=True))) for row in values.get("insight", ())],
    )
