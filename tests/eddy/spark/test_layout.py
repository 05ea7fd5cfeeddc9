"""Every combination of joining rows meets in exactly one cell, whatever the joins and the values are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import cloudpickle
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.errors import CheckpointError, EngineError, QueryError
from eddy.query.binding import Binding, bind
from eddy.spark.layout.layout import Layout, check_layout
from eddy.spark.layout.planning import MOST_CELLS, plan_layout
from tests import joins, reference
from tests.tries import fewer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Ids = tuple[int, ...]

BIG = 2**53

TYPES: Mapping[str, tuple[pa.DataType, Sequence[Any]]] = {
    "i": (pa.int32(), [0, 1, 2, -1]),
    "h": (pa.int16(), [0, 1, 2, -1]),
    "l": (pa.int64(), [0, 1, 2, -1, BIG, BIG + 1]),
    "f": (pa.float32(), [0.0, -0.0, 1.0, float("nan"), 0.1]),
    "d": (pa.float64(), [0.0, -0.0, 1.0, 2.0, float("nan"), 0.1, float(BIG)]),
    "m": (pa.decimal128(10, 2), [Decimal("0.00"), Decimal("1.00"), Decimal("-1.00"), Decimal("0.10")]),
    "n": (pa.decimal128(20, 4), [Decimal("0.0000"), Decimal("1.0000"), Decimal("0.1000"), Decimal("0.0001")]),
    "w": (pa.decimal128(37, 10), [Decimal("0E-10"), Decimal("1.0000000000"), Decimal("0.1000000000")]),
    "s": (pa.string(), ["1", "01", "2", "-1", "0"]),
    "t": (
        pa.timestamp("us", "Europe/Berlin"),
        [datetime(2024, 1, 1, 23, tzinfo=UTC), datetime(2024, 1, 3, tzinfo=UTC)],
    ),
    "u": (pa.timestamp("us"), [datetime(2024, 1, 2), datetime(2024, 1, 3, 1)]),
    "e": (pa.date32(), [date(2024, 1, 2), date(2024, 1, 3)]),
}
"""Columns of every type that can be compared with another one, by a letter; few values each, so that rows join."""

KINDS = ("ihlfdmnw", "ihls", "tue", "s")
"""Types that Spark compares with each other."""

SCHEMA = pa.schema([("id", pa.int64()), ("ts", pa.int64()), *((name, kind) for name, (kind, _) in TYPES.items())])


def bound(joins: Sequence[str], schemas: Mapping[str, pa.Schema], **more: Any) -> Binding:
    """A query over streams with ids, and over the tables that begin with a `z`."""
    streams = [eddy.Stream(name, time="ts") for name in schemas if not name.startswith("z")]
    tables = [eddy.Table(name) for name in schemas if name.startswith("z")]
    select = [f"{name}.id as {name}" for name in schemas]
    return bind(eddy.Query(streams=streams, tables=tables, joins=joins, select=select, cross=True, **more), schemas)


def places(layout: Layout, rows: Mapping[str, pa.RecordBatch]) -> dict[str, dict[int, list[int]]]:
    """To which cells each row goes, by its id; one of them has the row, and the others have copies."""
    found: dict[str, dict[int, list[int]]] = {}
    for name in layout.streams:
        held = found[name] = {number: [] for number in rows[name].column("id").to_pylist()}
        counted: Counter[int] = Counter()
        for cell, part, copied in layout.place(name, rows[name]):
            assert part.num_rows
            assert part.schema == rows[name].schema
            numbers = part.column("id").to_pylist()
            assert numbers == sorted(numbers), "rows must keep the order of their source"
            copies = [False] * len(numbers) if copied is None else copied.tolist()
            for number, copy in zip(numbers, copies, strict=True):
                held[number].append(cell)
                counted[number] += not copy
        assert all(counted[number] == 1 for number in held)
    return found


def check(layout: Layout, rows: Mapping[str, pa.RecordBatch], combinations: Sequence[Ids]) -> None:
    """Every row arrives, once in a cell; every combination, given by its rows' ids, meets in exactly one cell."""
    found = places(layout, rows)
    for cells in (cells for held in found.values() for cells in held.values()):
        assert 1 <= len(cells) == len(set(cells)) <= layout.cells
        assert all(0 <= cell < layout.cells for cell in cells)
    for ids in combinations:
        held = [set(found[name][number]) for name, number in zip(layout.streams, ids, strict=True)]
        assert len(set.intersection(*held)) == 1


def numbered(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    numbers = pa.array(range(len(rows)), pa.int64())
    plain = pa.Table.from_pylist(list(rows), schema=pa.schema([f for f in schema if f.name != "id"]))
    columns = [plain.column(f.name).combine_chunks() if f.name != "id" else numbers for f in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def weights(names: Sequence[str]) -> st.SearchStrategy[dict[str, float]]:
    return st.fixed_dictionaries({}, optional=dict.fromkeys(names, st.sampled_from([0, 1, 5, 1000.0])))


# --- any query of the "same answer" suite


@given(
    case=joins.cases(late=False, by_rows=False),
    cells=st.integers(1, 12),
    data=st.data(),
)
def test_what_joins_meets_in_exactly_one_cell(case: joins.Case, cells: int, data: st.DataObject) -> None:
    query = case.query()
    schemas = {name: pa.schema([pa.field("id", pa.int64()), *case.schema(name)]) for name in case.inputs}
    sizes = data.draw(weights(list(case.streams)))
    layout = plan_layout(bind(query, schemas), cells, sizes=sizes)
    question = case.question()
    question = reference.Question(
        streams=question.streams,
        conditions=question.conditions,
        select=[(name, "id") for name in case.streams],
        tables=question.tables,
    )
    with_ids = {name: [{"id": number, **row} for number, row in enumerate(case.rows[name])] for name in case.streams}
    combinations = reference.answer(question, [with_ids])
    rows = {name: numbered(case.rows[name], schemas[name]) for name in case.streams}
    check(layout, rows, list(combinations))


# --- values of any types, compared with each other as Spark does


@st.composite
def comparisons(draw: st.DrawFn, left: str, right: str) -> str:
    kind = draw(st.sampled_from(KINDS))
    one, other = draw(st.sampled_from(kind)), draw(st.sampled_from(kind))
    shift = " + 1" if kind == KINDS[0] and draw(st.integers(0, 3)) == 0 else ""
    return f"{left}.{one}{shift} = {right}.{other}"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Inputs and their equalities: chains, stars, cycles, several between two inputs, also through tables."""
    names = draw(
        st.sampled_from([["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"], ["a", "b", "z"], ["a", "b", "c", "z"]])
    )
    texts = [draw(comparisons(draw(st.sampled_from(names[:n])), name)) for n, name in enumerate(names[1:], 1)]
    texts += [draw(comparisons(*draw(st.permutations(names))[:2])) for _ in range(draw(st.integers(0, 2)))]
    return names, list(dict.fromkeys(texts))


def records(size: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    columns = {name: st.none() | st.sampled_from(values) for name, (_, values) in TYPES.items()}
    return st.lists(st.fixed_dictionaries({"ts": st.just(0), **columns}), max_size=size)


@fewer(2)
@given(graph=graphs(), cells=st.integers(2, 12), data=st.data())
def test_values_that_the_engine_calls_equal_lead_to_one_cell(
    graph: tuple[list[str], list[str]], cells: int, data: st.DataObject
) -> None:
    names, texts = graph
    rows = {name: numbered(data.draw(records(12)), SCHEMA) for name in names}
    binding = bound(texts, dict.fromkeys(names, SCHEMA))
    layout = plan_layout(binding, cells, sizes=data.draw(weights([n for n in names if n != "z"])))
    results = eddy.run_local(binding.query, {name: pa.Table.from_batches([batch]) for name, batch in rows.items()})
    columns = [results.results.column(name).to_pylist() for name in layout.streams]
    check(layout, rows, list(set(zip(*columns, strict=True))))


@pytest.mark.parametrize("texts", [["a.l = b.i", "a.l = c.d"], ["a.l = c.d", "a.l = b.i"], ["a.l = c.d", "b.l = c.d"]])
def test_large_numbers_that_are_equal_as_doubles_lead_to_one_cell(texts: list[str]) -> None:
    """2^53 and 2^53 + 1 are two bigints, and one double."""
    numbers = [{"ts": 0, "l": BIG + n, "d": float(BIG + n)} for n in range(40)]
    rows = dict.fromkeys("abc", numbered(numbers, SCHEMA))
    pairs = [(a, c) for a in range(40) for c in range(40) if float(BIG + a) == float(BIG + c)]
    found = places(plan(texts, cells=64), rows)
    assert len(pairs) > 40
    assert all(found["a"][a] == found["c"][c] for a, c in pairs)


# --- heavy values


@fewer(2)
@given(rows=st.tuples(records(12), records(12), records(12)), cells=st.integers(2, 12), data=st.data())
def test_heavy_values_are_divided_and_still_meet_once(
    rows: tuple[list[dict[str, Any]], ...], cells: int, data: st.DataObject
) -> None:
    texts = data.draw(st.sampled_from([["a.l = b.d", "b.d = c.i"], ["a.l = b.l and a.s = b.s", "b.i = c.i"]]))
    chosen = data.draw(st.permutations([0, 1, 2, -1]))
    heavy = {"a.l": chosen[:2], "b.i" if len(texts[0]) > 9 else "b.d": chosen[2:]}
    batches = {name: numbered(part, SCHEMA) for name, part in zip("abc", rows, strict=True)}
    binding = bound(texts, dict.fromkeys("abc", SCHEMA))
    layout = plan_layout(binding, cells, heavy=heavy)
    results = eddy.run_local(binding.query, {name: pa.Table.from_batches([batch]) for name, batch in batches.items()})
    columns = [results.results.column(name).to_pylist() for name in layout.streams]
    check(layout, batches, list(set(zip(*columns, strict=True))))


def one_key(size: int, key: int) -> pa.RecordBatch:
    return numbered([{"ts": n, "i": key, "l": n, "s": str(n)} for n in range(size)], SCHEMA)


def test_a_heavy_value_is_spread_over_all_cells() -> None:
    binding = bound(["a.i = b.i"], {"a": SCHEMA, "b": SCHEMA})
    rows = {"a": one_key(4_000, 7), "b": one_key(3, 7)}
    light = plan_layout(binding, 4)
    assert [part.num_rows for _, part, _ in light.place("a", rows["a"])] == [4_000]
    layout = plan_layout(binding, 4, heavy={"a.i": [7]})
    assert all(900 < part.num_rows < 1_100 for _, part, _ in layout.place("a", rows["a"]))
    copied = [(cell, part.num_rows) for cell, part, _ in layout.place("b", rows["b"])]
    assert copied == [(cell, 3) for cell in range(4)]
    check(layout, rows, [(a, b) for a in range(4_000) for b in range(3)])


def test_a_row_with_two_heavy_values_is_treated_by_the_first() -> None:
    binding = bound(["a.i = b.i and a.l = b.l"], {"a": SCHEMA, "b": SCHEMA})
    rows = dict.fromkeys("ab", numbered([{"ts": n, "i": 7, "l": 8} for n in range(30)], SCHEMA))
    layout = plan_layout(binding, 5, heavy={"a.i": [7], "b.l": [8]})
    check(layout, rows, [(a, b) for a in range(30) for b in range(30)])
    assert {len(cells) for cells in places(layout, rows)["a"].values()} == {1}
    assert {len(cells) for cells in places(layout, rows)["b"].values()} == {5}


@pytest.mark.parametrize(
    ("heavy", "text"),
    [
        ({"a.j": [1]}, 'heavy: unknown key "a.j"; did you mean "a.i"? known: "a.i", "b.l"'),
        ({"a.i": ["x"]}, """heavy: "a.i": expected values that are compared as int64, got ['x']"""),
        ({"a.i": [1], "b.l": [2, 1]}, 'heavy: "b.l" and "a.i" are one join key and name one value'),
    ],
)
def test_a_wrong_heavy_value_is_refused(heavy: dict[str, list[Any]], text: str) -> None:
    binding = bound(["a.i = b.l"], {"a": SCHEMA, "b": SCHEMA})
    with pytest.raises(QueryError) as caught:
        plan_layout(binding, 4, heavy=heavy)
    assert text in str(caught.value)


# --- what a plan is


def plan(joins: Sequence[str], names: str = "abc", cells: int = 8, **more: Any) -> Layout:
    return plan_layout(bound(joins, dict.fromkeys(names, SCHEMA)), cells, **more)


@pytest.mark.parametrize(
    ("texts", "names", "copies"),
    [
        (["a.i = b.i", "b.i = c.i"], "abc", (1, 1, 1)),
        (["a.i = b.l", "b.l = c.d"], "abc", (1, 1, 1)),
        (["a.m = b.n", "b.n = c.w"], "abc", (1, 1, 1)),
        (["a.i = z.l", "b.i = z.l"], "abz", (1, 1)),
        (["a.i = b.i and a.s = b.s"], "ab", (1, 1)),
        (["a.i = b.i", "b.i = c.i", "a.s = b.s"], "abc", (1, 1, 1)),
        ([], "a", (1,)),
        (["a.i = b.i", "b.s = c.s", "c.d = a.d"], "abc", (2, 2, 2)),
        (["a.i < b.i"], "ab", (4, 2)),
        (["a.s = b.s", "a.s = b.i", "b.i = c.i"], "abc", (4, 1, 2)),
    ],
)
def test_copies_follow_from_the_join_graph(texts: list[str], names: str, copies: tuple[int, ...]) -> None:
    layout = plan(texts, names)
    assert layout.cells == 8
    assert tuple(layout.replication().values()) == copies


def test_sizes_decide_what_is_copied() -> None:
    chain = ["a.i = b.i", "b.s = c.s"]
    assert plan(chain, sizes={"a": 1_000, "b": 1_000}).replication() == {"a": 1, "b": 1, "c": 8}
    assert plan(chain, sizes={"c": 5_000}).replication() == {"a": 8, "b": 1, "c": 1}


def test_the_user_s_number_comes_before_the_default() -> None:
    binding = bound(["a.i = b.i"], {"a": SCHEMA, "b": SCHEMA})
    assert plan_layout(binding, None, default=3).cells == 3
    assert plan_layout(binding, 2, default=3).cells == 2
    assert plan_layout(binding, None).cells == 1


def windows_of_rows(joins: Sequence[str]) -> Binding:
    streams = [
        eddy.Stream("a", time="ts", window=eddy.Rows(3)),
        eddy.Stream("b", time="ts"),
        eddy.Stream("c", time="ts"),
    ]
    query = eddy.Query(streams=streams, joins=joins, select=["a.id"])
    return bind(query, dict.fromkeys("abc", SCHEMA))


def test_a_window_of_rows_needs_one_cell_or_one_key() -> None:
    assert plan_layout(windows_of_rows(["a.i = b.i", "b.i = c.i"]), 4).cells == 4
    apart = windows_of_rows(["a.i = b.i", "b.s = c.s"])
    assert plan_layout(apart, None, default=4).cells == 1
    assert plan_layout(apart, 1).cells == 1
    with pytest.raises(QueryError) as caught:
        plan_layout(apart, 4)
    assert str(caught.value) == (
        'cells: "a" with a window of rows needs one cell, a key that all streams\' joins share, or a window of the '
        "newest rows by its columns in the joins, got 4 cells; ask for one cell, or use a window by time"
    )


def windows_by_value(joins: Sequence[str], by: Sequence[str]) -> Binding:
    streams = [eddy.Stream("a", time="ts", window=eddy.Rows(2, by=by)), *(eddy.Stream(n, time="ts") for n in "bc")]
    return bind(eddy.Query(streams=streams, joins=joins, select=["a.id"], cross=True), dict.fromkeys("abc", SCHEMA))


@given(
    joins=st.lists(comparisons("a", "b") | comparisons("a", "c") | comparisons("b", "c"), min_size=1, max_size=3),
    by=st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=3, unique=True),
    cells=st.integers(2, 12),
    data=st.data(),
)
def test_rows_of_one_value_stay_together(joins: list[str], by: list[str], cells: int, data: st.DataObject) -> None:
    # The number is a default, so that there is one cell where rows of one value would be divided.
    layout = plan_layout(windows_by_value([*dict.fromkeys(joins)], by), None, default=cells)
    records = data.draw(st.lists(st.fixed_dictionaries({n: st.sampled_from(v) for n, (_, v) in TYPES.items()})))
    rows = numbered([{"ts": 0, **record} for record in records], SCHEMA)
    found = places(layout, {"a": rows, "b": rows, "c": rows})["a"]
    together: dict[tuple[Any, ...], set[tuple[int, ...]]] = {}
    for number, record in enumerate(records):
        value = tuple(reference.plain(record[name]) for name in by)
        together.setdefault(value, set()).add(tuple(sorted(found[number])))
    assert all(len(cells) == 1 for cells in together.values())


def test_a_window_by_the_keys_of_joins_may_have_many_cells() -> None:
    assert plan_layout(windows_by_value(["a.i = b.i", "b.s = c.s"], ["i"]), 4).cells > 1
    assert plan_layout(windows_by_value(["a.i = b.i", "b.s = c.s"], ["s"]), None, default=4).cells == 1
    assert plan_layout(windows_by_value(["a.i + 1 = b.i", "b.i = c.i"], ["i", "l"]), 4).cells == 4
    # The rows of c are divided one by one; a has them all.
    assert plan_layout(windows_by_value(["a.i = b.i"], ["i"]), 4).cells == 4
    with pytest.raises(QueryError, match=r'heavy: "a\.i": rows of one value of "a" stay'):
        plan_layout(windows_by_value(["a.i = b.i", "b.i = c.i"], ["i"]), 4, heavy={"a.i": [7]})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"cells": 0}, f"cells: expected a whole number from 1 to {MOST_CELLS:,}, got 0"),
        ({"cells": True}, "cells: expected a whole number"),
        ({"cells": 2.5}, "cells: expected a whole number"),
        ({"cells": 5_000}, "cells: expected a whole number"),
        ({"cells": 2, "sizes": {"z": 1}}, 'sizes: unknown stream "z"'),
        ({"cells": 2, "sizes": {"a": -1}}, 'sizes: "a": expected a number of 0 or more, got -1'),
        ({"cells": 2, "sizes": {"a": float("nan")}}, 'sizes: "a": expected a number of 0 or more, got nan'),
    ],
)
def test_a_wrong_wish_is_refused(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(QueryError) as caught:
        plan_layout(bound(["a.i = b.i"], {"a": SCHEMA, "b": SCHEMA}), **arguments)
    assert text in str(caught.value)


def test_rows_of_another_schema_are_refused() -> None:
    with pytest.raises(EngineError) as caught:
        plan(["a.i = b.i"], "ab").place("a", pa.record_batch({"i": [1]}))
    assert 'layout: rows of "a": expected the columns' in str(caught.value)


def test_a_row_that_joins_nothing_goes_to_one_cell_and_they_to_all() -> None:
    layout = plan(["a.i = b.i", "b.s = c.s"])
    lost = numbered([{"ts": n, "s": str(n)} for n in range(1_000)], SCHEMA)
    found = list(places(layout, dict.fromkeys("abc", lost))["a"].values())
    assert all(len(cells) == 1 for cells in found)
    assert {cell for (cell,) in found} == set(range(8))


def test_a_text_says_what_people_want_to_know() -> None:
    assert plan([], "a", 1).text() == "1 cell"
    assert plan(["a.i = b.i"], "ab").text() == "8 cells: 8 by a.i = b.i"
    layout = plan(["a.i = b.i", "b.s = c.s"], sizes={"a": 2}, heavy={"a.i": [7]})
    assert layout.text().splitlines() == [
        "8 cells: 4 by a.i = b.i, 2 by b.s = c.s",
        "  a: 2 copies of each row",
        "  c: 4 copies of each row",
        "  a: rows with 1 heavy value of a.i = b.i are divided by the row, and the rows that they join are copied",
    ]


# --- what must stay the same for ever


def test_a_layout_is_a_plain_value() -> None:
    layout = plan(["a.i = b.i", "b.s = c.s"], heavy={"a.i": [7]})
    rows = one_key(50, 7)
    layout.place("a", rows)
    again = cloudpickle.loads(cloudpickle.dumps(layout))
    assert again == layout
    for one, other in zip(again.place("a", rows), layout.place("a", rows), strict=True):
        assert (one.cell, one.rows) == (other.cell, other.rows)
        assert (one.copied is None) == (other.copied is None)
    check_layout(json.loads(json.dumps(layout.describe())), layout.describe())


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (plan(["a.i = b.i"], "ab", 4), "cells: the checkpoint has 8, this start has 4"),
        (plan(["a.l = b.i"], "ab"), 'divided by "a.i = b.i": the checkpoint has 8 parts, this start has nothing'),
        (
            plan(["a.i = b.i"], "ab", heavy={"a.i": [7]}),
            'divided by "a.i = b.i": heavy values of "a", key 0: the checkpoint has nothing, this start has 7',
        ),
        (
            plan(["a.i = b.i", "b.s = c.s"]),
            'divided by "b.s = c.s": stream "c": the checkpoint has nothing, this start has c.s',
        ),
    ],
)
def test_another_layout_is_refused_by_name(other: Layout, text: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        check_layout(plan(["a.i = b.i"], "ab").describe(), other.describe())
    assert text in str(caught.value)
    assert "begin a new checkpoint" in str(caught.value)


GOLDEN = {
    "i": [7, 4, 4, 7],
    "d": [7, 7, 4, 0, 6, 7, 5],
    "n": [7, 4, 1, 4],
    "s": [3, 2, 4, 6, 7],
}
"""The cells of 8 to which one row of each type goes. A change here moves rows of checkpoints that exist."""


@pytest.mark.parametrize("letter", GOLDEN)
def test_rows_do_not_move_from_one_version_to_the_next(letter: str) -> None:
    rows = numbered([{"ts": n, letter: value} for n, value in enumerate(TYPES[letter][1])], SCHEMA)
    found = places(plan([f"a.{letter} = b.{letter}"], "ab"), {"a": rows, "b": rows})["a"]
    assert [cell for (cell,) in found.values()] == GOLDEN[letter]


SHOW = """
import json
from tests.eddy.spark.test_layout import one_key, plan
from tests.tries import fewer
layout = plan(["a.s = b.s", "b.s = c.s", "a.l = c.l", "a.d = b.i", "b.i = c.d", "c.d = a.i"])
rows = one_key(40, 3)
placed = {name: [(cell, part.column("id").to_pylist()) for cell, part, _ in layout.place(name, rows)] for name in "abc"}
print(json.dumps([layout.describe(), placed]))
"""


@pytest.mark.process
def test_every_process_places_rows_alike() -> None:
    shown = {
        subprocess.run(
            [sys.executable, "-c", SHOW],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": n},
        ).stdout
        for n in ("1", "2", "3")
    }
    assert len(shown) == 1


# --- Spark has the last word


def test_rows_that_spark_joins_meet_in_one_cell(spark: SparkSession) -> None:
    pairs = [(one, other) for kind in KINDS for n, one in enumerate(kind) for other in kind[n:]]
    values = [{"ts": 0, letter: value} for letter, (_, column) in TYPES.items() for value in column]
    # The zone of the session, which decides when a day begins.
    schema = SCHEMA.set(SCHEMA.get_field_index("t"), pa.field("t", pa.timestamp("us", "UTC")))
    rows = numbered(values, schema)
    left = spark.createDataFrame(pa.Table.from_batches([rows]))
    left.createOrReplaceTempView("a")
    left.createOrReplaceTempView("b")
    asked = " union all ".join(
        f"select '{x} {y}' as pair, a.id as a, b.id as b from a join b on a.{x} = b.{y}"
        for x, y in dict.fromkeys(pairs)
    )
    joined: dict[str, list[Ids]] = {}
    for pair, one, other in spark.sql(asked).collect():
        joined.setdefault(pair, []).append((one, other))
    assert len(joined) > 30
    for pair, ids in joined.items():
        x, y = pair.split()
        layout = plan_layout(bound([f"a.{x} = b.{y}"], {"a": schema, "b": schema}), 11)
        check(layout, {"a": rows, "b": rows}, ids)


def test_every_part_of_three_dimensions_is_a_cell_of_its_own() -> None:
    joins_of_a_ring = ["a.x = b.x", "b.y = c.y", "c.z = a.z"]
    asked = eddy.Query(streams=[eddy.Stream(s, time="ts", window=eddy.Range(9)) for s in "abc"], joins=joins_of_a_ring)
    numbers = pa.array(range(300), pa.int64())
    rows = pa.record_batch(dict.fromkeys(("ts", "x", "y", "z"), numbers))
    layout = plan_layout(bind(asked, dict.fromkeys("abc", rows.schema)), 8)
    used = [{cell for cell, _, _ in layout.place(name, rows)} for name in "abc"]
    assert used == [set(range(8))] * 3
