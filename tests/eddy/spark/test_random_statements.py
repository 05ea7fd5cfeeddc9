"""Random statements give the same rows as in Spark's own SQL; `tests/soak` has more of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.soak.statements import through
from tests.sparks import WATERMARKS_IN_SQL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = 5
"""Each is two streaming queries of some seconds: more of them are a part of the soak."""

SEEDS = (0,)


@WATERMARKS_IN_SQL
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_text_gives_the_same_rows(spark: SparkSession, seed: int) -> None:
    caught = through(spark).run(seed, 0, CASES)
    assert not caught.failures, "\n".join(caught.failures.values())
    assert sum(count for word, count in caught.words.items() if "with results" in word) > CASES // 4
