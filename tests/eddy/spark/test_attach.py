"""attach: the same answer as the naive one, as run_local, and as Spark's own joins."""

from __future__ import annotations

import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from tests.eddy.spark import feeds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES = 3


def rows(seed: int, count: int = 40) -> list[pa.Table]:
    """Micro-batches of a stream: event times out of order, keys with nulls, a value."""
    found = []
    chance = np.random.default_rng(seed)
    for number in range(BATCHES):
        seconds = chance.integers(number * 20, number * 20 + 30, count)
        found.append(
            pa.table(
                {
                    "ts": pa.array(
                        [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=int(s)) for s in seconds],
                        pa.timestamp("us", "UTC"),
                    ),
                    "k": pa.array([None if k == 9 else int(k) for k in chance.integers(0, 10, count)], pa.int64()),
                    "v": pa.array(chance.integers(0, 100, count).tolist(), pa.int32()),
                }
            )
        )
    return found


def odd(v: np.ndarray) -> Any:
    return v % 2 == 1


def query(**changes: Any) -> eddy.Query:
    names = changes.pop("names", "ab")
    return eddy.Query(
        **{
            "streams": [
                eddy.Stream(name, time="ts", window=eddy.Range("15 seconds"), delay="60 seconds") for name in names
            ],
            "joins": [f"{one}.k = {other}.k" for one, other in itertools.pairwise(names)],
            "filters": [
                eddy.Filter("big", on="a", where="v > 20"),
                eddy.Filter("odd", on=names[-1], function=odd),
            ],
            **changes,
        }
    )


def local(asked: eddy.Query, data: dict[str, list[pa.Table]]) -> Counter[tuple[Any, ...]]:
    from tests.eddy.test_same_answer import rows_of

    return rows_of(eddy.run_local(asked, data).results)


@pytest.mark.parametrize(("cells", "pushdown", "policy"), [(1, False, "fixed"), (3, True, "content")])
def test_two_streams(spark: SparkSession, tmp_path: Path, cells: int, pushdown: bool, policy: str) -> None:
    data = {"a": rows(1), "b": rows(2)}
    frame = eddy.attach(
        query(), feeds.streams(spark, tmp_path / "in", data), policy=policy, cells=cells, pushdown=pushdown
    )
    assert frame.isStreaming
    found = feeds.answer(frame, tmp_path / "checkpoint")
    assert sum(found.rows.values()) > 100
    assert found.rows == local(query(), data)
