"""A query that is stopped and goes on, on the same checkpoint: what is kept, what is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pytest
from pyspark.errors import StreamingQueryException

import eddy
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import BIG, local, query, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WHOLE = {"a": rows(1, batches=4), "b": rows(2, batches=4)}


def attached(spark: SparkSession, place: Path, asked: eddy.Query, **options: Any) -> Any:
    return eddy.attach(asked, {name: feeds.stream(spark, place / name) for name in asked.inputs}, **options)


def add(place: Path, first: int, last: int) -> None:
    for name, tables in WHOLE.items():
        feeds.write(place / name, tables[first:last])


def test_a_restart_loses_nothing_and_gives_nothing_twice(spark: SparkSession, tmp_path: Path) -> None:
    """Also with another policy, another selection and other code behind the same name."""
    found: Counter[tuple[Any, ...]] = Counter()
    starts: list[Mapping[str, Any]] = [{"policy": "content"}, {"policy": "content", "seed": 1}, {"policy": "random"}]
    for number, options in enumerate(starts):
        add(tmp_path, *((0, 2), (2, 3), (3, 4))[number])
        frame = attached(spark, tmp_path, query(), cells=3, **options)
        answer = feeds.answer(frame, tmp_path / "checkpoint")
        assert answer.report.batches()["batch"].tolist() == [[0, 1], [2], [3]][number]
        found += answer.rows
    assert found == local(query(), WHOLE)


OTHERS: Mapping[str, tuple[Callable[[], eddy.Query], Mapping[str, Any], str]] = {
    "join": (lambda: query(joins=["a.k = b.k", "a.v <> b.v"]), {}, 'join "a.v != b.v": the checkpoint has nothing'),
    "cells": (query, {"cells": 2}, "cells: the checkpoint has 3, this start has 2"),
    "more cells": (query, {"cells": 300}, "cells: the checkpoint has 3, this start has 300"),
}


def test_what_does_not_fit_the_checkpoint_is_refused_and_nothing_is_lost(spark: SparkSession, tmp_path: Path) -> None:
    add(tmp_path, 0, 2)
    found = feeds.answer(attached(spark, tmp_path, query(), cells=3), tmp_path / "checkpoint").rows
    add(tmp_path, 2, 4)
    for build, options, message in OTHERS.values():
        frame = attached(spark, tmp_path, build(), **{"cells": 3, **options})
        with pytest.raises(StreamingQueryException, match=message):
            feeds.answer(frame, tmp_path / "checkpoint")
    found += feeds.answer(attached(spark, tmp_path, query(), cells=3), tmp_path / "checkpoint").rows
    assert found == local(query(), WHOLE)


def test_a_function_that_fails_for_a_while_loses_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """The micro-batch that failed is done again, from the state before it."""
    down = tmp_path / "down"
    down.touch()

    def fails(v: npt.NDArray[np.int32]) -> Any:
        if down.exists():
            raise RuntimeError("the network is down")
        return v % 2 == 1

    asked = query(filters=[BIG, eddy.Filter("odd", on="b", function=fails)])
    add(tmp_path, 0, 4)
    with pytest.raises(StreamingQueryException, match=r'filter "odd": function ".*fails" raised RuntimeError: the net'):
        feeds.answer(attached(spark, tmp_path, asked, cells=2), tmp_path / "checkpoint")
    down.unlink()
    found = feeds.answer(attached(spark, tmp_path, asked, cells=2), tmp_path / "checkpoint").rows
    assert found == local(query(), WHOLE)
