"""Several queries as one step on Spark: each answers as it would alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import eddy
from eddy.errors import QueryError
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import local, odd, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Counter[tuple[Any, ...]]

BATCHES = 4

# The rows of one stream are behind: whoever reads it has another watermark than the others.
DATA = {name: rows(seed, batches=BATCHES + (name == "c")) for seed, name in enumerate("abc")}
DATA["c"] = [DATA["c"][0], *DATA["c"][:3]]


def stream(name: str, seconds: int = 15, **more: Any) -> eddy.Stream:
    window = more.pop("window", eddy.Range(f"{seconds} seconds"))
    return eddy.Stream(name, time="ts", window=window, delay="5 seconds", **more)


ODD = eddy.Filter("odd", on="b", function=odd)

BY_K = eddy.Query(
    name="by_k",
    streams=[stream("a"), stream("b", 9)],
    joins=["a.k = b.k"],
    filters=[ODD, eddy.Filter("big", on="a", where="v > 20")],
)
BY_V = eddy.Query(
    name="by_v",
    streams=[stream("b", 20), stream("c", 30)],
    joins=["b.v = c.v"],
    filters=[ODD, eddy.Filter("small", on="b", where="v < 80")],
    select=["b.k AS b_k", "c.v AS c_v"],
)
ALONE = eddy.Query(name="alone", streams=[stream("b")], filters=[ODD, eddy.Filter("few", on="b", where="k = 3")])
ITSELF = eddy.Query(
    name="itself",
    streams=[stream("one", 8, source="a"), stream("other", 12, source="a")],
    joins=["one.v = other.v", "one.k < other.k"],
    select=["one.k AS one", "other.k AS two"],
)
MEMBERS = [BY_K, BY_V, ALONE, ITSELF]


def expected(asked: eddy.Query, first: int = 0, last: int = BATCHES) -> Rows:
    return local(asked, {source: DATA[source][first:last] for source in asked.sources})


def open_frames(spark: SparkSession, place: Path, names: str = "abc") -> dict[str, DataFrame]:
    return {name: feeds.stream(spark, place / name) for name in names}


def add(place: Path, first: int, last: int, names: str = "abc") -> None:
    for name in names:
        feeds.write(place / name, DATA[name][first:last])


def divide(found: feeds.Answer, members: list[eddy.Query]) -> dict[str, Rows]:
    """The rows of each query, with the columns that it has alone."""
    answers = {}
    for one in members:
        names = eddy.run_local(one, {source: DATA[source][:1] for source in one.sources}).results.schema.names
        own = found.results.filter(pa.compute.equal(found.results.column("query"), one.name)).select(names)
        answers[one.name] = feeds.Answer(own, found.query).rows
    return answers


@pytest.mark.parametrize(("pushdown", "cells"), [(True, 3), (False, 2), pytest.param(True, 1, marks=pytest.mark.long)])
def test_each_answers_as_it_would_alone(spark: SparkSession, tmp_path: Path, pushdown: bool, cells: int) -> None:
    """They have other streams, keys, windows and watermarks, one has no join, and one has a stream twice."""
    add(tmp_path, 0, BATCHES)
    frames = open_frames(spark, tmp_path)
    frame = eddy.attach(eddy.Queries(MEMBERS), frames, cells=cells, pushdown=pushdown)
    found = feeds.answer(frame, tmp_path / "checkpoint")
    alone = {one.name: expected(one) for one in MEMBERS}
    assert min(rows.total() for rows in alone.values()) > 3
    assert divide(found, MEMBERS) == alone
    report = found.report
    assert isinstance(report, eddy.ReportTogether)
    told = report.queries().set_index("query")["results"]
    assert told.to_dict() == {name: rows.total() for name, rows in alone.items()}
    assert report["by_k"].batches()["results"].sum() == alone["by_k"].total()
    if not pushdown:
        late = report["by_v"].streams()["late"].sum()
        assert late == eddy.run_local(BY_V, {s: DATA[s] for s in "bc"}).report.streams()["late"].sum()


def test_many_queries_whose_filters_spark_evaluates(spark: SparkSession, tmp_path: Path) -> None:
    """What Catalyst knows of rows doubles with each column that stands for a part of a condition, if there are many."""
    members = [
        replace(ALONE, name=f"above_{n}", filters=[eddy.Filter("above", on="b", where=f"v > {n}")]) for n in range(30)
    ]
    add(tmp_path, 0, 1)
    frame = eddy.attach(eddy.Queries(members), open_frames(spark, tmp_path, "b"))
    found = divide(feeds.answer(frame, tmp_path / "checkpoint"), members)
    assert found == {query.name: expected(query, 0, 1) for query in members}
    assert len({sum(rows.values()) for rows in found.values()}) > 1


def test_queries_come_and_go_with_restarts(spark: SparkSession, tmp_path: Path) -> None:
    """One that comes begins as on a new checkpoint, and the others do not notice."""
    starts = [([BY_K, BY_V], 0, 2), ([ITSELF, BY_V], 2, 3), ([BY_V], 3, BATCHES)]
    found: dict[str, Rows] = {}
    for members, first, last in starts:
        add(tmp_path, first, last)
        kept = [] if BY_K in members else [stream("a")]
        frame = eddy.attach(eddy.Queries(members, streams=kept), open_frames(spark, tmp_path), cells=2)
        answer = feeds.answer(frame, tmp_path / "checkpoint")
        for name, own in divide(answer, members).items():
            found[name] = found.get(name, Counter()) + own
    assert found == {"by_k": expected(BY_K, 0, 2), "by_v": expected(BY_V), "itself": expected(ITSELF, 2, 3)}


def test_what_does_not_fit_the_checkpoint_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, 0, 1)
    feeds.answer(eddy.attach(eddy.Queries([BY_K, ALONE]), open_frames(spark, tmp_path, "ab")), tmp_path / "checkpoint")
    add(tmp_path, 1, 2)
    changed = replace(BY_K, joins=["a.k = b.k", "a.v <> b.v"])
    others: list[tuple[Any, str, str]] = [
        (eddy.Queries([changed, ALONE]), "ab", 'query "by_k": checkpoint: it belongs to another query; join "a.v'),
        (BY_K, "ab", "it belongs to several queries, this start has one query"),
        (eddy.Queries([BY_K, ALONE]), "ab", "its queries share 4 cells, this start has 2"),
    ]
    for asked, names, message in others:
        cells = 2 if "2" in message else None
        frame = eddy.attach(asked, open_frames(spark, tmp_path, names), cells=cells)
        with pytest.raises(StreamingQueryException, match=message):
            feeds.answer(frame, tmp_path / "checkpoint")
    frame = eddy.attach(eddy.Queries([BY_K, ALONE]), open_frames(spark, tmp_path, "ab"))
    found = divide(feeds.answer(frame, tmp_path / "checkpoint"), [BY_K])
    assert found["by_k"] == expected(BY_K, 0, 2) - expected(BY_K, 0, 1)


def test_each_function_gets_the_rows_and_columns_of_its_query(spark: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, 0, 2)
    frame = eddy.attach(eddy.Queries([BY_K, BY_V]), open_frames(spark, tmp_path))
    assert eddy.of(frame, "by_v").columns == ["b_k", "c_v"]
    got: dict[str, list[pa.Table]] = {"by_k": [], "by_v": []}
    functions = {name: lambda rows, _, parts=parts: parts.append(rows.toArrow()) for name, parts in got.items()}
    writer = frame.writeStream.foreachBatch(eddy.each(functions)).option(
        "checkpointLocation", str(tmp_path / "checkpoint")
    )
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    for one in (BY_K, BY_V):
        assert feeds.Answer(pa.concat_tables(got[one.name]), query).rows == expected(one, 0, 2)


def test_bad_input_is_one_error(spark: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, 0, 1)
    frames = open_frames(spark, tmp_path)
    queries = eddy.Queries([BY_K, BY_V])
    other_type = replace(BY_V, select=["b.ts AS a_k"])
    for asked, given, options, message in (
        (queries, frames, {"time": "at"}, "attach: time: expected none for queries that are answered together"),
        (queries, frames, {"remember": "here"}, "attach: remember: expected none"),
        (queries, frames, {"state": "none"}, 'attach: state: expected "store"'),
        (queries, frames, {"sizes": {"z": 1}}, 'sizes: unknown stream "z"'),
        (queries, {**frames, "c": spark.range(3)}, {}, 'frame "c": expected a streaming DataFrame'),
        (queries, {"a": frames["a"]}, {}, 'expected data for every stream and table, got none for "b", "c"'),
        (eddy.Queries([BY_K, other_type]), frames, {}, 'column "a_k" is int64 in "by_k" and timestamp'),
        (eddy.Queries([replace(BY_K, select=["a.k AS query"]), BY_V]), frames, {}, 'has a column "query"'),
        (eddy.Queries([replace(BY_K, select=["a.nn"]), BY_V]), frames, {}, 'query "by_k": select "a.nn": unknown'),
        (eddy.Queries([BY_K, replace(BY_V, select=["b.v AS A_K"])]), frames, {}, '"A_K" of "by_v" differ in case only'),
    ):
        with pytest.raises(QueryError, match=message):
            eddy.attach(asked, given, **options)
    answer: Any = eddy.attach(queries, frames)
    with pytest.raises(QueryError, match='of: unknown query "by"; did you mean'):
        eddy.of(answer, "by")
    with pytest.raises(QueryError, match='each: unknown query "by"; did you mean'):
        eddy.each({"by_k": print, "by": print})(answer, 0)
    with pytest.raises(QueryError, match="of: expected a frame that eddy"):
        eddy.of(frames["a"], "by_k")
    rows_at_hand: Any = DATA["a"][0]
    with pytest.raises(QueryError, match="of: expected a DataFrame of Spark, got Table; what eddy"):
        eddy.of(rows_at_hand, "by_k")
    with pytest.raises(QueryError, match='each: expected a function for every query, got none for "by_v"; give it'):
        eddy.each({"by_k": print})(answer, 0)
