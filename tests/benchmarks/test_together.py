"""The benchmarks of queries that are answered together run, on little data, and all contenders find the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks import query_sets, spark_together, together, turns, workloads
from benchmarks.query_sets import QuerySet
from tests.benchmarks.test_spark import own_files

__all__ = ["own_files"]

LITTLE = 200
"""Rows of a micro-batch."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows in small windows."""
    for name, value in {"BATCH": LITTLE, "WINDOW": 500, "FILLING": 2}.items():
        monkeypatch.setattr(together, name, value)
    monkeypatch.setattr(workloads, "BATCH", LITTLE)
    parts = workloads.batches
    monkeypatch.setattr(together, "batches", lambda data: parts(data, LITTLE))


def test_queries_have_so_many_filters_in_common() -> None:
    streams = together.list_streams()
    for shared in range(5):
        filters = [query.filters for query in QuerySet(count=9, shared=shared, rounds=0).write(streams).values()]
        for place, several in enumerate(zip(*filters, strict=True)):
            definitions = {one.definition for one in several}
            assert len(definitions) == (1 if place < shared else 9), (shared, place)


def test_answers_that_differ_are_found() -> None:
    rows = pa.table({s: [1, 2] for s in "abcd"})
    common = pa.concat_tables([rows, rows.slice(1)]).append_column("query", pa.array(["q0", "q0", "q1"]))
    query_sets.agree({"one": common, "two": {"q0": rows, "q1": rows.slice(1), "q2": rows.slice(2)}})
    with pytest.raises(AssertionError, match=r'"two" has other results than "one": \[\'q1\'\]'):
        query_sets.agree({"one": common, "two": {"q0": rows, "q1": rows}})


@pytest.mark.usefixtures("small")
def test_a_set_calls_functions_as_often_as_its_filters_are_different() -> None:
    parts = together._make_parts(4)
    queries = QuerySet(count=4, shared=3, rounds=0).write(together.list_streams())
    whole, apart = together.Together(queries, parts[0]), together.Apart(queries, parts[0])
    found = 0
    for part in parts:
        answers = {"together": whole(part), "apart": apart(part)}
        query_sets.agree(answers)
        found += sum(rows.num_rows for rows in answers["apart"].values())
    assert found > 0
    assert whole.calls * 16 == apart.calls * (3 + 4)


@pytest.mark.usefixtures("small")
def test_all_parts_of_the_benchmark_without_spark(tmp_path: Path) -> None:
    lines = [str(line) for line in together.eight(counted=2)]
    assert len([line for line in lines if line.endswith((": met", ": missed"))]) == 1
    assert any(": met" in str(line) or ": missed" in str(line) for line in together.one(counted=2))
    assert len([*together.growth((1, 3), counted=2, folder=tmp_path)]) == 3
    assert (tmp_path / "together_queries.svg").exists()
    assert len([*together.parameters((2, 5), counted=2)]) == 5


@pytest.mark.long
@pytest.mark.usefixtures("spark", "own_files")
def test_sets_and_queries_apart_agree_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_together, "EIGHT", QuerySet(count=2))
    monkeypatch.setattr(spark_together, "WARM_ROWS", LITTLE)
    for benchmark in (spark_together.own, spark_together.native):
        lines = [str(line) for line in benchmark(batch=LITTLE, repeats=1, warm=2)]
        assert len([line for line in lines if line.endswith((": met", ": missed"))]) == 2
    lines = [str(line) for line in spark_together.loosest(sizes=(LITTLE,), repeats=1, warm=2)]
    assert [line for line in lines if line.startswith(spark_together.EACH)]
    lines = [str(line) for line in spark_together.growth((1, 2), batch=LITTLE, repeats=1, warm=2)]
    assert lines[-1].startswith("one more query, up to 2: ")
    assert turns.Several({}, at_once=True).step()[1] == {}
