"""SQL that Spark alone evaluates: pushed, or a column that the eddy routes over; the answer is Spark's."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pyspark
import pytest

import eddy
from eddy.errors import CheckpointError, QueryError, SparkOnlyError
from eddy.jobs.commands.explain import text as explain_job
from eddy.jobs.config.config import load
from eddy.jobs.run.checking import check, divide_filters
from eddy.query import Filter, Query, Range, Stream, Table, fingerprint
from eddy.query.binding import bind
from eddy.spark.before.pushdown import divide_columns, leave_to_spark
from eddy.sql.text.spark_functions import SPARK_FUNCTIONS
from tests.eddy.sql import test_spark as typed
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = [{"k": k, "at": k * 1_000_000, "j": f'{{"n": {k}}}' if k % 3 else None, "d": k % 4} for k in range(40)]
DEEP = "get_json_object(j, '$.n') % 2 = 1"
"""Null for every third row."""

AS_IT_IS = Filter("deep", on="s", where=DEEP)


def big(k: pd.Series) -> pd.Series:
    return k > 7


def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(ROWS))


def streamed(spark: SparkSession, place: Path, name: str = "in") -> DataFrame:
    folder = str(place / name)
    if not (place / name).exists():
        frame(spark).repartition(3).write.parquet(folder)
    read = spark.readStream.schema(frame(spark).schema).option("maxFilesPerTrigger", 1).parquet(folder)
    return read.selectExpr("*", "timestamp_micros(at) AS t")


def run(answer: DataFrame, place: Path, name: str) -> list[dict[str, Any]]:
    writer = answer.writeStream.format("memory").queryName(name).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(place / "mark")).start()
    query.awaitTermination()
    return [row.asDict() for row in answer.sparkSession.table(name).collect()]


EXPECTED = [k for k in range(40) if k % 3 and k % 2 and k > 7]


@pytest.mark.parametrize(
    ("pushdown", "state"),
    [
        pytest.param(True, "none", marks=WITHOUT_STATE),
        pytest.param(False, "none", marks=WITHOUT_STATE),
        (False, "store"),
    ],
)
def test_a_text_of_sparks_filters_a_stream(spark: SparkSession, tmp_path: Path, pushdown: bool, state: str) -> None:
    """Null is not true, and every column of the stream is selected, none of ours."""
    query = Query(streams=[Stream("s")], filters=[AS_IT_IS, Filter("big", on="s", function=big, columns=["k"])])
    answer = eddy.attach(query, {"s": streamed(spark, tmp_path)}, pushdown=pushdown, state=state)
    assert answer.columns == ["s_k", "s_at", "s_j", "s_d", "s_t"]
    assert sorted(row["s_k"] for row in run(answer, tmp_path, f"own_{pushdown}_{state}")) == EXPECTED


@WITHOUT_STATE
def test_a_filter_that_the_policy_speaks_of_is_routed_over(spark: SparkSession) -> None:
    """It is a column: reports tell of it, and texts that differ in case only are two columns."""
    shout = Filter("shout", on="s", where=DEEP.replace("$.n", "$.N"))
    query = Query(streams=[Stream("s")], filters=[AS_IT_IS, shout], select=["s.k"])
    answer = eddy.attach(query, {"s": frame(spark)}, policy={"name": "fixed", "order": ["shout", "deep"]})
    assert answer.collect() == []
    told = eddy.report_of(answer).operators().set_index("operator")
    assert told.loc["shout", "evaluated"] == len(ROWS)
    assert DEEP in str(eddy.explain(answer))


def test_joins_with_tables_and_streams(spark: SparkSession, tmp_path: Path) -> None:
    query = Query(
        streams=[Stream("a", time="t", window=Range("1 hour"), delay="1 second"), Stream("b", time="t")],
        tables=[Table("u")],
        joins=["a.k = b.k", "a.d = u.d"],
        filters=[
            Filter("one", on="a", where="get_json_object(a.j, '$.n') % 2 = 1"),
            Filter("two", on="b", where="date_trunc('MINUTE', B.T) = timestamp_seconds(0) AND pmod(k, 5) <> 1"),
            Filter("three", on="u", where="element_at(split(word, '-'), 2) = 'x'"),
        ],
        select=["a.k", "u.word"],
    )
    table = pa.table({"d": [0, 1, 2, 3], "word": ["a-x", "b-x", "c-y", None]})
    frames = {"a": streamed(spark, tmp_path), "b": streamed(spark, tmp_path), "u": table}
    wanted = sorted((k, "b-x") for k in range(40) if k % 3 and k % 2 and k % 5 != 1 and k % 4 == 1)
    answer = eddy.attach(query, frames, policy={"name": "fixed", "order": ["one"]}, cells=2)
    found = run(answer, tmp_path, "own_joined")
    assert sorted((row["k"], row["word"]) for row in found) == wanted


@pytest.mark.parametrize("pushdown", [True, False])
def test_a_checkpoint_goes_by_the_text(spark: SparkSession, tmp_path: Path, pushdown: bool) -> None:
    """Rows that are stored cannot be asked about another one, so it is refused."""

    def ask(text: str, pushdown: bool = pushdown) -> DataFrame:
        query = Query(streams=[Stream("s")], filters=[Filter("deep", on="s", where=text)], select=["s.k"])
        return eddy.attach(query, {"s": streamed(spark, tmp_path)}, pushdown=pushdown, state="store", cells=1)

    def write(answer: DataFrame) -> None:
        writer = answer.writeStream.option("path", str(tmp_path / "out")).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "mark")).start().awaitTermination()

    write(ask(DEEP))
    frame(spark).write.mode("append").parquet(str(tmp_path / "in"))
    with pytest.raises(Exception, match=r"it belongs to another query; .*get_json_object.* % 3 = 1"):
        write(ask(DEEP.replace("2", "3")))
    with pytest.raises(Exception, match=r"it belongs to another query; .*get_json_object"):
        write(ask(DEEP, not pushdown))
    write(ask(DEEP))
    assert spark.read.parquet(str(tmp_path / "out")).count() == 2 * len([k for k in range(40) if k % 3 and k % 2])


@WITHOUT_STATE
@pytest.mark.parametrize("pushdown", [True, False])
def test_an_error_in_it_is_sparks(spark: SparkSession, pushdown: bool) -> None:
    """As in a `where` of Spark's: other filters do not stand before it, and a guard in the text does."""
    guarded = Filter("guarded", on="s", where="d <> 0 AND pmod(12 div d, 4) = 0")
    query = Query(streams=[Stream("s")], filters=[guarded], select=["s.k"])
    found = eddy.attach(query, {"s": frame(spark)}, pushdown=pushdown)
    assert sorted(row.k for row in found.collect()) == [k for k in range(40) if k % 4 in (1, 3)]
    bare = Filter("bare", on="s", where="pmod(12 div d, 4) = 0")
    others = Query(streams=[Stream("s")], filters=[Filter("d", on="s", where="d <> 0"), bare], select=["s.k"])
    if pushdown:  # both are Spark's, in their order
        assert eddy.attach(others, {"s": frame(spark)}).count() == 20
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        eddy.attach(Query(streams=[Stream("s")], filters=[bare]), {"s": frame(spark)}, pushdown=pushdown).collect()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("date_trunc('day', nothing) > t", r'filter "f": Spark says: \[UNRESOLVED_COLUMN.*`nothing`'),
        ("size(split(j, ','))", r"Spark says: \[DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN\]"),
        ("split(j, ',')[explode(array(0))] = 'a'", "Spark says: .*generator"),
        ("split(max(j), ',')[0] = 'a'", r"Spark says: \[INVALID_WHERE_CONDITION\]"),
        ("split(j, ',' > 1", r"Spark says: \[PARSE_SYNTAX_ERROR\]"),
    ],
)
@pytest.mark.parametrize("pushdown", [True, False])
def test_what_spark_refuses_is_told_before_it_starts(spark: SparkSession, text: str, told: str, pushdown: bool) -> None:
    query = Query(streams=[Stream("s")], filters=[Filter("f", on="s", where=text)])
    with pytest.raises(QueryError, match=told) as caught:
        eddy.attach(query, {"s": frame(spark)}, pushdown=pushdown)
    assert "\n" not in str(caught.value)


@WITHOUT_STATE
def test_where_takes_such_filters(spark: SparkSession) -> None:
    found = eddy.where(frame(spark), Filter("deep", on="rows", where=DEEP), big)
    assert sorted(row.k for row in found.collect()) == EXPECTED


@WITHOUT_STATE
def test_regular_expressions_are_ours_where_they_can_be(spark: SparkSession) -> None:
    """One that Arrow cannot do is Spark's, and the answer is the same."""
    for pattern in ("[13579]}$", "(?<=[13579])}$"):
        query = Query(streams=[Stream("s")], filters=[Filter("f", on="s", where=f"s.j rlike '{pattern}'")])
        for pushdown in (True, False):
            found = eddy.attach(query, {"s": frame(spark)}, pushdown=pushdown).collect()
            assert sorted(row.s_k for row in found) == [k for k in range(40) if k % 3 and k % 2]


@WITHOUT_STATE
@pytest.mark.parametrize("pushdown", [True, False])
def test_the_name_of_a_setting_is_what_spark_puts_there(spark: SparkSession, pushdown: bool) -> None:
    """Eddy would compare with the text as it stands there."""
    texts = spark.createDataFrame([("${spark.sql.session.timeZone}",), ("UTC",)], "v string")
    asked = [Filter("one", on="s", where="v = '${spark.sql.session.timeZone}'")]
    asked += [Filter("two", on="s", where="v rlike r'${spark.sql.session.timeZone}'")]
    found = eddy.attach(Query(streams=[Stream("s")], filters=asked), {"s": texts}, pushdown=pushdown)
    assert [row.s_v for row in found.collect()] == ["UTC"]


@WITHOUT_STATE
def test_times_of_a_table_that_spark_computes_a_column_of_stay_as_they_are(spark: SparkSession) -> None:
    """One without a zone does not become one of the session's."""
    noon = datetime(2024, 7, 1, 12)
    table = pa.table({"k": [1], "word": ["a-b"], "at": pa.array([noon], pa.timestamp("us"))})
    asked = [Filter("two", on="u", where="size(split(word, '-')) = 2")]
    query = Query(streams=[Stream("s")], tables=[Table("u")], joins=["s.k = u.k"], filters=asked, select=["u.at"])
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        assert eddy.attach(query, {"s": frame(spark), "u": table}).toArrow()["at"].to_pylist() == [noon]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(zone))


ONLY_TYPES_TELL = [
    "substring(s, j) <> ''",
    "w * 2 < 100",
    "upper(d) <> 'NAN'",
    "v * 2 >= interval 0 seconds",
    "x > z - interval 1 day * i",
    "z > TIMESTAMP '1960-01-01 00:00:00 PST'",
]


@WITHOUT_STATE
@pytest.mark.parametrize("text", ONLY_TYPES_TELL)
def test_what_only_the_types_of_columns_tell_is_left_to_spark_as_well(spark: SparkSession, text: str) -> None:
    table = typed.frame(spark)
    wanted = sorted(row.i or 0 for row in table.where(text).collect())
    assert wanted
    asked = Filter("f", on="s", where=text)
    for pushdown in (True, False):
        query = Query(streams=[Stream("s")], filters=[asked], select=["s.i"])
        found = eddy.attach(query, {"s": table}, pushdown=pushdown)
        assert sorted(row.i or 0 for row in found.collect()) == wanted
    for beside in ((), (lambda t: pd.Series([True] * len(t)),)):
        assert sorted(row.i or 0 for row in eddy.where(table, asked, *beside).collect()) == wanted


def test_a_checkpoint_from_when_it_was_ours_is_refused_with_the_way_out() -> None:
    asked = Filter("f", on="s", where="substring(j, k) = 'x'")
    query, schemas = Query(streams=[Stream("s")], filters=[asked]), {"s": pa.Table.from_pylist(ROWS).schema}
    before = fingerprint.of(bind(query, schemas))
    divided = divide_columns(leave_to_spark(query, schemas), schemas)
    way = r"substring\(j, k\) = 'x'\": rows are stored without it, .* begin a new checkpoint"
    with pytest.raises(CheckpointError, match=way):
        fingerprint.check(before, fingerprint.of(bind(divided.query, divided.schemas)))


def test_what_only_types_tell_has_no_key_that_spark_cannot_keep() -> None:
    asked = Filter("f", on="s", where="substring(j, k) = 'x'", on_error="drop")
    with pytest.raises(QueryError, match=r"(?s)on_error: an error in its text is.*a part of a string is"):
        leave_to_spark(Query(streams=[Stream("s")], filters=[asked]), {"s": pa.Table.from_pylist(ROWS).schema})


def test_without_spark_it_is_refused_with_a_hint() -> None:
    query = Query(streams=[Stream("s")], filters=[AS_IT_IS])
    rows = pa.Table.from_pylist(ROWS)
    hint = r'filter "deep": the function "get_json_object" is not supported; Spark alone evaluates it, in a filter'
    with pytest.raises(QueryError, match=hint):
        eddy.run_local(query, {"s": rows})
    with pytest.raises(QueryError, match=hint.replace("deep", "sql_1")):
        eddy.where(rows, DEEP)
    with pytest.raises(QueryError, match=r'"sql_1": a part of a string is .*; Spark alone evaluates it, in a filter'):
        eddy.where(rows, "substring(j, k) = 'x'")


def test_what_goes_over_several_inputs_or_says_how_to_evaluate_is_refused() -> None:
    with pytest.raises(SparkOnlyError, match="in a filter over one input"):
        Filter("f", on=["a", "b"], where="levenshtein(a.x, b.x) < 3")
    streams = [Stream("a", time="t"), Stream("b", time="t")]
    with pytest.raises(SparkOnlyError, match=r'join "levenshtein.*in a filter over one input'):
        Query(streams=streams, joins=["levenshtein(a.x, b.x) < 3"])
    with pytest.raises(QueryError, match="on_error: an error in its text is one of Spark's"):
        Filter("f", on="a", where=DEEP, on_error="drop")
    with pytest.raises(QueryError, match="after: Spark evaluates its text before the eddy sees a row"):
        Filter("f", on="a", where=DEEP, after="g")
    with pytest.raises(QueryError, match="after: Spark evaluates its text before the eddy sees a row"):
        AS_IT_IS.pin(["g"])


def test_a_job_says_what_is_not_checked_here(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text("""
[streams.s.source]
format = "rate"
[filters.deep]
on = "s"
where = "date_trunc('minute', timestamp) = timestamp"
[filters.odd]
on = "s"
where = "value % 2 = 1"
[filters.typed]
on = "s"
where = "substring('abc', value) = 'c'"
[engine]
pushdown = false
""")
    checked = check(load(tmp_path / "job.toml"))
    told = "filter \"deep\": Spark's own SQL, not checked here: date_trunc('minute', timestamp) = timestamp"
    assert told in checked.warnings
    assert "filter \"typed\": Spark's own SQL, not checked here: substring('abc', value) = 'c'" in checked.warnings
    assert "= timestamp; by Spark, as a column over which the eddy routes" in explain_job(checked)
    assert checked.binding is not None
    parts = fingerprint.of(divide_filters(checked, checked.binding)[1])
    assert parts['filter "deep"'] == "on s: s.`date_trunc('minute', timestamp) = timestamp`"


def test_the_list_is_of_functions_that_spark_has(spark: SparkSession) -> None:
    """None of them is of Spark's that gives several values, or one of many rows."""
    known = {row["function"] for row in spark.sql("SHOW FUNCTIONS").collect()}
    if pyspark.__version__.startswith("4.3"):
        assert known >= SPARK_FUNCTIONS
    refused = {"explode", "inline", "stack", "sum", "max_by", "listagg", "rank", "window", "java_method", "reflect"}
    assert not refused & SPARK_FUNCTIONS
