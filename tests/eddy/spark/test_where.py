"""eddy.where over frames of Spark: the rows that Spark's own filters keep, whatever is before and behind."""

from __future__ import annotations

import importlib
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pytest

import eddy
from eddy.spark import progress
from tests.eddy.spark import feeds, servers
from tests.eddy.test_same_answer import rows_of
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = WITHOUT_STATE

ROWS = 3_000


def is_odd(k: npt.NDArray[np.int64]) -> Any:
    return k % 2 == 1


def starts_low(name: pd.Series) -> pd.Series:
    return name.str.slice(0, 1) < "3"


@eddy.predicate(columns=["st"], rowwise=True)
def is_deep(value: dict[str, Any] | None) -> bool:
    return value is not None and value["deep"] % 5 > 0


PYTHON: tuple[Any, ...] = (is_odd, (starts_low, "na.me"), is_deep)


def wide(spark: SparkSession, parts: int) -> DataFrame:
    """Columns of all kinds, some of which have no way to Python at all; some partitions are empty."""
    from pyspark.sql import functions as F  # noqa: N812

    numbers = spark.range(0, ROWS, 1, 3).select(
        (F.col("id") % 1_000).alias("k"), F.col("id").cast("string").alias("na.me")
    )
    columns = {
        "st": F.when(F.col("k") % 7 > 0, F.struct(F.col("k").alias("deep"), F.array(F.lit(None), F.lit(1.5)))),
        "big": F.expr("cast(k as decimal(38, 10)) / 3"),
        "gap": F.expr("make_interval(1, 2, 0, k)"),
        "map": F.expr("map(k, cast(null as string))"),
        "at": F.expr("timestamp_seconds(k)"),
    }
    frame = numbers.select("*", *(column.alias(name) for name, column in columns.items())).where("k % 11 < 9")
    return frame.repartition(parts, "k") if parts else frame


def natively(frame: DataFrame) -> DataFrame:
    """The same by Spark's own filters."""
    from pyspark.sql import functions as F  # noqa: N812

    odd = F.udf(lambda k: k % 2 == 1, "boolean")
    low = F.udf(lambda name: name[:1] < "3", "boolean")
    deep = F.udf(lambda value: value is not None and value["deep"] % 5 > 0, "boolean")
    return frame.where(odd("k") & low("`na.me`") & deep("st")).where("k < 900").where(F.length("`na.me`") > 1)


def found(frame: DataFrame) -> Counter[str]:
    """The rows as Spark writes them, since no other way takes all types."""
    texts = frame.selectExpr("to_json(struct(*)) as text").toArrow()
    return Counter(texts["text"].to_pylist())


@pytest.mark.parametrize(("parts", "policy"), [(0, "auto"), (7, "random"), (2, {"name": "content", "costs": "unit"})])
def test_the_rows_are_those_of_sparks_own_filters(spark: SparkSession, parts: int, policy: Any) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame = wide(spark, parts)
    ours = eddy.where(frame, *PYTHON, "k < 900", F.length("`na.me`") > 1, policy=policy)
    assert ours.schema == frame.schema
    expected = found(natively(frame))
    assert sum(expected.values()) > 100
    assert found(ours) == expected
    report = eddy.report_of(ours)
    assert report.batches()["results"].sum() == sum(expected.values())
    assert set(report.operators()["operator"]) == {"is_odd", "starts_low", "is_deep"}


@pytest.mark.parametrize("kind", ["plain", "joined", "rejecting"])
def test_without_a_report_the_rows_are_the_same(spark: SparkSession, kind: str) -> None:
    frame = wide(spark, 2)
    more: dict[str, Any] = {"tables": {"t": pa.table({"x": [3, 5, 7]})}, "joins": "k = t.x"} if kind == "joined" else {}
    asked = [eddy.predicate(on_error="reject")(lambda k: k % 2 == 1)] if kind == "rejecting" else [is_odd]
    ours = eddy.where(frame, *asked, PYTHON[2], report=False, **more)
    assert found(ours) == found(eddy.where(frame, *asked, PYTHON[2], **more))
    plan = ours._jdf.queryExecution().toString()
    assert "CollectMetrics" not in plan
    with pytest.raises(eddy.QueryError, match=r'"where" has no report, since eddy.where was told report=False'):
        eddy.report_of(ours)


@pytest.mark.parametrize("report", [True, False])
def test_what_is_no_column_is_computed_for_functions_alone(spark: SparkSession, report: bool) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame = wide(spark, 2).alias("f")
    named = eddy.predicate(columns=["ST.deep"], name="named")(lambda deep: deep % 5 > 0)
    asked = [(is_odd, "st.deep"), named, (lambda k: k < 899, F.col("k") - 1), (lambda k: k % 9 > 0, F.col("k"))]
    asked += [(lambda k: k > 30, "f.k"), (lambda empty: empty.isna(), F.col("map")[F.col("k")])]
    ours = eddy.where(frame, *asked, report=report)
    assert ours.schema == frame.schema
    expected = found(frame.where("st.deep % 2 = 1 and k % 5 > 0 and k < 900 and k % 9 > 0 and k > 30"))
    assert sum(expected.values()) > 100
    assert found(ours) == expected
    for wrong, said in [("st.nope", 'Spark finds no such field in column "st"'), ("g.k", 'unknown stream "g"')]:
        with pytest.raises(eddy.QueryError, match=f'column "{wrong}": {said}'):
            eddy.where(frame, (is_odd, wrong))


def test_behind_and_before_other_steps_of_one_plan(spark: SparkSession) -> None:
    frame = wide(spark, 3).drop("gap", "map").cache()
    ours, theirs = eddy.where(frame, *PYTHON, "k < 900", "length(`na.me`) > 1"), natively(frame)
    twice = eddy.where(eddy.where(frame, is_odd, "k < 900"), *PYTHON[1:], "length(`na.me`) > 1", name="second")
    assert found(twice.union(ours)) == found(theirs.union(theirs))
    kept = ours.cache()
    assert found(kept.join(kept.select("k").distinct(), "k")) == found(theirs.join(theirs.select("k").distinct(), "k"))
    assert len(ours.limit(5).collect()) == 5
    assert found(ours.groupBy("k").count()) == found(theirs.groupBy("k").count())
    assert eddy.where(ours, is_odd).where("false").count() == 0
    kept.unpersist()
    frame.unpersist()


def test_a_cached_answer_tells_of_the_work_that_it_took(spark: SparkSession) -> None:
    kept = eddy.where(wide(spark, 2).select("k"), is_odd, name="odd").cache()
    rows = kept.count()
    assert kept.count() == rows
    assert eddy.report_of(kept).batches()["results"].tolist() == [rows]
    assert eddy.report_of(kept, "odd").batches()["results"].tolist() == [rows]
    with pytest.raises(eddy.QueryError, match='report_of: unknown step "even"; known: "odd"'):
        eddy.report_of(kept, "even")
    kept.unpersist()


@pytest.mark.parametrize("mode", ["update", "complete"])
def test_any_output_mode_will_do(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    tables = [pa.table({"k": range(start, start + 100)}) for start in (0, 50)]
    counted = eddy.where(feeds.stream(spark, tmp_path / "in", tables), is_odd).groupBy("k").count()
    writer = counted.writeStream.format("memory").queryName(f"where_{mode}").outputMode(mode)
    job = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    job.awaitTermination()
    counts = {row["k"]: row["count"] for row in spark.table(f"where_{mode}").orderBy("count").collect()}
    assert counts == {k: 2 if 50 <= k < 100 else 1 for k in range(1, 150, 2)}
    assert eddy.report_of(job).batches()["results"].tolist() == [50, 50]


def test_within_and_before_other_queries(spark: SparkSession, tmp_path: Path) -> None:
    """In foreachBatch it is a batch frame; before an attach it is a stream like any other."""
    tables = [pa.table({"k": range(start, start + 100), "t": range(start, start + 100)}) for start in (0, 100)]
    found: list[int] = []

    def take(frame: DataFrame, number: int) -> None:
        kept = eddy.where(frame, is_odd, name=f"batch {number}".replace(" ", "_"))
        found.extend(row["k"] for row in kept.collect())
        assert eddy.report_of(kept).batches()["rows"].tolist() == [100]

    stream = feeds.stream(spark, tmp_path / "in", tables)
    writer = stream.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "batches"))
    writer.trigger(availableNow=True).start().awaitTermination()
    assert sorted(found) == [*range(1, 200, 2)]
    sides = {name: eddy.where(stream, is_odd, "k < 150", name=name) for name in "ab"}
    asked = eddy.Query(
        streams=[eddy.Stream(name, time="t", window=eddy.Range(5), delay=0) for name in "ab"],
        joins=["a.k = b.k"],
        select=["a.k"],
    )
    answer = feeds.answer(eddy.attach(asked, sides, cells=1), tmp_path / "joined")
    assert sorted(answer.results["k"].to_pylist()) == [*range(1, 150, 2)]
    assert eddy.report_of(answer.query, "a").batches()["rows"].sum() == 150


@pytest.mark.long
def test_workers_that_are_new_killed_or_slow_change_nothing(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    with servers.cluster(tmp_path) as url:
        ended = servers.job(log, "tests.eddy.spark.where_retried", url, seconds=300)
    assert ended == 0, log.read_text("utf-8")[-5_000:]


def test_a_stream_with_two_eddies_and_what_they_tell(spark: SparkSession, tmp_path: Path) -> None:
    tables = [pa.table({"k": range(start, start + 500), "v": ["x"] * 500}) for start in (0, 500, 1_000)]
    stream = feeds.stream(spark, tmp_path / "in", tables)
    frame = eddy.where(eddy.where(stream, is_odd), "k < 1200", lambda k: k % 3 == 0, name="thirds")
    answer = feeds.answer(frame, tmp_path / "checkpoint")
    assert sorted(answer.results["k"].to_pylist()) == [*range(3, 1_200, 6)]
    assert eddy.report_of(answer.query, "where").batches()["rows"].tolist() == [500, 500, 500]
    assert eddy.report_of(answer.query, "thirds").batches()["results"].tolist() == [83, 84, 33]
    with pytest.raises(eddy.QueryError, match='several eddies; name one of them: "where", "thirds"'):
        eddy.report_of(answer.query)
    with pytest.raises(eddy.QueryError, match='unknown step "third"; did you mean "thirds"'):
        eddy.report_of(answer.query, "third")
    with pytest.raises(eddy.QueryError, match='"thirds" is a streaming frame; ask about the query'):
        eddy.report_of(frame)
    assert "without a shuffle and without state" in eddy.explain(frame)


def test_the_watermark_of_a_stream_goes_through(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    moments = pa.array([0, 10_000_000, 90_000_000, 200_000_000], pa.timestamp("us", "UTC"))
    tables = [pa.table({"at": moments[:2], "k": [1, 3]}), pa.table({"at": moments[2:], "k": [5, 7]})]
    stream = feeds.stream(spark, tmp_path / "in", tables).withWatermark("at", "1 second")
    counted = eddy.where(stream, is_odd).groupBy(F.window("at", "30 seconds")).count()
    answer = feeds.answer(counted.select("count"), tmp_path / "checkpoint")
    assert sum(answer.results["count"].to_pylist()) >= 3


def test_texts_alone_are_explained_and_have_an_empty_report(spark: SparkSession) -> None:
    frame = eddy.where(spark.range(10), "id > 7")
    assert frame.count() == 2
    assert "evaluated by Spark: id > 7" in eddy.explain(frame)
    assert eddy.report_of(frame).operators().empty


def test_what_is_wrong_is_one_error(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    frame = spark.range(10).select("id", "id")
    with pytest.raises(eddy.QueryError, match='column "id" stands twice in the frame'):
        eddy.where(frame, lambda id: id > 1)
    lock = threading.Lock()
    with pytest.raises(eddy.QueryError, match=r"cannot be sent to the workers.*it must not hold a lock"):
        eddy.where(spark.range(10), lambda id: lock.locked())
    with pytest.raises(eddy.QueryError, match="cannot be sent to the workers"):
        eddy.where(spark.range(10), lambda id: spark.range(3).count() > id)
    gaps = spark.sql("select make_interval(1) as gap")
    with pytest.raises(eddy.QueryError, match='column "gap": Spark cannot hand values of type interval to Python'):
        eddy.where(gaps, lambda gap: gap.notna())
    with pytest.raises(eddy.QueryError, match='unknown policy "contend"; did you mean "content"'):
        eddy.where(spark.range(10), "id > 1", policy="contend")
    for predicate in ("ix > 1", F.col("ix") > 1, (is_odd, F.col("ix") + 1)):
        with pytest.raises(eddy.QueryError, match=r'where: ".*ix.*": Spark says: \[UNRESOLVED_COLUMN.*`id`'):
            eddy.where(spark.range(10), predicate)
    grouped: Any = spark.range(10).groupBy("id")
    with pytest.raises(eddy.QueryError, match=r"expected a DataFrame of pandas or Spark.*got GroupedData"):
        eddy.where(grouped, "id > 1")
    wrong = eddy.where(spark.range(10), (lambda x: True, "id"))
    with pytest.raises(Exception, match=r'filter "function_1".*expected one boolean for each of 5 rows, got bool'):
        wrong.collect()


def test_a_frame_without_an_action_has_no_report(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "ACTION_SECONDS", 0.05)
    with pytest.raises(eddy.QueryError, match='report_of: "where": no action on the frame is over'):
        eddy.report_of(eddy.where(spark.range(10), (is_odd, "id")))


def test_frames_of_spark_have_the_attribute_too(spark: SparkSession) -> None:
    importlib.import_module("eddy.accessor")
    frame: Any = spark.range(10).withColumnRenamed("id", "k")
    assert frame.eddy.where(is_odd, "k > 5").toArrow()["k"].to_pylist() == [7, 9]
    assert frame.transform(eddy.where, is_odd, "k > 5").count() == 2


def test_attach_keeps_nothing_where_there_is_nothing_to_keep(spark: SparkSession, tmp_path: Path) -> None:
    moments = pa.array([5, None, 1, 9, 2, 4], pa.int64())
    rows = pa.table(
        {"T": moments, "k": [1, 3, 5, 7, 8, 9], "why": [None, None, None, None, None, "torn"], "v": [1.5] * 6}
    )
    asked = eddy.Query(
        streams=[eddy.Stream("s", time="t", malformed="why", window=eddy.Range(3))],
        filters=[eddy.Filter("odd", on="s", function=is_odd), eddy.Filter("low", on="s", where="k < 10")],
        select=["s.k AS key", "s.v", "s.t"],
    )
    frames = {"s": feeds.stream(spark, tmp_path / "in", [rows])}
    expected = rows_of(eddy.run_local(asked, {"s": rows}).results)
    assert sum(expected.values()) == 3
    starts: list[dict[str, Any]] = [{}, {"state": "store", "cells": 1}]
    for number, options in enumerate(starts):
        frame = eddy.attach(asked, frames, **options)
        answer = feeds.answer(frame, tmp_path / f"checkpoint {number}")
        assert answer.rows == expected
        assert answer.results.column_names == ["key", "v", "t"]
        assert answer.report.streams()[["rows", "untimed", "malformed"]].to_numpy().tolist() == [[6, 1, 1]]
        assert (tmp_path / f"checkpoint {number}" / "state").is_dir() == bool(options)
    assert "  evaluated by Spark, before: k < 10" in eddy.explain(eddy.attach(asked, frames))
    assert "state on Spark\n  none: it is one step, without a shuffle" in eddy.explain(asked)


@pytest.mark.parametrize(
    ("stream", "state", "said"),
    [
        ({"delay": 5, "time": "id"}, "none", 'state: expected "store", since stream "s" has a delay'),
        ({}, "disk", 'attach: unknown state "disk"'),
    ],
)
def test_states_that_will_not_do(spark: SparkSession, stream: dict[str, Any], state: str, said: str) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("value as id")
    asked = eddy.Query(streams=[eddy.Stream("s", **stream)], filters=[eddy.Filter("f", on="s", where="id > 1")])
    with pytest.raises(eddy.QueryError, match=said):
        eddy.attach(asked, {"s": frame}, state=state)


@pytest.mark.parametrize("options", [{"cells": 2}, {"sizes": {"s": 10}}, {"cache_state": "keep"}])
def test_cells_and_saved_caches_go_with_a_state_store(spark: SparkSession, options: dict[str, Any]) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("value as id")
    asked = eddy.Query(streams=[eddy.Stream("s")], filters=[eddy.Filter("f", on="s", where="id > 1")])
    with pytest.raises(eddy.QueryError, match=r'attach: ".*": expected nothing with state="none", since there are no'):
        eddy.attach(asked, {"s": frame}, state="none", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"heavy": ["a.k"]}, r"attach: heavy: expected a dict such as .*, got \['a.k'\]"),
        ({"sizes": 3}, "attach: sizes: expected a dict such as .*, got 3"),
        ({"pushdown": "no"}, "attach: pushdown: expected True or False, got 'no'"),
    ],
)
def test_options_of_another_type(options: dict[str, Any], said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        eddy.attach(eddy.Query(streams=[eddy.Stream("a")]), {}, **options)


@eddy.predicate(rowwise=True, on_error="reject")
def reads(text: str) -> bool:
    return int(text) > 2


def test_rows_that_were_put_aside_are_a_frame_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"k": [1, 3, 4, 5, 7], "text": ["1", "three", "four", "5", "seven"]})
    kept = eddy.where(spark.createDataFrame(rows), is_odd, reads)
    expected = [(3, "three", "reads"), (7, "seven", "reads")]
    assert [tuple(row) for row in eddy.rejected(kept).drop("rejected_because").collect()] == expected
    assert kept.toArrow()["k"].to_pylist() == [5]
    stream = eddy.where(feeds.stream(spark, tmp_path / "in", [rows]), is_odd, reads)
    aside = feeds.answer(eddy.rejected(stream), tmp_path / "checkpoint").results
    assert aside["k"].to_pylist() == [3, 7]
    by_field = eddy.where(spark.createDataFrame(rows).selectExpr("k", "struct(text) as st"), (reads, "st.text"))
    assert sorted(row["k"] for row in eddy.rejected(by_field).collect()) == [3, 4, 7]
    assert eddy.rejected(by_field).columns == ["k", "st", "rejected_by", "rejected_because"]
    assert aside.column_names == ["k", "text", "rejected_by", "rejected_because"]
    assert all(why.startswith("ValueError") for why in aside["rejected_because"].to_pylist())


def test_attach_without_state_keeps_them_too(spark: SparkSession, tmp_path: Path) -> None:
    rows = pa.table({"k": [1, 3, 4], "text": ["5", "three", "four"]})
    asked = eddy.Query(
        streams=[eddy.Stream("s")],
        filters=[
            eddy.Filter("odd", on="s", function=is_odd),
            eddy.Filter("reads", on="s", function=reads, rowwise=True, on_error="reject"),
        ],
        select=["s.k AS key"],
    )
    frame = eddy.attach(asked, {"s": feeds.stream(spark, tmp_path / "in", [rows])})
    aside = feeds.answer(eddy.rejected(frame), tmp_path / "checkpoint").results
    assert aside.drop_columns(["rejected_because"]).to_pylist() == [{"k": 3, "text": "three", "rejected_by": "reads"}]


def test_a_predicate_that_reads_nothing(spark: SparkSession) -> None:
    """Some column has to say how many rows there are, whatever the first one holds."""
    frame = spark.range(4).selectExpr("make_interval(cast(id as int)) as gap", "id")
    always = eddy.Filter("always", on="rows", where="1 = 1")
    assert eddy.where(frame, always).count() == 4
