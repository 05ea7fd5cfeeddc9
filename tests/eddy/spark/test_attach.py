"""attach: the naive answer, what run_local answers, and what Spark's own joins and filters do."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
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
from tests import joins, reference
from tests.eddy.spark import feeds
from tests.eddy.test_same_answer import rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SECOND = 1_000_000
DAY = 1_704_067_200 * SECOND
WINDOW = 15

EXAMPLES = 9
"""Random queries of every kind, in one cell and in several: each is a streaming query of some seconds."""

MICRO_BATCHES = 3


def table(seconds: Sequence[float | None], keys: Sequence[int | None], values: Sequence[int | None]) -> pa.Table:
    moments = [None if s is None else DAY + round(s * SECOND) for s in seconds]
    return pa.table(
        {
            "ts": pa.array(moments, pa.timestamp("us", "UTC")),
            "k": pa.array(keys, pa.int64()),
            "v": pa.array(values, pa.int32()),
        }
    )


def rows(seed: int, count: int = 40, batches: int = MICRO_BATCHES) -> list[pa.Table]:
    """Micro-batches of a stream: event times out of order, and keys with nulls."""
    chance = np.random.default_rng(seed)
    found = []
    for number in range(batches):
        keys = [None if k == 9 else k for k in chance.integers(0, 10, count).tolist()]
        times = chance.integers(number * 20, number * 20 + 30, count).tolist()
        found.append(table(times, keys, chance.integers(0, 100, count).tolist()))
    return found


def odd(v: npt.NDArray[np.int32]) -> Any:
    return v % 2 == 1


BIG = eddy.Filter("big", on="a", where="a.v > 20")


def query(names: str = "ab", **changes: Any) -> eddy.Query:
    """A chain of joins by one key, a filter in SQL on the first stream, and one in Python on the last."""
    window = eddy.Range(f"{WINDOW} seconds")
    return eddy.Query(
        **{
            "streams": [eddy.Stream(name, time="ts", window=window, delay="60 seconds") for name in names],
            "joins": [f"{one}.k = {other}.k" for one, other in pairwise(names)],
            "filters": [BIG, eddy.Filter("odd", on=names[-1], function=odd)],
            **changes,
        }
    )


def local(asked: eddy.Query, data: Mapping[str, Any]) -> Counter[tuple[Any, ...]]:
    return rows_of(eddy.run_local(asked, data).results)


def native(frames: Mapping[str, DataFrame]) -> DataFrame:
    """The same as `query` asks, in Spark's own words."""
    from pyspark.sql import functions as F  # noqa: N812

    names = list(frames)
    odds = F.udf(lambda v: v % 2 == 1, "boolean")
    renamed = {
        name: frame.select(*(F.col(c).alias(f"{name}_{c}") for c in frame.columns)).withWatermark(
            f"{name}_ts", "60 seconds"
        )
        for name, frame in frames.items()
    }
    renamed[names[0]] = renamed[names[0]].where("a_v > 20")
    renamed[names[-1]] = renamed[names[-1]].where(odds(f"{names[-1]}_v"))
    joined = renamed[names[0]]
    for place, name in enumerate(names[1:], 1):
        near = [
            f"{one}_ts >= {other}_ts - interval {WINDOW} seconds"
            for pair in combinations(names[: place + 1], 2)
            for one, other in (pair, pair[::-1])
        ]
        joined = joined.join(renamed[name], F.expr(f"{names[place - 1]}_k = {name}_k and " + " and ".join(near)))
        # Spark joins on with one event time only; of an expression it forgets that it is one.
        joined = joined.withColumn(f"{name}_ts", F.expr(f"{name}_ts + interval 0 seconds"))
    return joined


@pytest.mark.parametrize(
    ("names", "cells", "pushdown", "policy"),
    [
        pytest.param("ab", 1, False, "fixed", marks=pytest.mark.long),
        ("ab", 3, True, "content"),
        pytest.param("abc", 4, True, "random", marks=pytest.mark.long),
        ("abc", None, False, "lottery"),
    ],
)
def test_sparks_own_joins_answer_the_same(
    spark: SparkSession, tmp_path: Path, names: str, cells: int | None, pushdown: bool, policy: str
) -> None:
    data = {name: rows(seed) for seed, name in enumerate(names)}
    frames = feeds.streams(spark, tmp_path / "in", data)
    frame = eddy.attach(query(names), frames, policy=policy, cells=cells, pushdown=pushdown)
    assert frame.isStreaming
    found = feeds.answer(frame, tmp_path / "ours")
    assert sum(found.rows.values()) > 100
    assert found.rows == local(query(names), data)
    assert found.rows == feeds.answer(native(frames), tmp_path / "theirs").rows


def test_caches_keep_to_their_memory_and_are_told(spark: SparkSession, tmp_path: Path) -> None:
    data = {name: rows(seed) for seed, name in enumerate("abc")}
    frames = feeds.streams(spark, tmp_path / "in", data)
    policy = {"name": "a_caching", "order": "fixed", "force": ["cached_b_c"]}
    found = feeds.answer(
        eddy.attach(query("abc"), frames, policy=policy, cells=2, cache_memory=5_000, cache_state="keep"),
        tmp_path / "checkpoint",
    )
    assert found.rows == local(query("abc"), data)
    told = found.report.caches()
    assert told["cache"].unique().tolist() == ["b, c"]
    assert told["look_ups"].sum() > 0
    assert told["filled"].sum() > 0
    assert (told["nbytes"] <= 2 * 5_000).all()


def cut(case: joins.Case) -> joins.Case:
    """In few micro-batches: each of Spark's takes a second."""
    longest = max(len(case.rows[name]) for name in case.streams)
    return replace(case, batch_rows=max(-(-longest // MICRO_BATCHES), 1))


def frames_of(spark: SparkSession, case: joins.Case, place: Path) -> dict[str, Any]:
    """The inputs of a random query: streams of files; tables of Spark, of Arrow, and of pandas."""
    found: dict[str, Any] = {}
    for name, whole in case.by_source(case.data()).items():
        if name == joins.SHARED or name in case.streams:
            parts = [whole.slice(i, case.batch_rows) for i in range(0, max(whole.num_rows, 1), case.batch_rows)]
            found[name] = feeds.stream(spark, place / name, parts)
        else:
            found[name] = spark.createDataFrame(whole) if len(found) % 2 else whole
    return found


@settings(max_examples=EXAMPLES)
@given(cells=st.sampled_from([1, 5]), case=joins.cases(clocks=False).map(cut))
def test_any_query_gives_the_naive_answer(spark: SparkSession, cells: int, case: joins.Case) -> None:
    """Windows of rows are those of one cell: where all joins share a key there may be several, with their own."""
    cells = 1 if any(source.rows for source in case.streams.values()) else cells
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        frames = frames_of(spark, case, place / "in")
        frame = eddy.attach(case.query(), frames, policy="random", index=case.index, cells=cells, pushdown=False)
        found = feeds.answer(frame, place / "checkpoint")
    told = (case.question(), case.batches())
    assert found.rows == reference.answer(*told)
    counted = found.report.batches()[["late", "ahead"]].sum().tolist()
    assert counted == [reference.late_rows(*told), reference.ahead_rows(*told)]


def test_filters_alone(spark: SparkSession, tmp_path: Path) -> None:
    """They need no event time: then rows of any, and without any, take part, also after a restart."""
    asked = query("a", streams=[eddy.Stream("a")])
    data = {"a": [*rows(5), table([None, -DAY / SECOND], [1, 2], [21, 23])]}
    frame = feeds.stream(spark, tmp_path / "in", data["a"][:2])
    found = feeds.answer(eddy.attach(asked, {"a": frame}, pushdown=False), tmp_path / "checkpoint")
    feeds.write(tmp_path / "in", data["a"][2:])
    more = feeds.answer(eddy.attach(asked, {"a": frame}, pushdown=False), tmp_path / "checkpoint")
    assert found.rows + more.rows == local(asked, data)
    assert not any(progress.eventTime for progress in more.query.recentProgress)
    assert more.report.batches()[["rows", "late", "untimed"]].sum().tolist() == [42, 0, 0]


def careful(v: npt.NDArray[np.int32]) -> Any:
    if ((v <= 20) | (v >= 80)).any():
        raise ValueError("somebody was to drop this row before")
    return v % 3 > 0


def test_filters_wait_for_others_also_if_spark_evaluates_these(spark: SparkSession, tmp_path: Path) -> None:
    """A start after the first one may have them wait for others."""
    few = eddy.Filter("few", on="a", where="a.v < 80", after="odd")
    safe = eddy.Filter("safe", on="a", function=careful, columns=["v"], after=["big", "few"])
    asked = query(filters=[safe, few, BIG, eddy.Filter("odd", on="b", function=odd)])
    data = {name: rows(seed) for seed, name in enumerate("ab")}
    found: Counter[tuple[Any, ...]] = Counter()
    for part, waiting in enumerate((asked, replace(asked, filters=[safe.pin(["few"]), *asked.filters[1:]]))):
        frames = feeds.streams(spark, tmp_path / "in", {name: tables[part::2] for name, tables in data.items()})
        answer = feeds.answer(eddy.attach(waiting, frames, cells=2), tmp_path / "checkpoint")
        assert answer.report.errors().empty
        assert {"safe", "few"} <= {*answer.report.operators()["operator"]}
        assert "big" not in {*answer.report.operators()["operator"]}
        found += answer.rows
    assert found == local(asked, {name: [*tables[0::2], *tables[1::2]] for name, tables in data.items()}) != Counter()


def test_nulls_and_functions_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """A function sees nulls, one that is on its way to be one of Spark's too; those that are skipped are counted."""
    from pyspark.sql.pandas.functions import pandas_udf

    def unknown(k: pd.Series) -> pd.Series:
        return k.isna() | (k > 4)

    wrap: Any = pandas_udf

    skips = eddy.Filter("skips", on="a", function=odd, nulls="skip")
    wrapped = eddy.Filter("wrapped", on="a", function=wrap(unknown, "boolean"))
    asked = query("a", filters=[skips, wrapped])
    data = {"a": [*rows(5), table([30, 31, 32, 33], [None, 7, 1, None], [None, None, 3, 5])]}
    frames = feeds.streams(spark, tmp_path / "in", data)
    found = feeds.answer(eddy.attach(asked, frames, policy="fixed", cells=2), tmp_path / "checkpoint")
    assert found.rows == local(asked, data)
    assert any(None in row for row in found.rows)
    assert found.report.operators()["skipped"].tolist() == [2, 0]


def test_lookup_tables(spark: SparkSession, tmp_path: Path) -> None:
    """Of Arrow, of pandas and of Spark, all of them in one query."""
    lookup = pa.table({"k": [1, 2, 2, None], "name": ["one", "two", "zwei", "none"]})
    frame = lookup.to_pandas().astype({"k": "Int64"})
    tables = {"arrow": lookup, "frame": frame, "sparks": spark.createDataFrame(lookup)}
    asked = query("ab", tables=[*map(eddy.Table, tables)], joins=["a.k = b.k", *(f"a.k = {name}.k" for name in tables)])
    streams = {"a": rows(1), "b": rows(2)}
    expected = local(asked, {**streams, **dict.fromkeys(tables, lookup)})
    assert expected
    frames = feeds.streams(spark, tmp_path / "in", streams)
    assert feeds.answer(eddy.attach(asked, {**frames, **tables}, cells=2), tmp_path / "checkpoint").rows == expected


@pytest.mark.parametrize("cells", [1, 3])
def test_late_rows_are_dropped_and_counted(spark: SparkSession, tmp_path: Path, cells: int) -> None:
    """Beside rows on time, and in parcels with nothing but late rows, which Spark must not drop unseen."""
    streams = [eddy.Stream(name, time="ts", window=eddy.Range("50 seconds"), delay="10 seconds") for name in "ab"]
    data = {
        "a": [table([100], [1], [1]), table([95, 80, None], [1, 1, 1], [2, 3, 4]), table([20], [1], [5])],
        "b": [table([100], [1], [1]), table([99], [1], [2]), table([89.999, 90], [1, 1], [3, 4])],
    }
    asked = query(streams=streams, filters=[], select=["a.v AS a", "b.v AS b"])
    frame = eddy.attach(asked, feeds.streams(spark, tmp_path / "in", data), cells=cells)
    found = feeds.answer(frame, tmp_path / "checkpoint")
    assert sorted(found.rows) == [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (2, 4)]
    streams_of = found.report.streams().set_index(["batch", "stream"])[["rows", "untimed", "late"]]
    assert {
        key: tuple(map(int, counts)) for key, counts in zip(streams_of.index, streams_of.to_numpy(), strict=True)
    } == {
        (0, "a"): (1, 0, 0),
        (0, "b"): (1, 0, 0),
        (1, "a"): (3, 1, 1),
        (1, "b"): (1, 0, 0),
        (2, "a"): (1, 0, 1),
        (2, "b"): (2, 0, 1),
    }


def test_streams_that_begin_late_end_early_or_pause(spark: SparkSession, tmp_path: Path) -> None:
    """While a stream has shown no row there is no watermark, so nothing is late and nothing leaves."""
    streams = [eddy.Stream(name, time="ts", window=eddy.Range("1 hour"), delay="0 seconds") for name in "abc"]
    none = table([], [], [])
    data = {
        "a": [table([100], [1], [1]), table([50], [1], [2]), none, none, table([90, 110], [1, 1], [3, 4])],
        "b": [table([100], [1], [1]), none, none, none, table([110], [1], [2])],
        "c": [none, none, none, table([100], [1], [1])],
    }
    asked = query("abc", streams=streams, filters=[], select=["a.v AS a", "b.v AS b", "c.v AS c"])
    frame = eddy.attach(asked, feeds.streams(spark, tmp_path / "in", data), cells=2)
    found = feeds.answer(frame, tmp_path / "checkpoint")
    assert found.rows == local(asked, data)
    assert sorted(found.rows) == [(1, 1, 1), (1, 2, 1), (2, 1, 1), (2, 2, 1), (4, 1, 1), (4, 2, 1)]
    assert found.report.batches()["batch"].tolist() == [0, 1, 3, 4]


def test_results_may_be_many_more_than_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Every row joins every other one."""
    many = table([1] * 600, [1] * 600, list(range(600)))
    asked = query(filters=[], select=["a.v AS a", "b.v AS b"])
    frame = eddy.attach(asked, feeds.streams(spark, tmp_path / "in", {"a": [many], "b": [many]}), cells=1)
    found = feeds.answer(frame, tmp_path / "checkpoint")
    assert found.results.num_rows == len(found.rows) == 360_000
    assert found.report.batches()["results"].sum() == 360_000
