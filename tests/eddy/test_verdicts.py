"""Verdicts hold for whoever meets the row next; edges of windows are inside; null joins nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import eddy
from eddy.contracts import Leg, Policy, Task
from eddy.lineage import Hop
from tests.eddy.test_engine import engine, pairs, query


class Staggered(Policy):
    """Probes first, then has a filter meet the same stored rows twice: for some tuples at once, for others later."""

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        hops = {hop.operator: hop for hop in ready}
        for probe in ("probe_a", "probe_b"):
            if probe in hops:
                return [Leg(route=(hops[probe],))]
        if task.rows < 6:
            return [Leg(route=ready[:1])]
        early, late = np.arange(4), np.arange(4, task.rows)
        return [Leg(route=(hops["fb"],), rows=early), Leg(route=(hops["fa"], hops["fb"]), rows=late)]


@pytest.mark.parametrize("passes", [0, 1, 2])
def test_a_row_that_was_judged_is_not_asked_about_again(passes: int) -> None:
    seen: list[int] = []

    def judge(ts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        seen.extend(ts.tolist())
        mask: npt.NDArray[np.bool_] = ts == passes
        return mask

    filters = [eddy.Filter("fa", on="a", where="ts > 0"), eddy.Filter("fb", on="b", function=judge)]
    running = engine(query(filters=filters), lambda _: Staggered())
    assert pairs(running, a=[], b=[(1, 7), (2, 7)]) == []
    assert seen == []
    assert pairs(running, a=[(3, 7), (4, 7), (5, 7)], b=[]) == [(ts, passes) for ts in (3, 4, 5) if passes]
    assert sorted(seen) == [1, 2]


JOINS = ["a.k = b.k", "a.k <= b.k", "a.k + b.k = 14"]


@pytest.mark.parametrize("join", JOINS)
def test_a_stored_row_at_the_edge_of_its_window_is_inside(join: str) -> None:
    running = engine(query(joins=[join]))
    assert pairs(running, a=[], b=[(9, 7), (10, 7), (11, 7)]) == []
    assert pairs(running, a=[(20, 7)], b=[]) == [(20, 10), (20, 11)]


@pytest.mark.parametrize("join", JOINS)
def test_an_arriving_row_at_the_edge_of_its_window_is_inside(join: str) -> None:
    running = engine(query(joins=[join]))
    assert pairs(running, a=[], b=[(20, 7)]) == []
    assert pairs(running, a=[(9, 7), (10, 7), (11, 7)], b=[]) == [(10, 20), (11, 20)]


@pytest.mark.parametrize("join", ["nullif(a.k, 5) = b.k", "a.k = nullif(b.k, 5)", "nullif(a.k, 5) = nullif(b.k, 5)"])
@pytest.mark.parametrize("order", [["probe_a", "probe_b"], ["probe_b", "probe_a"]])
def test_null_joins_nothing(join: str, order: list[str]) -> None:
    running = engine(query(joins=[join]), {"name": "fixed", "order": order})
    keys: list[Any] = [None, 5, 0, -1]
    rows = list(enumerate(keys))
    assert pairs(running, a=[], b=rows) == []
    assert pairs(running, a=rows, b=[]) == [(2, 2), (3, 3)]
    assert pairs(running, a=[], b=[(4, 0), (4, 5)]) == [(2, 4)]
