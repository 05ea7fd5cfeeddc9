"""Streams of one source: stored once, and the answer of two stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.errors import CheckpointError, QueryError
from eddy.policies.registry import POLICIES
from tests import joins, reference, tiny
from tests.eddy.test_joins import NAMES, answered, batches, check_answer, engine, restarted
from tests.joins import Case
from tests.tries import fewer

SHARED = joins.cases(shared=True) | joins.cases(shared=True, crowded=True) | joins.cases(shared=True, faults=True)


@pytest.mark.parametrize("policy", ["fixed", "wild"])
@fewer(2)
@given(case=SHARED, seed=st.integers(0, 2**32))
def test_any_routing_gives_the_naive_answer(policy: str, case: Case, seed: int) -> None:
    check_answer(policy, case, seed)


@pytest.mark.parametrize("policy", sorted(POLICIES.keys() - {"fixed"}))
@fewer(8)
@given(case=SHARED, seed=st.integers(0, 2**32))
def test_every_policy_gives_the_naive_answer(policy: str, case: Case, seed: int) -> None:
    check_answer(policy, case, seed)


@fewer(2)
@given(
    case=SHARED,
    policy=st.sampled_from(NAMES),
    sizes=st.tuples(st.sampled_from([1, 3, 1 << 16]), st.sampled_from([0, 20, 1 << 16])),
    stops=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(NAMES)), max_size=4),
)
def test_rows_leave_when_no_name_needs_them(
    case: Case, policy: str, sizes: tuple[int, int], stops: list[tuple[int, str]]
) -> None:
    """Segments have a row or two, so that rows leave one name's window while another name needs them."""
    merged, room = sizes
    with pytest.MonkeyPatch.context() as patch:
        tiny.parts_of(patch, 2, merged=merged, room=room)
        found = answered(restarted(case, dict(stops), policy), engine(case, policy).schema)
        assert found == reference.answer(case.question(), case.batches())


@fewer(6)
@given(case=SHARED, policy=st.sampled_from(NAMES))
def test_a_run_that_is_stopped_everywhere_counts_as_two_stores_do(case: Case, policy: str) -> None:
    """Rows that came and were dropped are counted under each name, as if each had its own; bytes are counted once."""
    apart = replace(case, shared=())
    steady, stopped, alone = engine(case, policy), engine(case, policy), engine(apart, policy)
    for number, (batch, own) in enumerate(zip(batches(case), batches(apart), strict=True)):
        snapshot = stopped.snapshot()
        stopped = engine(case, policy)
        stopped.restore(snapshot)
        runs = ((stopped, batch), (steady, batch), (alone, own))
        found, expected, of_two = (answered(one.run(part), one.schema) for one, part in runs)
        assert found == expected == of_two, number
        if found == reference.FAILS:
            break
        assert counted(stopped) == counted(steady) == counted(alone)


@fewer(2)
@given(case=SHARED, policy=st.sampled_from(NAMES), stop=st.integers(0, 4))
def test_two_stores_become_one(case: Case, policy: str, stop: int) -> None:
    """A checkpoint of a query that had the same rows twice goes on with one store."""
    apart = replace(case, shared=())
    assert found_by_both(case, apart, policy, stop) == reference.answer(case.question(), case.batches())


def found_by_both(case: Case, apart: Case, policy: str, stop: int) -> Counter[tuple[Any, ...]]:
    """What two stores find until a micro-batch, and one store from then on."""

    def both() -> Iterator[pa.RecordBatch]:
        running = engine(apart, policy)
        for number, (batch, own) in enumerate(zip(batches(case), batches(apart), strict=True)):
            if number == stop:
                saved, running = running.snapshot(), engine(case, policy)
                running.restore(saved)
            yield from running.run(batch if number >= stop else own)

    return answered(both(), engine(case, policy).schema)


def counted(running: Engine) -> dict[str, Any]:
    """The rows of each stream that came, and why they were dropped."""
    streams = running.read_counters().streams
    return {name: (s.rows, s.untimed, s.late, s.ahead, s.keyless, s.newest) for name, s in streams.items()}


# --- one query by hand

TIMES: Mapping[str, Any] = {"time": "at", "delay": 0}


def self_join(**windows: eddy.Range | eddy.Rows | eddy.Unbounded) -> eddy.Query:
    """Rows of two names that have the same user, one after the other."""
    return eddy.Query(
        streams=[eddy.Stream(name, source="orders", window=window, **TIMES) for name, window in windows.items()],
        joins=["a.user = b.friend and a.id < b.id"],
        select=["a.id", "b.id as other"],
    )


def rows(ids: range, *, user: int | None = 1, friend: int | None = 1) -> pa.RecordBatch:
    """Orders with an id, which is their time too."""
    count, kind = len(ids), pa.int64()
    users, friends = pa.array([user] * count, kind), pa.array([friend] * count, kind)
    return pa.record_batch({"id": pa.array(ids, kind), "at": pa.array(ids, kind), "user": users, "friend": friends})


def make_engine(query: eddy.Query, **more: Any) -> Engine:
    schemas = dict.fromkeys([stream.name for stream in query.streams], rows(range(1)).schema)
    return wiring.engine(query, schemas, "fixed", tables={}, clock=float, seed=0, **more)


def run(running: Engine, batch: pa.RecordBatch) -> Counter[tuple[int, int]]:
    return Counter((row["id"], row["other"]) for part in running.run({"orders": batch}) for row in part.to_pylist())


def stored(running: Engine) -> Mapping[str, tuple[int, int]]:
    return {name: (count.stored, count.nbytes) for name, count in running.read_counters().streams.items()}


def test_rows_stay_as_long_as_one_name_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.parts_of(monkeypatch, 1)
    running = make_engine(self_join(a=eddy.Range(100), b=eddy.Range(0)))
    for first in range(0, 200, 10):
        run(running, rows(range(first, first + 10)))
    # The 100 newest ticks, and a segment that is not past as a whole.
    assert 100 <= stored(running)["a"][0] <= 140
    assert run(running, rows(range(200, 201))) == Counter((one, 200) for one in range(100, 200))


def test_a_row_without_a_value_for_one_name_is_there_for_the_other() -> None:
    running = make_engine(self_join(a=eddy.Unbounded(), b=eddy.Unbounded()))
    assert not run(running, rows(range(2), friend=None))
    assert run(running, rows(range(2, 3), user=None)) == Counter([(0, 2), (1, 2)])
    counts = running.read_counters().streams
    assert (counts["a"].keyless, counts["b"].keyless) == (1, 0)
    assert not run(running, rows(range(3, 4), user=None, friend=None))
    assert [count for count, _ in stored(running).values()] == [3, 3]


def test_bytes_are_counted_at_the_first_name_and_in_the_state_once() -> None:
    query = replace(
        self_join(a=eddy.Range(10_000), b=eddy.Range(10_000)),
        joins=["a.user = b.user and a.id < b.id"],
        select=["a.friend", "b.friend AS other"],
    )
    apart = replace(query, streams=[replace(stream, source=None) for stream in query.streams])
    shared, two = make_engine(query), make_engine(apart)
    batch = rows(range(5_000))
    for place, name in enumerate(("user", "friend"), start=2):
        batch = batch.set_column(place, name, pa.array(np.random.default_rng(place).integers(0, 1 << 40, 5_000)))
    run(shared, batch)
    list(two.run({"a": batch, "b": batch}))
    (_, first), (_, second) = stored(shared).values()
    assert second < first < sum(nbytes for _, nbytes in stored(two).values()) - second
    sizes = [len(one.snapshot().blob) for one in (shared, two)]
    assert sizes[0] < 0.6 * sizes[1]


def test_max_state_counts_rows_once() -> None:
    query = self_join(a=eddy.Unbounded(), b=eddy.Unbounded())
    apart = replace(query, streams=[replace(stream, source=None) for stream in query.streams])
    batch = rows(range(5_000), friend=2)
    run(make_engine(replace(query, max_state=200_000)), batch)
    with pytest.raises(QueryError, match="max_state allows 200,000"):
        list(make_engine(replace(apart, max_state=200_000)).run({"a": batch, "b": batch}))


def test_what_is_stored_once_does_not_become_two_stores() -> None:
    query = self_join(a=eddy.Range(10), b=eddy.Range(10))
    apart = replace(query, streams=[replace(stream, source=None) for stream in query.streams])
    saved = make_engine(query)
    run(saved, rows(range(5)))
    again = make_engine(replace(query, streams=[replace(stream, source="other") for stream in query.streams]))
    again.restore(saved.snapshot())
    with pytest.raises(CheckpointError, match='stream "a": rows: the checkpoint has "stored once for a, b"'):
        make_engine(apart).restore(saved.snapshot())


def test_columns_of_one_name_are_stored_for_the_other() -> None:
    """What is selected may change, as far as somebody has read it; in two stores each has its own columns."""
    query = self_join(a=eddy.Range(10), b=eddy.Range(10))
    apart = replace(query, streams=[replace(stream, source=None) for stream in query.streams])
    saved, of_two = make_engine(query), make_engine(apart)
    batch = rows(range(3))
    run(saved, batch)
    list(of_two.run({"a": batch, "b": batch}))
    more = replace(query, select=["a.id", "b.id as other", "a.friend", "b.user"])
    again = make_engine(more)
    again.restore(saved.snapshot())
    assert run(again, rows(range(3, 4))) == Counter([(0, 3), (1, 3), (2, 3)])
    make_engine(query).restore(of_two.snapshot())
    with pytest.raises(CheckpointError, match='stream "a": column "friend": rows are stored without it'):
        make_engine(more).restore(of_two.snapshot())


# --- how it is said


def test_data_are_given_once_or_under_each_name() -> None:
    query = self_join(a=eddy.Range(10), b=eddy.Range(10))
    table = pa.Table.from_batches([rows(range(3))])
    expected = eddy.run_local(query, {"orders": table}).results
    assert expected.num_rows == 3
    assert eddy.run_local(query, {"a": table, "b": table}).results.equals(expected)
    assert eddy.run_local(query, {"orders": iter([table])}).results.equals(expected)
    with pytest.raises(QueryError, match='streams "a", "b" are one source: expected its rows once'):
        eddy.run_local(query, {"a": table, "b": table.slice(0)})
    with pytest.raises(QueryError, match='expected data for every stream and table, got none for "a", "b"'):
        eddy.run_local(query, {})


def test_a_stream_may_be_the_same_as_another() -> None:
    query = eddy.Query(
        streams=[eddy.Stream("a", **TIMES), eddy.Stream("b", source="a", **TIMES)], joins=["a.user = b.friend"]
    )
    table = pa.Table.from_batches([rows(range(3))])
    assert eddy.run_local(query, {"a": table}).results.num_rows == 9


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({"delay": 0}, {"delay": 1}, "differ in delay: 0 and 1"),
        ({"delay": 0}, {}, "differ in delay: 0 and None"),
        ({"time": "t"}, {"time": "u"}, "differ in time: 't' and 'u'"),
        ({"bad_rows": "fail"}, {}, "differ in bad_rows: 'fail' and 'drop'"),
        ({"malformed": "m"}, {}, "differ in malformed: 'm' and None"),
    ],
)
def test_streams_of_one_source_agree(one: dict[str, Any], other: dict[str, Any], message: str) -> None:
    told = [{"time": "t", "source": "orders", **said} for said in (one, other)]
    with pytest.raises(QueryError, match=f'streams "a", "b" are one source, "orders", and {message}'):
        eddy.Query(streams=[eddy.Stream(name, **said) for name, said in zip("ab", told, strict=True)], cross=True)


def test_a_source_is_called_like_nothing_else() -> None:
    with pytest.raises(QueryError, match='source "c" is the name of a table'):
        eddy.Query(streams=[eddy.Stream("a", time="t", source="c")], tables=[eddy.Table("c")], cross=True)
    streams = [eddy.Stream("a", time="t", source="b"), eddy.Stream("b", time="t", source="c")]
    with pytest.raises(QueryError, match='source "b" is the name of a stream with another source'):
        eddy.Query(streams=streams, cross=True)


SELF_JOIN = """
    SELECT a.id, b.id AS other FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE AS a
    JOIN STREAM orders WATERMARK at DELAY OF INTERVAL {} MINUTE [RANGE 5 MINUTES] AS b ON a.user = b.friend
"""


def test_a_statement_shares_what_is_said_alike() -> None:
    alike, other = (eddy.Statement(SELF_JOIN.format(minutes)).query for minutes in (1, 2))
    assert [stream.source for stream in alike.streams] == ["orders", "orders"]
    assert [stream.source for stream in other.streams] == [None, None]
    read = eddy.Statement(alike.sql()).query
    assert read == alike
    assert [stream.source for stream in read.streams] == ["orders", "orders"]
    assert alike != replace(alike, streams=[replace(stream, source=None) for stream in alike.streams])
    assert "  a, b: one store of orders" in eddy.explain(alike)
    assert "one store" not in eddy.explain(other)


def test_a_lone_source_says_nothing_but_the_name_of_its_data() -> None:
    query = eddy.Query(streams=[eddy.Stream("a", source="orders", **TIMES)], select=["a.id"])
    assert query == eddy.Query(streams=[eddy.Stream("a", **TIMES)], select=["a.id"])
    assert eddy.run_local(query, {"orders": pa.Table.from_batches([rows(range(3))])}).results.num_rows == 3


def test_names_that_are_given_other_data_share_nothing() -> None:
    text = "SELECT a.id, b.id AS other FROM STREAM orders a JOIN STREAM orders b ON a.user = b.friend"
    asked = eddy.Statement(text, streams=[eddy.Stream("orders", time="at")])
    whole, part = (pa.Table.from_batches([rows(range(n))]) for n in (4, 2))
    assert eddy.run_local(asked, {"a": whole, "b": part}).results.num_rows == 8
    assert eddy.run_local(asked, {"orders": whole}).results.num_rows == 16
