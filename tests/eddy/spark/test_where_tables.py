"""eddy.where with lookup tables over frames of Spark, and attach of one stream with tables: Spark's own joins."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.query.lookups import Lookups
from eddy.query.shorthand import make_query, read_predicates
from eddy.spark.parcels import write
from eddy.spark.stateless import task
from tests.eddy.spark import feeds
from tests.eddy.spark.test_cell import shipped
from tests.eddy.spark.test_learned import SCHEMA, place
from tests.eddy.spark.test_where import found, is_odd, wide
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["place"]

pytestmark = WITHOUT_STATE

KEYS = st.none() | st.integers(0, 4)
NAMES = st.none() | st.sampled_from(["", "a", "A", "b"])


def lookup(spark: SparkSession) -> DataFrame:
    """Rows with keys that stand twice, with none, and with values of types that are hard to hand over."""
    from pyspark.sql import functions as F  # noqa: N812

    numbers = spark.range(0, 300, 1, 1).withColumn("key", F.when(F.col("id") % 50 > 0, F.col("id") % 200).cast("int"))
    return numbers.selectExpr(
        "id", "key", "id div 3 as least", "timestamp_seconds(id) as `a.t`", "map(id, array(id, null)) as map",
        "cast(id as decimal(38, 10)) / 3 as big", "if(id % 2 = 0, null, named_struct('x', nullif(id, 3))) as st",
    )  # fmt: skip


def is_above(number: npt.NDArray[np.int64], least: npt.NDArray[np.int64]) -> Any:
    return number > least


def joined(frame: DataFrame, table: DataFrame) -> DataFrame:
    """The same by Spark's own join, with the names that ours has."""
    named = table.toDF(*(f"users_{name}" for name in table.columns))
    return frame.join(named, frame["k"] == named["users_key"])


@pytest.mark.parametrize(("parts", "policy"), [(0, "auto"), (5, "random"), (2, {"name": "content", "costs": "unit"})])
def test_the_rows_are_those_of_sparks_own_joins(spark: SparkSession, parts: int, policy: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame, users = wide(spark, parts), lookup(spark)
    ours = eddy.where(
        frame, is_odd, "k < 900", "users.least > 7", (is_above, "k", "users.least"), F.length("`na.me`") > 1,
        tables={"users": users}, joins="K = users.KEY", policy=policy,
    )  # fmt: skip
    theirs = joined(frame, users).where("k % 2 = 1 and users_least > 7 and k > users_least and length(`na.me`) > 1")
    assert ours.columns == theirs.columns
    expected = found(theirs)
    assert sum(expected.values()) > 100
    assert found(ours) == expected
    operators = set(eddy.report_of(ours).operators()["operator"])
    assert operators == {"is_odd", "is_above", "sql_1", "probe_users"}
    assert "sent to each worker: table users, 300 rows" in eddy.explain(ours)


@pytest.mark.parametrize("kind", ["semi", "anti"])
def test_existence_is_as_in_sparks_own_joins(spark: SparkSession, kind: str) -> None:
    frame, users = wide(spark, 3), lookup(spark)
    asked: dict[str, Any] = {kind: "k = users.key and users.least < k + 40"}
    ours = eddy.where(frame, is_odd, tables={"users": users.toPandas()[["key", "least"]]}, **asked)
    on = (frame["k"] == users["key"]) & (users["least"] < frame["k"] + 40)
    expected = found(frame.where("k % 2 = 1").join(users, on, f"left_{kind}"))
    assert ours.schema == frame.schema
    assert sum(expected.values()) > 20
    assert found(ours) == expected
    alone = eddy.where(frame, tables={"users": users}, **asked)
    assert found(alone) == found(frame.join(users, on, f"left_{kind}"))


@settings(max_examples=3)
@given(
    st.lists(st.tuples(KEYS, NAMES), max_size=20),
    st.lists(st.tuples(KEYS, NAMES), max_size=8),
    st.sampled_from(["k = t.x", "t.y = s", "k < t.x", "t.x = k and s <> t.y"]),
)
def test_random_frames_and_tables(spark: SparkSession, rows: list[Any], table: list[Any], text: str) -> None:
    frame = spark.createDataFrame(rows, "k int, s string").repartition(2)
    users = spark.createDataFrame(table, "x bigint, y string")
    every = pd.DataFrame(table, columns=["x", "y"]).astype({"x": "Int64"})
    answers = {
        "inner": eddy.where(frame, tables={"t": users}, joins=text),
        "left_semi": eddy.where(frame, tables={"t": every}, semi=text),
        "left_anti": eddy.where(frame, tables={"t": users}, anti=text),
    }
    from pyspark.sql import functions as F  # noqa: N812

    for how, answer in answers.items():
        expected = frame.join(users.alias("t"), F.expr(text), how)
        assert Counter(map(tuple, answer.collect())) == Counter(map(tuple, expected.collect()))


def test_rows_with_many_combinations_come_in_bounded_parts(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some rows have forty of them, then none has any: parts follow what those before them had."""
    monkeypatch.setattr(task, "MOST_FOUND", 400)
    monkeypatch.setattr(task, "FIRST_ROWS", 10)
    users = pa.record_batch({"id": pa.array([3] * 40, pa.int64()), "n": range(40)})
    lookups = Lookups(tables={"users": ["id", "n"]}, conditions={"joins": ["k = users.id"]})
    asked = read_predicates([], ["k"], case_sensitive=False, lookups=lookups)
    query = make_query(asked, ["k"], "where", ["users.n"])
    given = shipped(query, "fixed", schemas={"rows": SCHEMA}, tables={"users": write(users)}, parts={})
    column = pa.array([3] * 200 + [4] * 1_000 + [3] * 5, pa.int64())
    arrays = list(task.judge(given, iter([column])))
    sizes = [len(array) for array in arrays]
    assert sizes[:3] == [10, 10, 10]
    assert max(sizes) == 400
    assert sum(sizes) == len(column)
    found = [row["found"] for array in arrays for row in array.to_pylist()]
    assert found == [[{"n": n} for n in range(40)] if key == 3 else [] for key in column.to_pylist()]


def test_a_stream_with_tables(spark: SparkSession, tmp_path: Path) -> None:
    tables = [pa.table({"k": range(start, start + 400), "v": ["x"] * 400}) for start in (0, 400)]
    stream = feeds.stream(spark, tmp_path / "in", tables)
    users, banned = pa.table({"id": [*range(0, 800, 4), 8], "name": ["n"] * 201}), pa.table({"k": [4, 8]})
    tables_of: dict[str, Any] = {"users": users, "banned": banned}
    frame = eddy.where(stream, lambda k: k % 3 > 0, tables=tables_of, joins="k = users.id", anti="k = banned.k")
    answer = feeds.answer(frame, tmp_path / "checkpoint")
    assert sorted(answer.results["k"].to_pylist()) == [k for k in range(12, 800, 4) if k % 3]
    assert answer.results.column_names == ["k", "v", "users_id", "users_name"]
    assert not (tmp_path / "checkpoint" / "state").exists()
    assert {"probe_users", "anti_banned"} < set(eddy.report_of(answer.query).operators()["operator"])


def test_attach_of_one_stream_with_tables_keeps_nothing(spark: SparkSession, tmp_path: Path) -> None:
    moments = pa.array([5, None, 1, 9, 2, 4], pa.int64())
    rows = pa.table({"t": moments, "k": [1, 3, 5, 7, 9, None], "users": ["a", "b", "c", "d", "e", "f"]})
    asked = eddy.Query(
        streams=[eddy.Stream("s", time="t", window=eddy.Range(3))],
        tables=[eddy.Table("users"), eddy.Table("banned")],
        joins=["s.k = users.id"],
        anti=["s.k = banned.id"],
        filters=[
            eddy.Filter("odd", on="s", function=is_odd),
            eddy.Filter("young", on="users", where="age < 50"),
            eddy.Filter("apart", on=["s", "users"], where="s.t <> users.age"),
        ],
        select=["users.name AS S", "s.k AS key", "s.users", "users.id", "users.name"],
    )
    data = {
        "users": pa.table({"id": [1, 5, 5, 7, 9], "age": [5, 1, 30, 40, 60], "name": list("abcde")}),
        "banned": pa.table({"id": [7, None]}),
    }
    expected = eddy.run_local(asked, {"s": rows, **data}).results.to_pylist()
    assert expected == [{"S": "c", "key": 5, "users": "c", "id": 5, "name": "c"}]
    frames = {"s": feeds.stream(spark, tmp_path / "in", [rows]), **data}
    for number, state in enumerate([None, "store"]):
        answer = feeds.answer(eddy.attach(asked, frames, state=state, cells=number or None), tmp_path / f"{number}")
        assert answer.results.to_pylist() == expected
        assert (tmp_path / f"{number}" / "state").is_dir() == (state == "store")
        assert answer.report.streams()[["rows", "untimed", "keyless", "stored"]].to_numpy().tolist() == [[6, 1, 1, 0]]


def test_attach_gives_rows_of_the_stream_once_for_each_match(spark: SparkSession, tmp_path: Path) -> None:
    asked = eddy.Query(
        streams=[eddy.Stream("s")], tables=[eddy.Table("t")], joins=["s.k = t.k"], select=["s.s"]
    )  # fmt: skip
    frames = {"s": feeds.stream(spark, tmp_path / "in", [pa.table({"k": [1, 2], "s": ["a", "b"]})])}
    answer = feeds.answer(eddy.attach(asked, {**frames, "t": pa.table({"k": [2, 2, 3]})}), tmp_path / "c")
    assert answer.results.to_pylist() == [{"s": "b"}, {"s": "b"}]


def test_what_is_wrong_is_one_error(spark: SparkSession) -> None:
    frame = spark.range(10)
    stream = spark.readStream.format("rate").load()
    wrong: Any = {"t": [1]}
    with pytest.raises(eddy.QueryError, match=r'"t": expected a batch DataFrame, got a streaming one.*eddy.attach'):
        eddy.where(frame, tables={"t": stream}, semi="id = t.value")
    with pytest.raises(eddy.QueryError, match='table "t": expected a batch DataFrame of Spark or pandas, or a pyarrow'):
        eddy.where(frame, tables=wrong, semi="id = t.value")
    with pytest.raises(eddy.QueryError, match='table "ID": the frame has a column of this name'):
        eddy.where(frame, tables={"ID": pa.table({"k": [1]})}, semi="id = ID.k")
    with pytest.raises(eddy.QueryError, match=r'filter "sql_1": the function "soundex" is not supported; Spark alone'):
        eddy.where(frame, "soundex(t.k) = id", tables={"t": pa.table({"k": ["a"]})}, joins="id = t.k")
    with pytest.raises(eddy.QueryError, match="beside a frame that is one, got DataFrame"):
        eddy.where(pa.table({"id": [1]}), tables={"t": frame}, semi="id = t.id")
