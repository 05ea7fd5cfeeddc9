"""What a design of indexes costs on what has changed, pattern by pattern.

A design that is right in all may be wrong for a search that is rare, or in a few: so each access pattern is held
against the bound by itself, in seconds of its probes and in candidates of its indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eddy.comparison.contender import BOUND
from eddy.observe.report import Report
from eddy.tuples.arrays import Floats

Columns = Mapping[str, Sequence[Any]]
"""A table as plain values."""

COSTS = ("seconds", "candidates")
"""What is counted of a pattern."""

FREQUENT = 0.01
"""The share of the tuples that search from which on a pattern counts among the worst: rarer ones take a few
microseconds, and differ by chance."""

ABOVE = 1.1
"""The regret up to which a pattern is served well."""


def count_by_pattern(report: Report) -> Columns:
    """Count what searches by each pattern have cost, micro-batch by micro-batch.

    `tuples` searched, their probes took `seconds`, and indexes gave `candidates`.
    """
    found: dict[tuple[str, int], list[float]] = {}
    for number, counters in enumerate(report.counters):
        for hop, done in counters.operators.items():
            # Filters, and probes that look through all rows, search by no keys.
            if hop.pattern:
                _add(found, hop.pattern, number, (done.seconds, 0, done.rows_in))
        for count in counters.indexes:
            for pattern, candidates in zip(count.patterns, count.by_pattern, strict=False):
                if pattern:
                    _add(found, pattern, number, (0, candidates, 0))
    columns = {name: [costs[at] for costs in found.values()] for at, name in enumerate((*COSTS, "tuples"))}
    return {"pattern": [pattern for pattern, _ in found], "number": [number for _, number in found], **columns}


def _add(found: dict[tuple[str, int], list[float]], pattern: str, number: int, costs: Sequence[float]) -> None:
    known = found.setdefault((_sort_keys(pattern), number), [0.0] * len(costs))
    known[:] = [one + more for one, more in zip(known, costs, strict=True)]


def _sort_keys(text: str) -> str:
    """Write a pattern's keys in one order: operators and indexes number them differently.

    >>> _sort_keys("b.bc, b.ab")
    'b.ab, b.bc'
    """
    return ", ".join(sorted(text.split(", ")))


def compare_patterns(
    start: int, rows: Sequence[int], counted: Sequence[Columns], roles: Sequence[str]
) -> list[list[dict[str, Any]]]:
    """Give each contender's regret, a row for each pattern.

    It is its cost in times of the bound's, from the tuple `start` on at which the change begins. `counted` are what
    `count_by_pattern` gave of each contender, on micro-batches of so many `rows`.
    """
    after = np.cumsum(rows) > start
    bound = next((place for place, role in enumerate(roles) if role == BOUND), None)
    if bound is None or not after.any():
        return [[] for _ in roles]
    sums = [_sum_after(one, after) for one in counted]
    whole = max(sum(float(cost[-1]) for cost in sums[bound].values()), 1.0)
    return [
        [
            {
                "pattern": pattern,
                "share": float(least[-1]) / whole,
                **{f"regret_{name}": _divide(own[at], least[at]) for at, name in enumerate(COSTS)},
            }
            for pattern, least in sums[bound].items()
            if (own := one.get(pattern)) is not None
        ]
        for one in sums
    ]


def _divide(own: float, least: float) -> float:
    """Divide costs; of two that are none, none is dearer."""
    return float(own / least) if least > 0 else float(1.0 if own <= 0 else np.inf)


def _sum_after(counted: Columns, after: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, Floats]:
    """Add up the seconds, candidates and tuples of each pattern over the micro-batches after the change."""
    found: dict[str, Floats] = {}
    costs = np.array([counted[name] for name in (*COSTS, "tuples")], np.float64).T
    for pattern, number, cost in zip(counted["pattern"], counted["number"], costs, strict=True):
        if after[number]:
            found[pattern] = found.get(pattern, np.zeros(len(COSTS) + 1)) + cost
    return found


def sum_up_patterns(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Say how the frequent patterns fare: the worst of them, and how many are served badly."""
    known = [row for row in rows if row["share"] >= FREQUENT]
    if not known:
        return {}
    above = sum(row["regret_candidates"] > ABOVE for row in known)
    worst = {f"regret_{name}_worst": max(row[f"regret_{name}"] for row in known) for name in COSTS}
    return {"regret_patterns": float(len(known)), "regret_patterns_above": float(above), **worst}
