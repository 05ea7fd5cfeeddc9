"""Verdicts hold for whoever meets the row next; edges of windows are inside; null joins nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import eddy
from eddy.contracts import Leg, Policy, Task
from eddy.tuples import Hop
from tests.eddy.test_engine import calls, engine, pairs, query


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
    running = engine(query(filters=filters), Staggered)
    assert pairs(running, a=[], b=[(1, 7), (2, 7)]) == []
    assert seen == []
    assert pairs(running, a=[(3, 7), (4, 7), (5, 7)], b=[]) == [(ts, passes) for ts in (3, 4, 5) if passes]
    assert sorted(seen) == [1, 2]


def test_a_probe_looks_only_where_the_latest_of_all_rows_can_meet_anything() -> None:
    window, newest = 4_000, 20_000
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(window), delay=0) for name in "abc"]
    asked = query(streams=streams, joins=["a.k = b.k", "a.k = c.k"], select=["a.ts as a", "c.ts as b"])
    running = engine(asked, {"name": "fixed", "order": ["probe_b", "probe_c"]})
    pairs(running, a=[], b=[(newest, 7)], c=[(ts, 7) for ts in range(newest)])
    assert len(pairs(running, a=[(newest - window, 7)], b=[], c=[])) == window
    assert window <= calls(running)["probe_c"].evaluated < window * 3 / 2


@pytest.mark.parametrize("join", ["nullif(a.k, 5) = b.k", "a.k = nullif(b.k, 5)", "nullif(a.k, 5) = nullif(b.k, 5)"])
@pytest.mark.parametrize("order", [["probe_a", "probe_b"], ["probe_b", "probe_a"]])
def test_null_joins_nothing(join: str, order: list[str]) -> None:
    running = engine(query(joins=[join]), {"name": "fixed", "order": order})
    keys: list[Any] = [None, 5, 0, -1]
    rows = list(enumerate(keys))
    assert pairs(running, a=[], b=rows) == []
    assert pairs(running, a=rows, b=[]) == [(2, 2), (3, 3)]
    assert pairs(running, a=[], b=[(4, 0), (4, 5)]) == [(2, 4)]
