"""Queries that cannot be answered together: one error each, which says what and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.engine import QUERIES
from eddy.engine.snapshot import Snapshot, pack, unpack
from eddy.errors import CheckpointError, QueryError
from eddy.query.together.queries import MOST_QUERIES, merge_schemas, widen
from eddy.tuples.packed import pack_rows
from eddy.wiring import Begun, Tools

SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.int64())])


def stream(name: str, **more: Any) -> eddy.Stream:
    return eddy.Stream(name, **{"time": "at", **more})


def query(name: str, *streams: eddy.Stream, **more: Any) -> eddy.Query:
    return eddy.Query(name=name, streams=streams, cross=True, **more)


ONE = query("one", stream("a"), stream("b"))
TWO = query("two", stream("b"), stream("c"))


# --- the value


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        ({}, {"time": "ts"}, "time: 'at' in \"one\", 'ts' in \"two\""),
        ({"delay": 1}, {}, 'delay: 1 in "one", None in "two"'),
        ({"delay": 1}, {"delay": "1 second"}, 'delay: 1 in "one", \'1 second\' in "two"'),
        ({"max_ahead": 5, "arrived": "got"}, {"max_ahead": 6, "arrived": "got"}, 'max_ahead: 5 in "one", 6 in "two"'),
        ({"max_ahead": 5, "arrived": "got"}, {"max_ahead": 5, "arrived": "came"}, "arrived: 'got' in \"one\""),
        ({"bad_rows": "fail"}, {}, "bad_rows: 'fail' in \"one\", 'drop' in \"two\""),
        ({"malformed": "broken"}, {}, 'malformed: \'broken\' in "one", None in "two"'),
    ],
)
def test_what_is_said_of_a_stream_agrees(one: dict[str, Any], other: dict[str, Any], message: str) -> None:
    with pytest.raises(QueryError, match=rf'queries: stream "a" differs in {message}') as caught:
        eddy.Queries([query("one", stream("a", **one)), query("two", stream("a", **other))])
    assert "attach them apart" in str(caught.value)


def test_what_is_said_in_other_words_agrees() -> None:
    alike = [query(f"q{n}", stream("a", delay=told)) for n, told in enumerate(("60 seconds", "1 minute"))]
    assert repr(eddy.Queries(alike)) == 'Queries("q0", "q1")'


def test_a_second_name_of_a_stream_agrees_as_well() -> None:
    two = query("two", stream("x", source="a", delay=2))
    with pytest.raises(QueryError, match='stream "a" differs in delay: None in "one", 2 in "two"'):
        eddy.Queries([ONE, two])


def test_what_the_set_says_of_a_stream_agrees() -> None:
    with pytest.raises(QueryError, match='stream "a" differs in delay: None in "one", 2 in streams'):
        eddy.Queries([ONE], streams=[stream("a", delay=2)])
    with pytest.raises(QueryError, match='queries: streams: stream "c" stands twice'):
        eddy.Queries([ONE], streams=[stream("c"), stream("c")])


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "queries: expected at least one query, got none"),
        ([ONE, ONE], 'queries: two are called "one"; give each Query.name=.... a name of its own'),
        ([ONE, "two"], r"queries: expected Query\(\.\.\.\), got 'two'"),
        ([ONE, stream("a")], r"queries: expected Query\(\.\.\.\), got Stream\("),
        ("one", r"queries: expected a list of Query\(\.\.\.\), got 'one'"),
        (ONE, r"queries: expected a list of Query\(\.\.\.\)"),
        ([ONE, query("other", stream("c"))], 'queries: "other" share no stream with "one", so there is nothing'),
        (
            [query(f"q{n}", stream("a")) for n in range(257)],
            "at most 256 queries, got 257; .* make these a lookup table",
        ),
    ],
)
def test_a_set_has_different_queries_over_the_same_streams(members: Any, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        eddy.Queries(members)


def test_most_queries_are_still_a_set() -> None:
    assert len(eddy.Queries([query(f"q{n}", stream("a")) for n in range(MOST_QUERIES)]).named) == MOST_QUERIES


def test_queries_may_be_linked_by_others() -> None:
    three = query("three", stream("c"))
    assert list(eddy.Queries([ONE, three, TWO]).named) == ["one", "three", "two"]


def test_a_table_does_not_link_queries() -> None:
    first, second = (query(n, stream(s), tables=[eddy.Table("t")]) for n, s in (("first", "a"), ("second", "b")))
    with pytest.raises(QueryError, match='"second" share no stream with "first"'):
        eddy.Queries([first, second])


def test_an_input_is_a_stream_or_a_table_in_all_queries() -> None:
    with pytest.raises(QueryError, match='"a" is a stream in "one", and a table in "two"; call one of them otherwise'):
        eddy.Queries([ONE, query("two", stream("b"), tables=[eddy.Table("a")])])
    with pytest.raises(QueryError, match='"t" is a stream in streams, and a table in "two"'):
        eddy.Queries([query("two", stream("b"), tables=[eddy.Table("t")])], streams=[stream("t")])


# --- data


def table(*ids: int, schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.table({f.name: pa.array(ids, f.type) for f in schema}, schema=schema)


def test_data_are_of_the_sources_and_tables() -> None:
    data = {name: table(1, 2) for name in "abc"}
    both = eddy.Queries([ONE, TWO])
    assert eddy.run_local(both, data).results["two"].num_rows == 4
    with pytest.raises(QueryError, match=r'data: unknown stream or table "d"; .*known: "a", "b", "c"'):
        eddy.run_local(both, {**data, "d": table(1)})
    with pytest.raises(QueryError, match='expected data for every stream and table, got none for "c"'):
        eddy.run_local(both, {"a": table(1), "b": table(1)})
    twice = eddy.Queries([ONE, query("two", stream("x", source="a"))])
    with pytest.raises(QueryError, match='streams "a", "x" are one source: expected its rows once, by the name "a"'):
        eddy.run_local(twice, {"a": table(1), "x": table(2), "b": table(1)})


def test_a_stream_that_nobody_reads_has_data_too() -> None:
    spare = eddy.Queries([ONE], streams=[stream("c")])
    with pytest.raises(QueryError, match='got none for "c"'):
        eddy.run_local(spare, {"a": table(1), "b": table(1)})
    assert eddy.run_local(spare, {name: table(1) for name in "abc"}).results["one"].num_rows == 1


@pytest.mark.parametrize("kind", [pa.float64(), pa.timestamp("us", "UTC"), pa.timestamp("us")])
def test_times_are_of_one_type(kind: pa.DataType) -> None:
    """Those of "one" and of "three" are never compared, and yet they share "b" with "two"."""
    other = pa.schema([("id", pa.int64()), ("at", kind)])
    three = query("three", stream("c"), stream("d"))
    data = {name: table(1, schema=other if name in "cd" else SCHEMA) for name in "abcd"}
    with pytest.raises(QueryError, match="times"):
        eddy.run_local(eddy.Queries([ONE, three, TWO]), data)
    asked = eddy.Queries([ONE, query("two", stream("b")), query("link", stream("a"), stream("b"))])
    assert eddy.run_local(asked, {"a": table(1), "b": table(1)}).results["link"].num_rows == 1


def test_whole_times_and_floats_are_other_types() -> None:
    """Beside a stream of floats the times of "b" are floats, and alone they are whole numbers."""
    floats = pa.schema([("id", pa.int64()), ("at", pa.float64())])
    data = {"a": table(1), "b": table(1), "c": table(1, schema=floats)}
    with pytest.raises(QueryError, match='the times of "one" and "two" are of other types, so they have no time in'):
        eddy.run_local(eddy.Queries([ONE, TWO]), data)


# --- the common answer


def test_columns_of_one_name_have_one_type() -> None:
    small, large = pa.schema([("v", pa.int32()), ("w", pa.string())]), pa.schema([("v", pa.int64())])
    with pytest.raises(QueryError, match='column "v" is int32 in "small" and int64 in "large"; give one of them'):
        merge_schemas({"small": small, "large": large})
    with pytest.raises(QueryError, match='"two" has a column "query", as the one that says whose row it is'):
        merge_schemas({"one": small, "two": pa.schema([("query", pa.string())])})


def test_columns_that_a_query_has_not_are_null() -> None:
    schemas = {"one": pa.schema([("v", pa.int32())]), "two": pa.schema([("w", pa.string()), ("v", pa.int32())])}
    common = merge_schemas(schemas)
    assert common.names == ["query", "v", "w"]
    rows = pa.record_batch({"v": pa.array([1, 2], pa.int32())})
    assert widen("one", rows, common).to_pylist() == [
        {"query": "one", "v": 1, "w": None},
        {"query": "one", "v": 2, "w": None},
    ]


# --- state


def engine(*queries: eddy.Query) -> Engine:
    begun = {
        one.name: Begun(query=one, schemas=dict.fromkeys([s.name for s in one.streams], SCHEMA), policy="fixed")
        for one in queries
    }
    return wiring.engine_together(begun, {}, Tools(clock=float, seed=0))


def alone(one: eddy.Query) -> Engine:
    schemas = dict.fromkeys([s.name for s in one.streams], SCHEMA)
    return wiring.engine(one, schemas, "fixed", tables={}, clock=float, seed=0)


def saved(running: Engine) -> Snapshot:
    read = {source for lane in running.lanes.values() for source in lane.binding.query.sources}
    for first in range(3):
        rows = table(first, first + 10).to_batches()[0]
        list(running.run_each(dict.fromkeys(sorted(read), rows)))
    return running.snapshot()


def test_a_state_is_of_one_query_or_of_several() -> None:
    with pytest.raises(CheckpointError, match="it belongs to one query, this start has several queries; go back"):
        engine(ONE, TWO).restore(saved(alone(ONE)))
    with pytest.raises(CheckpointError, match="it belongs to several queries, this start has one query; go back"):
        alone(ONE).restore(saved(engine(ONE)))


def test_a_query_that_has_changed_is_named() -> None:
    whole = saved(engine(ONE, TWO))
    narrow = replace(TWO, streams=[replace(one, window=eddy.Range(5)) for one in TWO.streams])
    with pytest.raises(CheckpointError, match=r'query "two": checkpoint: .*stream "b": window') as caught:
        engine(ONE, narrow).restore(whole)
    assert 'query "one"' not in str(caught.value)
    # Under another name it is another query.
    engine(ONE, replace(narrow, name="three")).restore(whole)


def test_a_state_of_others_is_a_new_beginning() -> None:
    begun = engine(TWO)
    begun.restore(saved(engine(ONE)))
    assert len(list(begun.run_each(dict.fromkeys("bc", table(1).to_batches()[0])))) == 1


@pytest.mark.parametrize("sources", ["xb", "ba"])
def test_a_stream_of_another_source_has_no_rows_to_go_on_with(sources: str) -> None:
    before, after = (
        query("one", *(stream(f"from_{n}", source=source) for n, source in enumerate(told))) for told in ("ab", sources)
    )
    whole = saved(engine(before, TWO))
    with pytest.raises(CheckpointError, match="checkpoint: "):
        engine(after, TWO).restore(whole)


Parts = dict[str, Any]

FORGED: tuple[Callable[[Parts, Parts], object], ...] = (
    lambda meta, parts: parts.update(one=7),
    lambda meta, parts: parts.update(one=[]),
    lambda meta, parts: parts["one"].pop("query"),
    lambda meta, parts: parts["two"].pop("statistics"),
    lambda meta, parts: parts["two"].update(shapes={"learned": [4]}),
    lambda meta, parts: meta.pop("batch"),
    lambda meta, parts: meta["numbers"].pop("b"),
    lambda meta, parts: meta["numbers"].update(b=7),
    lambda meta, parts: meta["numbers"]["b"].pop("arrived"),
    lambda meta, parts: meta.pop("gate"),
    lambda meta, parts: meta["gate"].update(newest=7),
)


@pytest.mark.parametrize("forge", FORGED)
def test_a_forged_state_is_refused(forge: Callable[[Parts, Parts], object]) -> None:
    meta, tables = unpack(saved(engine(ONE, TWO)))
    told = {row["query"]: json.loads(row["told"]) for row in tables[QUERIES][0].read().to_pylist()}
    forge(meta, told)
    rows = pa.record_batch({"query": [*told], "told": [json.dumps(one) for one in told.values()]})
    with pytest.raises(CheckpointError, match="checkpoint: "):
        engine(ONE, TWO).restore(pack(meta, {**tables, QUERIES: [pack_rows(rows)]}))


def test_rows_of_a_query_that_are_missing_are_noticed() -> None:
    meta, tables = unpack(saved(engine(ONE, TWO)))
    del tables["stream b"]
    with pytest.raises(CheckpointError, match="the state cannot be read"):
        engine(ONE, TWO).restore(pack(meta, tables))


def test_a_damaged_state_is_refused() -> None:
    whole = saved(engine(ONE, TWO))
    for place in range(0, len(whole.blob), 50):
        bad = bytearray(whole.blob)
        bad[place] ^= 1 << place % 8
        with pytest.raises(CheckpointError, match="the checksum does not match"):
            engine(ONE, TWO).restore(replace(whole, blob=bytes(bad)))
    assert unpack(whole)


def test_explain_says_why_functions_are_not_shared() -> None:
    """Two lambdas of one text are two functions."""
    asked = [
        replace(query(name, stream("a")), filters=[eddy.Filter("odd", on="a", function=lambda v: v % 2 == 1)])
        for name in ("one", "two")
    ]
    assert "functions one.odd, two.odd: they are other objects" in eddy.explain(eddy.Queries(asked))
    same = [replace(one, filters=asked[0].filters) for one in asked]
    assert "several queries\n  one.odd, two.odd\n" in eddy.explain(eddy.Queries(same))
