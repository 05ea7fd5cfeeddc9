"""Filters that are added, removed and moved between two starts on the same checkpoint."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import StreamingQueryException

import eddy
from tests import changes, joins
from tests.changes import Changing
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import BIG, cut, local, odd, query
from tests.eddy.spark.test_restart import WHOLE, add, attached

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXAMPLES = 8
"""Random queries with two or three starts each, of which every one is a streaming query."""

ODD = eddy.Filter("odd", on="b", function=odd)


@pytest.mark.long
@settings(max_examples=EXAMPLES)
@given(
    asked=changes.changing(joins.cases(late=False, by_rows=False, clocks=False).map(cut)),
    cells=st.sampled_from([1, 3]),
    pushdown=st.booleans(),
)
def test_filters_come_and_go(spark: SparkSession, asked: Changing, cells: int, pushdown: bool) -> None:
    """Rows of idle cells may not be asked about a filter that comes and goes; the others are judged as in process."""
    check(spark, asked, cells=cells, pushdown=pushdown)


def check(spark: SparkSession, asked: Changing, *, cells: int, pushdown: bool) -> None:
    """All starts on one checkpoint; the policy is another one each time."""
    surely, perhaps = asked.answers()
    case, found = asked.case, Counter[tuple[Any, ...]]()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ends = [*asked.starts[1:], len(case.batches())]
        for number, (first, end) in enumerate(zip(asked.starts, ends, strict=True)):
            frames: dict[str, Any] = {}
            for name, whole in case.by_source(case.data()).items():
                parts = [whole.slice(n * case.batch_rows, case.batch_rows) for n in range(first, end)]
                frames[name] = whole if name in case.tables else feeds.stream(spark, place / name, parts)
            frame = eddy.attach(
                asked.query(number),
                frames,
                policy=("random", "fixed", "content")[number],
                cells=cells,
                pushdown=pushdown,
            )
            found += feeds.answer(frame, place / "checkpoint").rows
    assert surely <= found <= perhaps


def told(frame: DataFrame, checkpoint: Path) -> feeds.Answer:
    """An answer, of which all reports have come."""
    answer = feeds.answer(frame, checkpoint)
    assert len(answer.report.batches()) == 2
    return answer


def test_a_restart_with_other_filters_is_told_and_stored_rows_are_asked(spark: SparkSession, tmp_path: Path) -> None:
    """One in SQL comes, which Spark evaluates, and one in Python goes."""
    add(tmp_path, 0, 2)
    found = feeds.answer(attached(spark, tmp_path, query(filters=[ODD]), cells=3), tmp_path / "checkpoint").rows
    add(tmp_path, 2, 4)
    with pytest.warns(
        eddy.EddyWarning, match='goes on from its checkpoint with other filters added: "big"; removed: "odd"'
    ):
        answer = told(attached(spark, tmp_path, query(filters=[BIG]), cells=3), tmp_path / "checkpoint")
    before = local(query(filters=[ODD]), {name: tables[:2] for name, tables in WHOLE.items()})
    assert found == before
    # Rows of `a` from before are judged by `big`; rows of `b` from before that `odd` had not judged may be there.
    both, big = (local(query(filters=filters), WHOLE) for filters in ([BIG, ODD], [BIG]))
    old = local(query(filters=[BIG, ODD]), {name: tables[:2] for name, tables in WHOLE.items()})
    assert both - old <= answer.rows <= big
    # The next start is of this query: nothing is different.
    add(tmp_path, 4, 4)
    assert not feeds.answer(attached(spark, tmp_path, query(filters=[BIG]), cells=3), tmp_path / "checkpoint").rows


def test_a_column_that_was_not_stored_is_told(spark: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, 0, 1)
    lean = query(filters=[], select=["a.k", "b.v"])
    feeds.answer(attached(spark, tmp_path, lean, cells=2), tmp_path / "checkpoint")
    add(tmp_path, 1, 2)
    asked = query(filters=[BIG], select=["a.k", "b.v"])
    with pytest.raises(StreamingQueryException, match='stream "a": column "v": rows are stored without it, since'):
        feeds.answer(attached(spark, tmp_path, asked, cells=2), tmp_path / "checkpoint")
    wider = query(filters=[eddy.Filter("far", on=("a", "b"), where="a.k + b.v > 50")], select=["a.k", "b.v", "b.ts"])
    assert feeds.answer(attached(spark, tmp_path, wider, cells=2), tmp_path / "checkpoint").rows
