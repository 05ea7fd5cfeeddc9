"""A tap knows whether it has seen all that rows of its inputs make."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.contracts import Leg, Policy, Setting, Task
from eddy.taps import MOST_IDLE, Tap, Taps
from eddy.tuples import Hop, Lineage, Tuples
from eddy.tuples.arrays import FaultCodes

PART = frozenset("bc")


def some(spans: str, count: int, done: str = "", faults: FaultCodes | None = None) -> Tuples:
    lineage = Lineage("b" if "b" in spans else "a", frozenset(spans), frozenset(done.split()))
    return Tuples(lineage, {name: np.arange(count) for name in spans}, faults)


def tap_after(*steps: tuple[Tuples, Tuples], rows: int = 3) -> Tap:
    tap = Tap(PART)
    tap.start(some("b", rows))
    for before, made in steps:
        tap.note(before.lineage, len(before), made)
    return tap


def test_all_that_rows_make_has_passed() -> None:
    tap = tap_after((some("b", 3), some("b", 2, "f")), (some("b", 2, "f"), some("bc", 4)))
    assert tap.is_whole
    assert tap.started == 3
    assert [len(made) for made in tap.passed] == [4]


def test_some_are_under_way() -> None:
    assert not tap_after((some("b", 2), some("bc", 4))).is_whole
    assert tap_after((some("b", 2), some("bc", 4)), (some("b", 1), some("bc", 0))).is_whole


@pytest.mark.parametrize(
    "torn",
    [
        (some("b", 3), some("ab", 1)),
        (some("b", 3), some("abc", 1)),
        (some("b", 3), some("bc", 1, faults=np.ones(1, np.uint8))),
        (some("b", 3), some("b", 0, "meets_a")),
    ],
    ids=["another input first", "all inputs at once", "a fault", "no match yet in another input"],
)
def test_tuples_that_go_another_way_tear_it(torn: tuple[Tuples, Tuples]) -> None:
    tap = tap_after(torn)
    assert not tap.is_whole
    tap.begin()
    assert tap.is_whole


def test_tuples_without_a_match_among_its_inputs_are_no_loss() -> None:
    assert tap_after((some("b", 3), some("b", 0, "meets_c"))).is_whole
    assert tap_after((some("b", 3), some("b", 3, "meets_a")), (some("b", 3, "meets_a"), some("bc", 1))).is_whole


def test_too_many_tear_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eddy.taps.MOST_PASSED", 3)
    assert not tap_after((some("b", 3), some("bc", 4))).is_whole


def test_rows_of_other_inputs_do_not_matter() -> None:
    tap = tap_after((some("a", 5), some("ab", 5)), rows=0)
    assert tap.is_whole
    assert not tap.passed


def test_a_tap_that_nobody_reads_is_closed() -> None:
    taps = Taps()
    tap = taps.find(PART)
    assert taps.find(PART) is tap
    for _ in range(MOST_IDLE):
        taps.begin()
        assert taps.open == [tap]
    taps.begin()
    assert taps.open == []
    taps.want(tap)
    taps.begin()
    assert taps.open == [tap]


def test_inputs_of_taps_are_routed_first() -> None:
    taps = Taps()
    arrived = [some("a", 1), some("b", 1)]
    assert taps.start(arrived) == arrived
    taps.find(PART)
    taps.begin()
    assert taps.start(arrived) == arrived[::-1]


class Exhausting(Policy):
    """Rows of `a` go by the cache; of the others a few go by an exhaustive leg."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        if task.lineage.origin == "a":
            return [Leg(route=(next(hop for hop in task.options([]) if hop.operator == "cached_b_c"),))]
        probes = [hop for hop in ready if hop.operator.startswith("probe") and hop.operator != "probe_a"]
        if task.lineage.done or task.rows < 10:
            return [Leg(route=ready[:1])]
        rows = np.arange(task.rows)
        return [Leg(route=tuple(probes), rows=rows[5:]), Leg(route=tuple(probes), rows=rows[:5], exhaustive=True)]


def test_exhaustive_legs_tear_taps() -> None:
    """The answer is what it is by probes alone."""
    chance = np.random.default_rng(0)
    rows = {
        name: pa.table({"ts": np.arange(200), "k": chance.integers(0, 9, 200), "x": chance.integers(0, 9, 200)})
        for name in "abc"
    }
    query = eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(60), delay=0) for name in "abc"],
        joins=["a.k = b.k", "b.x = c.x"],
        select=["a.ts", "b.ts as b", "c.ts as c"],
    )
    found, plain = (eddy.run_local(query, rows, policy=policy, batch_rows=20) for policy in (Exhausting, "fixed"))
    assert sorted(map(str, found.results.to_pylist())) == sorted(map(str, plain.results.to_pylist()))
    assert found.results.num_rows > 1_000
    assert found.report.caches()["tapped"].sum() == 0


class Meeting(Policy):
    """Rows of `b` go by the cache; of the others only those go on that have a match in `b` by then."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        wanted = "meets_b" if task.lineage.origin == "a" else "whole_a_c"
        return [Leg(route=(next((hop for hop in task.options([]) if hop.operator == wanted), ready[0]),))]


def test_rows_that_have_no_match_yet_are_kept_for_those_that_come() -> None:
    """The second row of `a` is dropped, since its match in `b` comes a micro-batch later, and then there it is."""
    rows = {
        "a": pa.table({"ts": [1, 2, 3], "k": [8, 1, 8], "x": [5, 5, 5]}),
        "b": pa.table({"ts": [1, 2, 3], "k": [9, 9, 1]}),
        "c": pa.table({"x": [5]}),
    }
    query = eddy.Query(
        streams=[eddy.Stream(name, time="ts") for name in "ab"],
        tables=[eddy.Table("c")],
        joins=["a.k = b.k", "a.x = c.x"],
        select=["a.ts", "b.ts as b"],
    )
    found = eddy.run_local(query, rows, policy=Meeting, batch_rows=1)
    assert found.results.to_pylist() == [{"ts": 2, "b": 3}]
