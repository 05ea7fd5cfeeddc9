"""Columns are found in any case, as Spark finds them, and everything behind has their own names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import eddy
from eddy.query import fingerprint
from eddy.query.binding import bind
from eddy.spark.before.pushdown import describe_pushed
from eddy.sql.values.name_case import fold_case
from tests.eddy.spark import feeds
from tests.eddy.sql.test_spark import setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = 10
A = pa.table({"TS": range(SIZE), "Ab": range(SIZE), "c d": [1] * SIZE})
B = pa.table({"ts": range(SIZE), "AB": range(SIZE), "Select": [2] * SIZE})
ALIKE = pa.table({"ts": range(SIZE), "v": [1] * SIZE, "V": [2] * SIZE})
STREAMS = [eddy.Stream("a", time="ts"), eddy.Stream("b", time="Ts")]
# What is known, and what is looked for: letters whose other case is two letters, or another one's other case.
KNOWN = ["Ab", "İd", "straße", "K", "µ", "ς", "ẞx"]
ASKED = [
    *("Ab", "ab", "AB", "id", "ID", "i̇d", "İD", "STRASSE", "STRAßE", "\u017ftraße", "k", "K", "\u212a", "ab "),
    *("\u03bc", "\u039c", "Σ", "\u03c3", "ς", "ßX", "ẞX"),
]


def shouted(**changes: Any) -> eddy.Query:
    return eddy.Query(
        **{
            "streams": STREAMS,
            "joins": ["A.ab = B.`aB` and a.`C D` + 0 < B.select"],
            "filters": [
                eddy.Filter("f", on="a", where="AB > 3 and A.`c D` = 1"),
                eddy.Filter("g", on="a", function=lambda ab: ab > 4),
                eddy.Filter("h", on="b", function=lambda x: x < 9, columns=["B.ab"]),
            ],
            "select": ["A.AB", "b.AB as X", "B.aB as x"],
            **changes,
        }
    )


def plain() -> eddy.Query:
    """The same in the names that the inputs have."""
    return eddy.Query(
        streams=[eddy.Stream("a", time="TS"), eddy.Stream("b", time="ts")],
        joins=["a.Ab = b.`AB` and a.`c d` + 0 < b.Select"],
        filters=[
            eddy.Filter("f", on="a", where="Ab > 3 and a.`c d` = 1"),
            eddy.Filter("g", on="a", function=lambda x: x > 4, columns=["Ab"]),
            eddy.Filter("h", on="b", function=lambda x: x < 9, columns=["AB"]),
        ],
        select=["a.Ab AS AB", "b.AB AS X", "b.AB AS x"],
    )


@pytest.mark.parametrize("policy", ["fixed", {"name": "content", "attributes": ["A.aB"]}], ids=["fixed", "content"])
def test_names_in_any_case_mean_the_columns_there_are(policy: Any) -> None:
    found, wanted = (eddy.run_local(asked, {"a": A, "b": B}, policy=policy) for asked in (shouted(), plain()))
    assert found.results.schema.names == ["AB", "X", "x"]
    rows = [{"AB": n, "X": n, "x": n} for n in range(5, 9)]
    assert found.results.sort_by("X").to_pylist() == wanted.results.sort_by("X").to_pylist() == rows


def test_what_is_saved_has_the_names_of_the_inputs() -> None:
    schemas = {"a": A.schema, "b": B.schema}
    wanted = fingerprint.of(bind(plain(), schemas))
    found = fingerprint.of(bind(shouted(), schemas))
    assert {part: text for part, text in found.items() if "function" not in text} == {
        part: text for part, text in wanted.items() if "function" not in text
    }


def test_a_query_in_those_names_stays_as_it_is() -> None:
    asked = plain()
    assert bind(asked, {"a": A.schema, "b": B.schema}).query is asked


ONE = [eddy.Stream("a", time="ts")]
AMBIGUOUS = [
    (eddy.Query(streams=ONE, select=["a.v"]), 'select "a.v": '),
    (eddy.Query(streams=ONE, filters=[eddy.Filter("f", on="a", where="ts > 1 and V > 1")]), r'(?s)filter "f": .*\^$'),
    (eddy.Query(streams=ONE, filters=[eddy.Filter("f", on="a", function=lambda v: v > 0)]), 'filter "f": '),
    (eddy.Query(streams=[eddy.Stream("a", time="V")]), 'stream "a": time: '),
    (eddy.Query(streams=[eddy.Stream("a", time="ts", malformed="V")]), 'stream "a": malformed: '),
    (
        eddy.Query(streams=[*ONE, eddy.Stream("b", time="ts")], joins=["a.V = b.ts and a.v < b.v"]),
        r'(?s)join ".*\^\^\^$',
    ),
]


@pytest.mark.parametrize(
    ("asked", "message"), AMBIGUOUS, ids=["select", "text", "function", "time", "malformed", "join"]
)
def test_columns_that_differ_in_case_only_are_ambiguous_where_they_are_named(asked: eddy.Query, message: str) -> None:
    data = dict.fromkeys(asked.inputs, ALIKE)
    with pytest.raises(eddy.QueryError, match=message) as raised:
        eddy.run_local(asked, data)
    assert '"v", "V" differ in case only' in str(raised.value)
    assert eddy.run_local(eddy.Query(streams=ONE), {"a": ALIKE}).results.schema.names == ["a_ts", "a_v", "a_V"]


def test_a_query_that_minds_the_case() -> None:
    asked = eddy.Query(
        streams=ONE, filters=[eddy.Filter("f", on="a", where="V > 1")], select=["a.v"], case_sensitive=True
    )
    assert eddy.run_local(asked, {"a": ALIKE}).results.column("v").to_pylist() == [1] * SIZE
    with pytest.raises(eddy.QueryError, match='unknown column "Ts"'):
        eddy.run_local(eddy.Query(streams=[eddy.Stream("a", time="Ts")], case_sensitive=True), {"a": ALIKE})


def test_spark_finds_the_same_names(spark: SparkSession) -> None:
    from pyspark.errors import AnalysisException

    frame = spark.createDataFrame([tuple(range(len(KNOWN)))], KNOWN)

    def theirs(name: str) -> str | None:
        try:
            place: int = frame.select(f"`{name}`").collect()[0][0]
        except AnalysisException:
            return None
        return KNOWN[place]

    ours = {name: next((known for known in KNOWN if fold_case(known) == fold_case(name)), None) for name in ASKED}
    assert {name: theirs(name) for name in ASKED} == ours


@pytest.mark.parametrize("case_sensitive", [False, True])
def test_the_session_says_whether_case_counts(spark: SparkSession, tmp_path: Path, case_sensitive: bool) -> None:
    """Two columns that differ in case come through, and a filter that Spark evaluates finds its own."""
    table = pa.table({"Ts": pa.array(range(SIZE), pa.timestamp("s", "UTC")), "k": range(SIZE), "w": range(SIZE)})
    read = feeds.stream(spark, tmp_path / "in", [table])
    frame = read.selectExpr("Ts", "k", "-w AS W", "w", "k AS Odd")
    time, where = ("Ts", "A.Odd > 6") if case_sensitive else ("tS", "A.oDD > 6")
    # A query's own setting does not count on Spark.
    asked = eddy.Query(
        streams=[eddy.Stream("a", time=time, delay="1 minute")],
        filters=[eddy.Filter("f", on="a", where=where), eddy.Filter("g", on="a", function=lambda k: k < 9)],
        select=["a.k", "a.w"] if case_sensitive else None,
        case_sensitive=not case_sensitive,
    )
    with setting(spark, "spark.sql.caseSensitive", str(case_sensitive).lower()):
        attached = eddy.attach(asked, {"a": frame}, cells=1)
        found = feeds.answer(attached, tmp_path / "out").results
        if not case_sensitive:
            assert attached.columns == ["a_Ts", "a_k", "a_W", "a_w", "a_Odd"]
            assert found.select(["a_k", "a_W", "a_w"]).to_pylist() == [{"a_k": n, "a_W": -n, "a_w": n} for n in (7, 8)]
        else:
            assert found.to_pylist() == [{"k": n, "w": n} for n in (7, 8)]
            with pytest.raises(eddy.QueryError, match='unknown column "tS"'):
                eddy.attach(eddy.Query(streams=[eddy.Stream("a", time="tS")]), {"a": frame})


def test_a_checkpoint_takes_the_query_in_another_case() -> None:
    """Nothing but the case of a name differs, and that is no other query."""
    texts = (
        ("A.aB = b.ab AND a.TS <= b.TS", "AB > 3 and A.`C D` = 1"),
        ("a.Ab = b.AB AND a.TS <= b.ts", "Ab > 3 and a.`c d` = 1"),
    )
    schemas = {"a": A.schema, "b": B.schema}
    queries = [
        eddy.Query(streams=STREAMS, joins=[join], filters=[eddy.Filter("f", on="a", where=where)])
        for join, where in texts
    ]
    bound = [bind(query, schemas) for query in queries]
    assert fingerprint.of(bound[0]) == fingerprint.of(bound[1])
    assert describe_pushed(bound[0].query.filters) == describe_pushed(bound[1].query.filters)
