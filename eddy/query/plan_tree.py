"""Draws the routes that a run has taken as a tree, with what each step costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eddy.observe.report import Report
from eddy.observe.text import write_seconds

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 40
"""Steps of a stream's tree that are drawn, of the routes that most rows took: a screen."""

PAUSE = "   "


@dataclass(kw_only=True)
class Step:
    """An operator at one place of routes, and what follows it."""

    tuples: int = 0
    next: dict[str, Step] = field(default_factory=dict)


def list_plans(report: Report) -> Iterator[str]:
    """Draw each stream's routes as one tree; routes with the same beginning share it.

    At each step stand the share of the stream's rows that set out this way, and what the operator does to a tuple on
    average, wherever it stood: what it lets pass, and what that takes. Those are measured over all rows and not by
    class, so that a step may be cheaper here than it is on average.
    """
    done = _average_operators(report.operators(), report.write_cost)
    for stream, part in report.routes().groupby("stream"):
        routes = [
            (route.split(" > "), int(tuples)) for route, tuples in zip(part["route"], part["tuples"], strict=True)
        ]
        whole = sum(tuples for _, tuples in routes)
        if whole and any(len(route) > 1 for route, _ in routes):
            yield from ("", f'plan of "{stream}": where its rows set out to, and what a tuple takes there on average')
            yield f"  {stream}"
            yield from (f"  {line}" for line in _draw(_join(routes), whole, done, ""))


def _join(routes: Sequence[tuple[Sequence[str], int]]) -> dict[str, Step]:
    """Join routes to a tree, the commonest first."""
    root = Step()
    drawn = 0
    for route, tuples in sorted(routes, key=lambda one: -one[1]):
        drawn += len(route)
        if drawn > MOST_STEPS and root.next:
            break
        at = root
        for operator in route:
            at = at.next.setdefault(operator, Step())
            at.tuples += tuples
    return root.next


def _draw(steps: Mapping[str, Step], whole: int, done: Mapping[str, str], before: str) -> Iterator[str]:
    ordered = sorted(steps.items(), key=lambda step: -step[1].tuples)
    for place, (operator, step) in enumerate(ordered):
        last = place == len(ordered) - 1
        share = f"{step.tuples / whole:.0%}" if step.tuples >= whole / 200 else "<1%"
        yield f"{before}{'└─ ' if last else '├─ '}{operator}{PAUSE}{share} of rows{done.get(operator, '')}"
        yield from _draw(step.next, whole, done, before + ("   " if last else "│  "))


def _average_operators(frame: pd.DataFrame, write: Callable[[float], str]) -> Mapping[str, str]:
    """Write what each operator lets pass of a tuple, and what that takes; a user's cost where there is one."""
    costs = ["cost"] if "cost" in frame else []
    sums = frame.groupby("operator")[["rows_in", "rows_out", "seconds", *costs]].sum(min_count=1)
    told = {}
    for operator, one in sums[sums["rows_in"] > 0].iterrows():
        rows = float(one["rows_in"])
        rate = float(one["rows_out"]) / rows
        passes = f"{rate:.0%} pass" if rate <= 1 else f"{rate:.3g} out for one in"
        paid = one["cost"] if costs and one["cost"] == one["cost"] else None
        takes = write_seconds(float(one["seconds"]) / rows) if paid is None else write(float(paid) / rows)
        told[str(operator)] = f", {passes}, {takes} a tuple"
    return told
