"""A cell that is stopped and goes on: what is kept, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import eddy
from eddy.contracts import Setting
from eddy.engine.snapshot import unpack
from eddy.engine.snapshot_file import read_file, write_file
from tests.eddy.test_engine import AB, PROBES_FIRST, calls, engine, pairs, query
from tests.policies.wild import Wild

SAVED = query(filters=[eddy.Filter("f", on="a", where="k > 0")])


def test_a_filter_sees_a_row_once_across_a_restart() -> None:
    seen: list[int] = []

    def note(k: int) -> bool:
        seen.append(k)
        return k != 3

    asked = query(filters=[eddy.Filter("note", on="a", function=note, rowwise=True)])
    running = engine(asked, PROBES_FIRST)
    pairs(running, a=[(1, k) for k in range(20)], b=[(1, 1)])
    for k in (2, 3, 1, 2, 3):
        again = engine(asked, PROBES_FIRST)
        again.restore(running.snapshot())
        running = again
        assert pairs(running, a=[], b=[(2, k)]) == ([] if k == 3 else [(1, 2)])
    assert sorted(seen) == [1, 2, 3]
    assert calls(running)["probe_a"].rows_out == 0


def test_a_policy_goes_on_with_what_it_had() -> None:
    policies: list[Wild] = []

    def build(setting: Setting) -> Wild:
        policies.append(Wild(setting))
        return policies[-1]

    first = engine(SAVED, build)
    pairs(first, a=[(1, 1), (2, 0)], b=[(1, 1)])
    second = engine(SAVED, build)
    second.restore(first.snapshot())
    old, new = policies
    assert (new.plans, new.tuples.tolist()) == (old.plans, old.tuples.tolist())
    assert old.plans > 0
    assert new.tuples.sum() > 0
    for running in (first, second):
        pairs(running, a=[(3, 1)], b=[(3, 1)])
    assert new.plans == old.plans
    assert np.array_equal(new.tuples, old.tuples)


def test_another_policy_begins_anew() -> None:
    policies: list[Wild] = []

    def build(setting: Setting) -> Wild:
        policies.append(Wild(setting))
        return policies[-1]

    first = engine(SAVED, "random")
    pairs(first, a=[(1, 1)], b=[(1, 1)])
    engine(SAVED, build).restore(first.snapshot())
    assert policies[0].plans == 0


@pytest.mark.parametrize("before", ["fixed", "content"])
def test_a_state_from_before_the_default_was_auto_keeps_its_rows_and_learns_anew(before: str) -> None:
    """A start without a policy was one with `fixed`, and a job without one a job with `content`."""
    first = engine(SAVED, before)
    pairs(first, a=[(1, 1), (2, 0), (3, 2)], b=[(1, 1)])
    second = engine(SAVED, "auto")
    second.restore(first.snapshot())
    meta = unpack(second.snapshot())[0]
    assert (meta["policy"], meta["state"]["streams"]) == ('{"name": "auto"}', {})
    assert pairs(second, a=[], b=[(4, 1), (5, 2)]) == [(1, 4), (3, 5)]
    assert list(unpack(second.snapshot())[0]["state"]["streams"]) == ["b"]


def test_rows_that_a_filter_failed_count_in_a_window_of_rows_across_a_restart() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Rows(3)) for s in "ab"]
    asked = query(streams=streams, filters=[eddy.Filter("f", on="a", where="ts <> 2 and ts <> 4")])
    first, second = engine(asked), engine(asked)
    pairs(first, a=[(1, 7), (2, 7), (3, 7), (4, 7), (5, 7)], b=[])
    second.restore(first.snapshot())
    for running in (first, second):
        assert pairs(running, a=[], b=[(6, 7)]) == [(3, 6), (5, 6)]
        assert pairs(running, a=[(7, 7)], b=[]) == [(7, 6)]
        assert pairs(running, a=[], b=[(8, 7)]) == [(5, 8), (7, 8)]


def test_rows_restored_out_of_order_are_kept_as_long_as_before() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=20) for s in "ab"]
    first, second = engine(query(streams=streams)), engine(query(streams=streams))
    for ts in (0, 9, 1):
        pairs(first, a=[(ts, 1)], b=[])
    second.restore(first.snapshot())
    for running in (first, second):
        pairs(running, a=[(33, 8)], b=[(33, 9)])
        assert pairs(running, a=[], b=[(15, 1)]) == [(9, 15)]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (query(joins=["a.k = b.ts"]), 'join "a.k = b.ts": the checkpoint has nothing, the query has "a join"'),
        (
            query(streams=[AB[0], eddy.Stream("b", time="ts", window=eddy.Range(11), delay=0)]),
            r'stream "b": window: the checkpoint has "Range\(10\)", the query has "Range\(11\)"',
        ),
    ],
)
def test_state_of_another_query_is_refused(other: eddy.Query, message: str) -> None:
    with pytest.raises(eddy.CheckpointError, match=f"it belongs to another query; .*{message}"):
        engine(other).restore(engine(SAVED).snapshot())


def test_it_says_which_routes_were_taken_last() -> None:
    first, second = engine(SAVED, "source"), engine(SAVED, "source")
    pairs(first, a=[(1, 1), (2, 0)], b=[])
    pairs(first, a=[], b=[(1, 1)])
    second.restore(first.snapshot())
    for running in (first, second):
        known = unpack(running.snapshot())[0]["taken"]
        assert {stream: one["batch"] for stream, one in known.items()} == {"a": 0, "b": 1}
        assert sum(tuples for _, _, tuples in known["a"]["routes"]) == 2
        assert {hop for _, route, _ in known["a"]["routes"] for hop in route} <= {"f", "probe_b"}
    third = engine(SAVED, "random")
    third.restore(first.snapshot())
    assert unpack(third.snapshot())[0]["taken"] == {}


def test_another_selection_and_another_policy_go_on() -> None:
    first = engine(SAVED)
    pairs(first, a=[(1, 1)], b=[])
    second = engine(query(filters=SAVED.filters, select=["b.ts as a", "a.ts as b"]), "random")
    second.restore(first.snapshot())
    assert pairs(second, a=[], b=[(2, 1)]) == [(2, 1)]


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    written = engine(SAVED).snapshot()
    taken = tmp_path / "taken"
    taken.mkdir()
    with pytest.warns(eddy.EddyWarning, match="what was learned cannot be written to"):
        write_file(taken, written)
    assert list(tmp_path.iterdir()) == [taken]
    write_file(tmp_path / "free", written)
    assert read_file(tmp_path / "free") == written
    assert sorted(tmp_path.iterdir()) == [tmp_path / "free", taken]
