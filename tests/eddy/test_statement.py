"""A statement says what a query says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle
from time import perf_counter
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.errors import QueryError
from eddy.tuples.arrow import one_batch
from tests import joins, reference
from tests.eddy.test_joins import answered, batches
from tests.joins import Case
from tests.policies.checks import steady_clock
from tests.tries import fewer

SPARKS = """
    SELECT /*+ POLICY(content), CELLS(4) */ o.id, c.page AS p, u.country
    FROM STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE [RANGE 10 MINUTES] AS o
    JOIN STREAM clicks WATERMARK at DELAY OF INTERVAL 1 MINUTE AS c
      ON o.user = c.user AND c.at BETWEEN o.at - INTERVAL 5 MINUTES AND o.at
    JOIN users AS u ON u.id = o.user
    LEFT ANTI JOIN banned ON banned.id = u.id
    WHERE o.price > 100 AND suspicious(c.body) AND (o.x = 1 OR c.y = 2)
"""


def suspicious(body: pd.Series) -> Any:
    return body.str.contains("=")


def test_a_statement_is_the_query_that_lists_say() -> None:
    asked = eddy.Statement(SPARKS, functions={"suspicious": suspicious})
    assert asked.sources == {"o": "orders", "c": "clicks", "u": "users", "banned": "banned"}
    assert asked.hints == {"policy": "content", "cells": "4"}
    assert asked.query == eddy.Query(
        streams=[
            eddy.Stream("o", time="at", window=eddy.Range("600 seconds"), delay="60 seconds"),
            eddy.Stream("c", time="at", delay="1 minute"),
        ],
        tables=[eddy.Table("u"), eddy.Table("banned")],
        joins=[
            "o.x = 1 or c.y = 2",
            "u.id=o.user and o.user = c.user",
            "c.at between o.at - interval 5 minutes and o.at",
        ],
        anti=["banned.id = u.id"],
        filters=[
            eddy.Filter("price_" + asked.query.filters[0].name[-4:], on="o", where="price>100"),
            eddy.Filter("suspicious", on="c", function=suspicious, columns=["body"]),
        ],
        select=["o.id", "c.page AS p", "u.country"],
    )


def plain(case: Case) -> Case:
    """The case with filters that SQL can say, each once: an AND at the top of one makes two, and a join again none."""
    known = {join.sql for join in case.joins}
    texts = {f.condition.sql: f for f in case.filters if " and " not in f.condition.sql.lower()}
    texts = {text: f for text, f in texts.items() if text not in known}
    kept = [replace(f, form=None, on_error="fail", way="as it is") for f in texts.values()]
    return replace(case, filters=kept, after={})


CASES = (joins.cases() | joins.cases(crowded=True)).flatmap(lambda one: st.just(one) | joins.asking(one)).map(plain)


@fewer(2)
@given(case=CASES)
def test_random_queries_are_written_and_read_back(case: Case) -> None:
    asked = case.query()
    read = eddy.Statement(asked.sql(), streams=asked.streams)
    assert replace(read.query, cross=True) == asked
    assert eddy.Statement(read.query.sql(), streams=asked.streams).query == read.query
    # What is written once is written so again.
    assert read.query.sql() == asked.sql()
    run = eddy.iter_local(read, case.data(), batch_rows=case.batch_rows)
    assert answered(run, run.schema) == reference.answer(case.question(), case.batches())


ORDERS = pa.table({"id": [1, 2, 3], "user": [1, 2, 1], "price": [50, 150, 200], "at": [1, 2, 3]})
CLICKS = pa.table({"user": [1, 2, 2], "page": ["a", "b", "c"], "when": [2, 2, 9]})
USERS = pd.DataFrame({"id": [1, 2], "country": ["de", "fr"]})
STREAMS = [eddy.Stream("orders", time="at"), eddy.Stream("clicks", time="when")]
DATA = {"orders": ORDERS, "clicks": iter([CLICKS.slice(0, 2), CLICKS.slice(2)]), "u": USERS}


def answer(text: str, data: dict[str, Any], **more: Any) -> list[tuple[Any, ...]]:
    streams = [one for one in STREAMS if f"STREAM {one.name}" in text]
    found = eddy.run_local(eddy.Statement(text, streams=streams, **more), data).results
    return sorted(tuple(row.values()) for row in found.to_pylist())


def test_bare_columns_are_found_in_the_data() -> None:
    text = """
        SELECT o.id AS order_id, page, u.* FROM STREAM orders o JOIN STREAM clicks USING (user)
        JOIN users AS u ON u.id = o.user WHERE price > 100 AND is_short(page)
    """
    data = {**DATA, "clicks": iter([CLICKS.slice(0, 2), CLICKS.slice(2)])}
    found = answer(text, data, functions={"is_short": lambda page: page != "c"})
    assert found == [(2, "b", 2, "fr"), (3, "a", 1, "de")]


def test_every_column_has_the_name_that_spark_gives_it() -> None:
    run = eddy.run_local(eddy.Statement("SELECT * FROM STREAM orders WHERE price > 100"), {"orders": ORDERS})
    assert run.results.to_pylist() == ORDERS.slice(1).to_pylist()


@pytest.mark.parametrize(
    ("text", "emit"),
    [
        ("ISTREAM(SELECT a FROM {})", "begin"),
        ("SELECT RSTREAM(a) FROM {} [NOW]", "begin"),
        ("SELECT DSTREAM(a) FROM {} [ROWS 1]", "end"),
        ("DSTREAM(SELECT a FROM {} [RANGE 1 DAY] AS y WHERE a > 1);", "end"),
        ("RSTREAM(SELECT a FROM {} [ROWS 1]) EVERY INTERVAL 90 SECONDS", eddy.Every("90 seconds")),
        ("SELECT RSTREAM(a) EVERY 1 MINUTE FROM {}", eddy.Every("1 minute")),
        ("SELECT RSTREAM(a) EVERY 5 FROM {}", eddy.Every(5)),
        ("RSTREAM(SELECT a FROM {}) EVERY 2.5;", eddy.Every(2.5)),
    ],
)
def test_when_combinations_are_told(text: str, emit: str | eddy.Every) -> None:
    asked = eddy.Statement(text.format(TIMED)).query
    assert asked.emit == emit
    assert eddy.Statement(asked.sql(), streams=asked.streams).query == asked


@pytest.mark.parametrize(
    ("every", "said"),
    [
        ("INTERVAL 5 MINUTES", "times are a number, so the length of EVERY must be a number; got '5 minutes'"),
        ("0.5", "times are whole numbers, so the length of EVERY must be one; got 0.5"),
    ],
)
def test_ticks_of_another_kind_are_told_at_their_place(every: str, said: str) -> None:
    told = eddy.Stream("orders", time="at", delay=1)
    asked = eddy.Statement(f"RSTREAM(SELECT id FROM STREAM orders) EVERY {every}", streams=[told])
    with pytest.raises(QueryError, match=rf"^statement: {said}\n(.|\n)*\^") as caught:
        eddy.run_local(asked, {"orders": ORDERS})
    _, line, mark = str(caught.value).split("\n")
    assert line[mark.index("^") :].startswith("EVERY")


def test_times_as_timestamps_want_a_duration() -> None:
    asked = eddy.Statement("RSTREAM(SELECT id FROM STREAM o) EVERY 5", streams=[eddy.Stream("o", time="at", delay=1)])
    moments = pa.table({"id": [1], "at": pa.array([1], pa.timestamp("us", "UTC"))})
    with pytest.raises(QueryError, match="must be a duration such as INTERVAL 30 SECONDS; got 5"):
        eddy.run_local(replace(asked, streams=[eddy.Stream("o", time="at", delay="1 second")]), {"o": moments})


def test_every_may_be_a_name() -> None:
    assert answer("SELECT every.id FROM STREAM orders EVERY WHERE every.id > 2", {"orders": ORDERS}) == [(3,)]


def test_what_is_said_of_no_input_is_refused() -> None:
    with pytest.raises(QueryError, match='statement: streams: unknown input "order"; did you mean "orders"'):
        eddy.Statement("SELECT id FROM STREAM orders AS o", streams=[eddy.Stream("order", time="at")])


def test_one_source_under_two_names() -> None:
    text = """
        SELECT a.id AS first, b.id AS second FROM STREAM orders a
        JOIN STREAM orders b ON a.user = b.user AND a.id < b.id
    """
    assert answer(text, {"orders": ORDERS}) == [(1, 3)]
    assert answer(text, {"orders": iter([ORDERS])}) == [(1, 3)]
    assert answer(text, {"orders": [ORDERS]}) == [(1, 3)]
    assert answer(text, {"a": ORDERS, "b": ORDERS.slice(0, 2)}) == []
    told = [eddy.Stream("a", time="at", delay=1), eddy.Stream("b", time="at", delay=2)]
    with pytest.raises(QueryError, match='it is iterated over once, and the statement has it as "a"'):
        eddy.run_local(eddy.Statement(text, streams=told), {"orders": iter([ORDERS])})


def test_the_policy_of_a_hint_counts_where_nobody_names_one() -> None:
    asked = eddy.Statement("SELECT /*+ POLICY(nothing) */ id FROM STREAM orders WHERE price > 1 AND id > 1")
    with pytest.raises(QueryError, match="nothing"):
        eddy.run_local(asked, {"orders": ORDERS})
    assert eddy.run_local(asked, {"orders": ORDERS}, policy="fixed").results.num_rows == 2


def test_what_is_said_twice_must_be_the_same() -> None:
    text = "SELECT id FROM STREAM orders WATERMARK at DELAY OF INTERVAL 60 SECONDS [RANGE 2 MINUTES]"
    same = eddy.Stream("orders", time="at", delay="1 minute", window=eddy.Range("120 seconds"), bad_rows="fail")
    assert eddy.Statement(text, streams=[same]).query.streams == (same,)
    for other, said in [
        (replace(same, time="when"), "time: the statement says at, streams= says when"),
        (replace(same, delay="2 minutes"), "delay: the statement says 1 minute, streams= says 2 minutes"),
        (
            replace(same, window=eddy.Rows(3)),
            r"window: the statement says Range\('2 minutes'\), streams= says Rows\(3\)",
        ),
    ]:
        with pytest.raises(QueryError, match=f'stream "orders": {said}; leave one out\n'):
            _ = eddy.Statement(text, streams=[other]).query


def test_a_checkpoint_goes_on_in_other_words() -> None:
    data = {"o": [ORDERS.slice(n, 1) for n in range(3)], "c": [CLICKS.slice(n, 1) for n in range(3)]}
    lists = eddy.Query(
        streams=[
            eddy.Stream("o", time="at", window=eddy.Range(20), delay=5),
            eddy.Stream("c", time="when", window=eddy.Range(20), delay=5),
        ],
        joins=["o.user=c.user and c.when between o.at and o.at+100"],
        filters=[eddy.Filter("dear", on="o", where="price>=50")],
        select=["o.id", "c.page"],
    )
    text = """
        SELECT /*+ NAMED(price_0af1, dear) */ id, c.page FROM STREAM o [RANGE 20] JOIN STREAM c [RANGE 20] USING (user)
        WHERE c.when >= o.at AND c.when <= o.at + 100 AND o.price >= 50
    """
    streams = [replace(one, window=eddy.Unbounded()) for one in lists.streams]
    columns = {"o": ORDERS.schema.names, "c": CLICKS.schema.names}
    said = eddy.Statement(text, streams=streams).with_columns(columns).query
    assert [f.name for f in said.filters] == ["dear"]
    schemas = {"o": ORDERS.schema, "c": CLICKS.schema}
    whole = eddy.run_local(lists, data).results.num_rows
    for first, second in [(lists, said), (said, lists)]:
        found, state = 0, None
        for number, query in enumerate((first, second, first)):
            engine = wiring.engine(query, schemas, "fixed", tables={}, clock=perf_counter, seed=0)
            if state is not None:
                engine.restore(state)
            batch = {name: parts[number].combine_chunks().to_batches()[0] for name, parts in data.items()}
            found += sum(part.num_rows for part in engine.run(batch))
            state = engine.snapshot()
        assert found == whole > 0


@fewer(4)
@given(case=CASES, stops=st.sets(st.integers(0, 20), max_size=4), is_said_first=st.booleans())
def test_a_checkpoint_of_lists_goes_on_as_a_statement_and_back(
    case: Case, stops: set[int], *, is_said_first: bool
) -> None:
    lists = case.query()
    said = eddy.Statement(lists.sql(), streams=lists.streams).query
    turns = cycle([said, lists] if is_said_first else [lists, said])
    tables = {name: one_batch(name, table) for name, table in case.data().items() if name not in case.streams}
    schemas = {name: case.schema(name) for name in case.streams}
    start = partial(wiring.engine, schemas=schemas, tables=tables, clock=steady_clock(), seed=0, index=case.index)

    def run() -> Iterator[pa.RecordBatch]:
        running = start(next(turns), policy="fixed")
        for number, batch in enumerate(batches(case)):
            if number in stops:
                state = running.snapshot()
                running = start(next(turns), policy="fixed")
                running.restore(state)
            yield from running.run(batch)

    schema = start(lists, policy="fixed").schema
    assert answered(run(), schema) == reference.answer(case.question(), case.batches())


def test_filters_keep_their_names_when_others_come_and_go() -> None:
    some = eddy.Statement("SELECT id FROM STREAM o WHERE price > 100 AND id < 5").query.filters
    more = eddy.Statement("SELECT id FROM STREAM o WHERE at = 1 AND price >  100 AND price > 200").query.filters
    assert some[0] == more[1]
    assert len({f.name for f in (*some, *more)}) == 4
    assert all(f.name.startswith("price_") for f in more[1:])


def test_the_same_condition_twice_is_asked_once() -> None:
    assert len(eddy.Statement("SELECT id FROM STREAM o WHERE id > 1 AND o.id>1").query.filters) == 1


def test_functions_are_asked_as_they_say() -> None:
    @eddy.predicate(name="is_big", rowwise=True, on_error="drop")
    def big(price: int, more: int) -> bool:
        return price > more

    (found,) = eddy.Statement("SELECT id FROM STREAM o WHERE f(o.price, `id`)", functions={"f": big}).query.filters
    assert found == eddy.Filter("is_big", on="o", function=big, columns=["price", "id"], rowwise=True, on_error="drop")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (eddy.Query(streams=[eddy.Stream("a")]), "expected select, since a statement lists its columns"),
        (
            eddy.Query(
                streams=[eddy.Stream("a")], select=["a.v"], filters=[eddy.Filter("f", on="a", function=suspicious)]
            ),
            'filter "f": a statement calls a function by its name',
        ),
        (
            eddy.Query(
                streams=[eddy.Stream("a")],
                select=["a.v"],
                filters=[eddy.Filter("f", on="a", where="v", on_error="drop")],
            ),
            'filter "f": a statement can say its condition only',
        ),
    ],
)
def test_what_a_statement_cannot_say(query: eddy.Query, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        query.sql()


TIMED = "STREAM x WATERMARK t DELAY OF INTERVAL 1 DAY"

REFUSED = [
    ("", 'expected "SELECT"'),
    ("SELECT", "expected an expression after SELECT"),
    ("SELECT a", 'expected "FROM"'),
    ("SELECT a FROM", "expected a name"),
    ("SELECT a FROM x", "expected a stream; write STREAM before the name of one"),
    ("SELECT a + 1 FROM STREAM x", "no column of it is found; write each with its input before it"),
    ("SELECT DISTINCT a FROM STREAM x", "DISTINCT without a time"),
    ("SELECT x.a FROM STREAM x GROUP BY x.a", "GROUP BY without a time: no group ever closes"),
    ("SELECT x.a FROM STREAM x GROUP BY", "expected an expression after GROUP BY"),
    ("SELECT a FROM STREAM x WHERE count(a) > 1", '"count" is an aggregate function'),
    ("SELECT a FROM STREAM x HAVING a > 1", "HAVING goes with GROUP BY; a condition on rows stands in WHERE"),
    ("SELECT a FROM STREAM x ORDER BY a", "ORDER: a stream has no last row"),
    ("SELECT a FROM STREAM x WHERE a > 1 LIMIT 5", "LIMIT: a stream has no first rows"),
    ("SELECT a FROM STREAM x UNION ALL SELECT a FROM y", "UNION: write a statement for each part"),
    ("WITH y AS (SELECT a + 1 FROM z) SELECT a FROM STREAM x", "selects, projects and filters one"),
    ("WITH y (SELECT a FROM x) SELECT a FROM STREAM x", 'expected "AS" after "y"'),
    ("WITH y AS (SELECT a FROM x), Y AS (SELECT b FROM x) SELECT a FROM y", 'two of them are called "Y"'),
    ("WITH y AS (SELECT a FROM x GROUP BY a) SELECT a FROM y", "selects, projects and filters one"),
    ("SELECT a FROM (SELECT a FROM STREAM x) WHERE b > 1", 'unknown column "b"'),
    ("SELECT a FROM (SELECT a FROM STREAM x", 'expected "\\)" to close the subquery'),
    (
        "SELECT a FROM (SELECT x.a FROM STREAM x JOIN y ON x.a = y.b)",
        "selects, projects and filters one",
    ),
    ("SELECT a FROM (SELECT a, * FROM STREAM x)", "a subquery selects \\* or columns"),
    ("SELECT a FROM (SELECT a, b AS A FROM STREAM x)", 'two columns are called "A"'),
    ("SELECT a FROM (SELECT y.a FROM STREAM x)", 'unknown input "y"'),
    ("SELECT a FROM (SELECT /*+ CELLS(2) */ a FROM STREAM x)", "hints stand behind the first SELECT"),
    ("SELECT a FROM (SELECT a FROM STREAM x [ROWS 1]) [ROWS 2]", "the subquery has a window already"),
    ("SELECT a FROM (SELECT a FROM STREAM x) WATERMARK t DELAY OF INTERVAL 1 DAY", 'unknown column "t"'),
    ("SELECT a FROM STREAM x WHERE a IN (SELECT b FROM y)", "subqueries are not supported"),
    ("SELECT x.a FROM STREAM x LEFT JOIN y ON x.a = y.a", "only inner joins are there"),
    ("SELECT x.a FROM STREAM x FULL OUTER JOIN y ON x.a = y.a", "only inner joins are there"),
    ("SELECT x.a FROM STREAM x NATURAL JOIN y", "name the columns, with USING"),
    ("SELECT x.a FROM STREAM x JOIN LATERAL (SELECT 1)", "it asks for each row anew"),
    ("SELECT x.a FROM STREAM x JOIN y", "expected ON and a condition, or USING"),
    ("SELECT x.a FROM STREAM x CROSS JOIN y ON x.a = y.a", "a CROSS JOIN has no condition"),
    ("SELECT x.a FROM STREAM x JOIN x ON x.a = x.b", 'two inputs are called "x"'),
    ("SELECT a FROM STREAM x JOIN y ON x.a = y.a", 'column "a" names no input'),
    ("SELECT x.a FROM STREAM x JOIN y USING (k) JOIN z USING (j)", 'column "j" names no input'),
    ("SELECT z.a FROM STREAM x", 'unknown input "z"'),
    ("SELECT z.* FROM STREAM x", 'unknown input "z"'),
    ("SELECT * FROM STREAM x", "what columns there are is not known here"),
    ("SELECT a FROM STREAM x y [NOW]", "a window stands before the alias"),
    ("SELECT a FROM STREAM x [RANGE 3 PARSECS]", "expected a unit of time"),
    (
        "SELECT a FROM STREAM x [RANGE '1:30' MINUTE TO SECOND]",
        "from one unit to another is not .* HOURS",
    ),
    ("SELECT a FROM STREAM x [RANGE -3 SECONDS]", "a length of time that is not below 0"),
    ("SELECT a FROM STREAM x [ROWS 0]", "a number of rows of 1 or more"),
    ("SELECT a FROM STREAM x [PARTITION a ROWS 1]", 'expected "BY" after PARTITION'),
    ("SELECT a FROM STREAM x [PARTITION BY ROWS 1]", "expected ROWS and a number after the columns of PARTITION BY"),
    ("SELECT a FROM STREAM x [PARTITION BY a RANGE 1]", 'after the columns of PARTITION BY, got "RANGE"'),
    ("SELECT a FROM STREAM x [LAST 3]", "expected RANGE, ROWS or NOW"),
    ("SELECT a FROM STREAM x [ROWS 3", 'expected "]"'),
    ("SELECT a FROM STREAM x WATERMARK f(t) DELAY OF INTERVAL 1 DAY", "expected a column with the event time"),
    ("SELECT a FROM STREAM x WATERMARK t DELAY OF 1", "expected an interval such as"),
    ("SELECT a FROM STREAM x WATERMARK t DELAY OF INTERVAL -1 DAY", "a length of time that is not below 0"),
    ("SELECT x.a FROM STREAM x JOIN STREAM y ON x.a = y.a", "expected its event time, since it is joined"),
    ("SELECT a FROM TUMBLE(x, 5)", 'table functions such as "TUMBLE" are not supported'),
    ("DSTREAM(SELECT a FROM STREAM x)", "every stream needs an event time"),
    (f"DSTREAM(SELECT a FROM {TIMED})", "no combination ever ends, since no stream has a window"),
    ("SELECT RSTREAM(a) FROM STREAM x", r"nobody can; say at which ones, .* or give a stream the window \[NOW\]"),
    (f"RSTREAM(SELECT a FROM {TIMED}) EVERY 0", "expected a length of more than 0 between two ticks"),
    (f"DSTREAM(SELECT a FROM {TIMED} [RANGE 1 DAY]) EVERY 5", "EVERY goes with RSTREAM; DSTREAM tells each"),
    (f"ISTREAM(SELECT DSTREAM(a) FROM {TIMED} [ROWS 1])", "ISTREAM stands around the statement already"),
    (f"SELECT a FROM (SELECT DSTREAM(a) FROM {TIMED} [ROWS 1])", "DSTREAM stands around the whole statement"),
    (f"SELECT DSTREAM(a FROM {TIMED})", "to close DSTREAM"),
    ("SELECT a FROM STREAM x WHERE f(a) OR a = 1", '"f" is a predicate in Python'),
    ("SELECT a FROM STREAM x WHERE NOT f(a)", '"f" is a predicate in Python'),
    ("SELECT a FROM STREAM x WHERE f(a + 1)", '"f" is asked about columns'),
    ("SELECT a FROM STREAM x WHERE f()", '"f" is asked about columns'),
    ("SELECT a FROM STREAM x WHERE g(a)", 'unknown function "g"; known: .*"extract", "f", "float".*one of functions='),
    ("SELECT a FROM STREAM x WHERE soundex(a) = 'C640'", 'the function "soundex" .* in a Filter of a Query, or as a'),
    ("SELECT a FROM STREAM x SEMI JOIN STREAM y ON x.a = y.a", "a SEMI or ANTI join asks a table"),
    ("SELECT a FROM STREAM x; SELECT b FROM STREAM y", "expected a join, WHERE or the end"),
    ("SELECT a FROM STREAM x WHERE a = 'open", "never closed"),
]


VIEWED = (
    """WITH dear AS (SELECT id, user AS buyer, price, at FROM STREAM orders WHERE price > 90 OR id = 1)
    SELECT d.id, d.buyer, p FROM dear AS d
    JOIN (SELECT k.user AS who, k.page AS p, k.when AS came FROM STREAM clicks AS k) AS c
      ON c.who = d.buyer AND c.came <= d.at + 100 WHERE p <> 'c'""",
    """WITH some AS (SELECT * FROM STREAM orders WHERE id < 4),
      dear AS (SELECT user AS buyer, id, at FROM some WHERE some.price > 90 OR some.id = 1)
    SELECT d.id, d.buyer, c.p
    FROM dear d, (SELECT k.page AS p, k.user AS buyer, k.when AS came FROM STREAM clicks k WHERE k.page <> 'c') AS c
    WHERE d.buyer = c.buyer AND c.came <= d.at + 100""",
    """SELECT id, buyer, p
    FROM (SELECT id, user AS buyer, at FROM (SELECT * FROM STREAM orders WHERE id < 9) WHERE price > 90 OR id = 1) AS d
    JOIN (SELECT k.user AS buyer, k.page AS p, k.when FROM STREAM clicks AS k WHERE page <> 'c') AS c USING (BUYER)
    WHERE c.when <= d.at + 100""",
)
"""The same in other words."""


@pytest.mark.parametrize("text", VIEWED)
def test_subqueries_are_what_they_say(text: str) -> None:
    plain = (
        "SELECT o.id, o.user AS buyer, c.page AS p FROM STREAM orders AS o JOIN STREAM clicks AS c ON o.user = c.user "
        "AND c.when <= o.at + 100 WHERE (o.price > 90 OR o.id = 1) AND c.page <> 'c'"
    )
    streams = [eddy.Stream("orders", time="at", delay=5), eddy.Stream("clicks", time="when", delay=5)]
    answers = [
        eddy.run_local(eddy.Statement(one, streams=streams), {"orders": ORDERS, "clicks": CLICKS}).results.to_pylist()
        for one in (plain, text)
    ]
    assert answers[0]
    assert sorted(map(str, answers[0])) == sorted(map(str, answers[1]))


def test_a_clock_may_stand_behind_a_subquery() -> None:
    asked = eddy.Statement(
        "SELECT t, a FROM (SELECT at AS t, a, car AS c FROM STREAM x) WATERMARK t DELAY OF INTERVAL 1 MINUTE "
        "[PARTITION BY c ROWS 2] AS y JOIN STREAM z WATERMARK at DELAY OF INTERVAL 1 MINUTE USING (t)",
        columns={"y": ["at", "a", "car"], "z": ["t", "at"]},
    )
    assert asked.query.streams[0] == eddy.Stream("y", time="at", delay="1 minute", window=eddy.Rows(2, by=["car"]))
    assert asked.query.joins == ("y.at = z.t",)
    assert asked.query.select == ("y.at AS t", "y.a AS a")


def test_a_table_that_is_asked_for_a_match_may_be_a_subquery() -> None:
    asked = eddy.Statement(
        "SELECT x.a FROM STREAM x LEFT ANTI JOIN (SELECT id AS i FROM banned WHERE level > 3) AS b ON b.i = x.a"
    )
    assert asked.query.anti == ("b.level > 3 AND b.id = x.a",)


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_what_is_refused_is_shown_in_its_place(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=f"^statement: .*{said}(.|\n)*\n  .*\n *\\^") as caught:
        _ = eddy.Statement(text, functions={"f": suspicious}).query
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT /*+ POLICY */ a FROM STREAM x", 'after the hint "POLICY"'),
        ("SELECT /*+ SPEED(9) */ a FROM STREAM x", 'unknown hint "speed"'),
        ("SELECT /*+ CELLS(many) */ a FROM STREAM x", "expected a whole number"),
        ("SELECT /*+ CELLS(1, 2) */ a FROM STREAM x", "expected 1 word, got 2"),
        ("SELECT /*+ NAMED(a_0000, big) */ a FROM STREAM x WHERE a > 1", 'hint "named": unknown filter "a_0000"'),
    ],
)
def test_hints_that_are_none(text: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        _ = eddy.Statement(text).query


def test_hostile_texts_are_refused() -> None:
    for text in (
        "SELECT a FROM STREAM x WHERE " + "(" * 5_000,
        "SELECT " + "a," * 100_000,
        "[" * 100_000,
        "\0",
        "SELECT a FROM (" * 5_000,
    ):
        with pytest.raises(QueryError):
            _ = eddy.Statement(text).query
