"""Filters that are added, removed and changed between two starts on the same state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.snapshot import unpack
from eddy.query import fingerprint
from eddy.query.binding import bind
from eddy.query.pushed_filter import PushedFilter
from eddy.sql import Expression
from eddy.tuples.arrow import one_batch
from tests.changes import Changing, cases
from tests.eddy.test_engine import AB, PROBES_FIRST, calls, engine, pairs, query
from tests.eddy.test_joins import NAMES, answered, batches, choice
from tests.policies.checks import steady_clock
from tests.tries import fewer


def start(asked: Changing, number: int, policy: str) -> Engine:
    """The engine of a start."""
    case = asked.case
    tables = {name: one_batch(name, table) for name, table in case.data().items() if name not in case.streams}
    schemas = {name: case.schema(name) for name in case.streams}
    chosen = choice(policy, replace(case, filters=[]) if policy != "wild" else case)
    return wiring.engine(
        asked.query(number), schemas, chosen, tables=tables, clock=steady_clock(), seed=0, index=case.index
    )


def restarted(asked: Changing, policies: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """A run with the filters of each start."""
    running = start(asked, 0, policies[0])
    for number, batch in enumerate(batches(asked.case)):
        if number in asked.starts[1:]:
            place = asked.starts.index(number)
            snapshot = running.snapshot()
            running = start(asked, place, policies[place])
            running.restore(snapshot)
        yield from running.run(batch)


POLICIES = st.tuples(*[st.sampled_from([name for name in NAMES if name != "knows"])] * 3)


@fewer(2)
@given(asked=cases(only_added=True), policies=POLICIES)
def test_an_added_filter_judges_what_is_completed_after_it(asked: Changing, policies: Sequence[str]) -> None:
    surely, perhaps = asked.answers()
    found = answered(restarted(asked, policies), start(asked, 0, "fixed").schema)
    assert found == surely == perhaps


@fewer(2)
@given(asked=cases(), policies=POLICIES)
def test_filters_that_come_and_go(asked: Changing, policies: Sequence[str]) -> None:
    """A row that was dropped stays so; every other combination is judged by the filters of its time."""
    surely, perhaps = asked.answers()
    found = answered(restarted(asked, policies), start(asked, 0, "fixed").schema)
    assert surely <= found <= perhaps


POSITIVE, ODD = eddy.Filter("positive", on="a", where="k > 0"), eddy.Filter("odd", on="a", where="k % 2 = 1")


def test_what_a_removed_filter_had_dropped_stays_so_and_what_it_was_not_asked_about_is_kept() -> None:
    """Probes go first, so a row is asked about only where it has a match."""
    first = engine(query(filters=[POSITIVE]), PROBES_FIRST)
    pairs(first, a=[(1, -1), (1, -2), (1, 5)], b=[(1, -1)])
    second = engine(query(), PROBES_FIRST)
    second.restore(first.snapshot())
    assert pairs(second, a=[], b=[(2, -1), (2, -2), (2, 5)]) == [(1, 2), (1, 2)]


def test_stored_rows_are_asked_about_an_added_filter_when_they_are_met() -> None:
    seen: list[int] = []

    def note(k: int) -> bool:
        seen.append(k)
        return k != 3

    first = engine(query(filters=[POSITIVE]), "source")
    pairs(first, a=[(1, k) for k in range(1, 6)], b=[])
    second = engine(query(filters=[POSITIVE, eddy.Filter("note", on="a", function=note, rowwise=True)]), "source")
    second.restore(first.snapshot())
    assert not seen
    assert pairs(second, a=[], b=[(2, 3), (2, 4)]) == [(1, 2)]
    assert sorted(seen) == [3, 4]
    # What it said is remembered, and so is what the filter said that stayed.
    again = engine(query(filters=[POSITIVE, eddy.Filter("note", on="a", function=note, rowwise=True)]), "source")
    again.restore(second.snapshot())
    assert pairs(again, a=[], b=[(3, 4)]) == [(1, 3)]
    assert sorted(seen) == [3, 4]
    assert calls(again)["positive"].evaluated == 0


def test_a_filter_that_says_something_else_is_another_one() -> None:
    first = engine(query(filters=[eddy.Filter("f", on="a", where="k > 0")]))
    pairs(first, a=[(1, 0), (1, 1), (1, 2)], b=[(1, 0), (1, 1), (1, 2)])
    second = engine(query(filters=[eddy.Filter("f", on="a", where="k < 2")]))
    second.restore(first.snapshot())
    # Row 0 was dropped before, and row 2 is now.
    assert pairs(second, a=[], b=[(2, 0), (2, 1), (2, 2)]) == [(1, 2)]


def test_what_is_known_of_the_others_is_kept() -> None:
    first = engine(query(filters=[POSITIVE, ODD]), "source")
    pairs(first, a=[(1, k) for k in range(9)], b=[(1, 1)])
    second = engine(query(filters=[ODD]), "source")
    second.restore(first.snapshot())
    before, after = (
        {row[0]: row for row in unpack(running.snapshot())[0]["statistics"]} for running in (first, second)
    )
    assert after == {name: row for name, row in before.items() if name != "positive"}


SAVED = fingerprint.of(
    bind(query(filters=[POSITIVE]), {name: pa.schema({"ts": pa.int64(), "k": pa.int64()}) for name in "ab"})
)


def test_it_is_told_for_people() -> None:
    wanted = {name: text for name, text in SAVED.items() if "positive" not in name}
    change = fingerprint.check(SAVED, {**wanted, 'filter "odd"': "on a: k % 2 = 1"})
    assert change.tell() == (
        'filters added: "odd"; removed: "positive"; stored rows are asked about "odd" as well; rows that '
        '"positive" had dropped stay dropped; the policy learns anew, and what others cost and let pass is kept'
    )
    assert not fingerprint.check(SAVED, SAVED)


def test_a_column_that_is_not_stored_says_since_when_it_would_be() -> None:
    said = (
        r'stream "a": column "v": rows are stored without it, .* those that come from this start on would have it, and '
        r"all rows once their window is over, Range\(10\) and the delay: begin a new checkpoint, and let the old query "
        "run so long beside it"
    )
    with pytest.raises(eddy.CheckpointError, match=said):
        fingerprint.check(SAVED, {**SAVED, 'stream "a": column "v"': "int64"})
    where = eddy.Filter("new", on="a", where="v > 1").predicate
    assert isinstance(where, Expression)
    added = PushedFilter(name="new", stream="a", where=where, schema=pa.schema({"k": pa.int64(), "v": pa.int64()}))
    with pytest.raises(eddy.CheckpointError, match=said):
        fingerprint.check(SAVED, {**SAVED, 'filter "new"': "on a, evaluated by Spark: v > 1"}, [added])


def test_rows_from_before_a_filter_of_sparks_are_asked_about_it_once() -> None:
    """The query that goes on neither has the filter nor reads its column."""
    streams = [replace(AB[0]), AB[1]]
    schemas = {name: pa.schema({"ts": pa.int64(), "k": pa.int64(), "v": pa.int64()}) for name in "ab"}
    old = eddy.Query(streams=streams, joins=["a.k = b.k"], select=["a.v", "b.ts"])
    new = replace(old, select=["b.ts"])
    where = eddy.Filter("large", on="a", where="v > 1").predicate
    assert isinstance(where, Expression)
    large = PushedFilter(name="large", stream="a", where=where, schema=schemas["a"])

    def build(asked: eddy.Query, pushed: Sequence[PushedFilter]) -> Engine:
        bound = bind(asked, schemas)
        parts = {**fingerprint.of(bound), **{f'filter "{s.name}"': "by Spark" for s in pushed}}
        return wiring.engine(
            asked, schemas, "fixed", tables={}, clock=steady_clock(), seed=0, parts=parts, pushed=pushed
        )

    def batch(a: Sequence[tuple[int, int, Any]], b: Sequence[tuple[int, int, Any]]) -> dict[str, pa.RecordBatch]:
        rows = {"a": a, "b": b}
        return {
            name: pa.RecordBatch.from_pylist(
                [dict(zip(("ts", "k", "v"), row, strict=True)) for row in some], schemas[name]
            )
            for name, some in rows.items()
        }

    first = build(old, [])
    assert not list(first.run(batch([(1, 7, 1), (2, 7, 2), (3, 7, None), (4, 7, 4)], [])))
    second = build(new, [large])
    second.restore(first.snapshot())
    (found,) = second.run(batch([(5, 7, 0)], [(6, 7, 0)]))
    assert found.num_rows == 3
    third = build(new, [large])
    third.restore(second.snapshot())
    (found,) = third.run(batch([], [(7, 7, 0)]))
    assert found.num_rows == 3
