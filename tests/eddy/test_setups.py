"""A setup runs once in a process, before the first rows, and what it costs is nobody's cost."""

from __future__ import annotations

from typing import Any

import cloudpickle
import pyarrow as pa
import pytest

import eddy
from eddy.predicates.setup import prepare

DATA = {"a": pa.table({"ts": range(20), "v": range(20)})}


def run(*filters: eddy.Filter, **more: Any) -> eddy.Run:
    query = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters)
    return eddy.run_local(query, DATA, batch_rows=5, **more)


def test_it_runs_once_before_the_first_rows_of_all_queries() -> None:
    happened: list[str] = []

    def load() -> None:
        happened.append("load")

    def odd(v: int) -> bool:
        happened.append("odd")
        return v % 2 == 1

    asked = [eddy.Filter(name, on="a", function=odd, rowwise=True, setup=load) for name in ("one", "two")]
    assert happened == []
    for _ in range(2):
        assert run(*asked).results.num_rows == 10
    assert happened[0] == "load"
    assert happened.count("load") == 1


def test_what_it_makes_is_found_where_both_are_sent_together() -> None:
    """As a job's own functions are: cloudpickle gives the copies globals that they share."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("LOADED = []\ndef load(): LOADED.append(3)\ndef judge(v: int) -> bool: return v in LOADED", space)
    asked = eddy.Filter("f", on="a", function=space["judge"], rowwise=True, setup=space["load"])
    for _ in range(2):
        again = cloudpickle.loads(cloudpickle.dumps(asked))
        assert run(again).results["a_v"].to_pylist() == [3]
    assert space["LOADED"] == []


def test_its_seconds_are_not_those_of_the_filter() -> None:
    now = [0.0]

    def load() -> None:
        now[0] += 100

    def clock() -> float:
        now[0] += 1e-6
        return now[0]

    asked = eddy.Filter("f", on="a", function=lambda v: v > 3, setup=load)
    batches = run(asked, clock=clock).report.batches()
    assert now[0] > 100
    assert batches["seconds"].max() < 1


def test_one_that_fails_is_named_and_tried_again() -> None:
    tries: list[int] = []

    def load() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise FileNotFoundError("no model.bin")

    asked = eddy.Filter("spam", on="a", function=lambda v: v > 3, setup=load)
    with pytest.raises(
        eddy.QueryError, match=r'filter "spam": setup ".*load" raised FileNotFoundError: no model.bin, at'
    ):
        run(asked)
    assert run(asked).results.num_rows == 16
    assert len(tries) == 2


def test_a_filter_without_one_needs_nothing() -> None:
    prepare([("f", None)])
