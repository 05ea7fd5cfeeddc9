"""The soak, of few micro-batches, and what it calls flat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.eddy.spark.soak import FULL, Soaked, soak

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 6


@pytest.mark.long
def test_a_short_soak_is_right(spark: SparkSession, tmp_path: Path) -> None:
    found = soak(spark, tmp_path, FEW)
    assert found.right
    assert found.results > 100
    assert found.batches["batch"].tolist() == list(range(FEW))
    assert (found.batches["trigger_seconds"] > 0).all()


@pytest.mark.parametrize(
    ("seconds", "grown", "flat"), [(1.0, 1.0, True), (1.2, 1.05, True), (2.0, 1.0, False), (1.0, 1.3, False)]
)
def test_what_grows_is_not_flat(seconds: float, grown: float, flat: bool) -> None:
    size = 100
    late = pd.Series([n >= FULL + size for n in range(FULL + 2 * size)])
    batches = pd.DataFrame({"batch": range(len(late)), "seconds": 0.1, "restore_seconds": 0.1, "saving_seconds": 0.1})
    batches["trigger_seconds"] = late.map({False: 1.0, True: seconds})
    batches["state_bytes"] = late.map({False: 1_000.0, True: 1_000.0 * grown})
    assert Soaked(right=True, results=1, batches=batches).flat() == flat
