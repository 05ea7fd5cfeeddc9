"""Spark spreads the cells over its partitions as their labels promise."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.spark.layout.hashing import cell_of, label, murmur3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@given(st.integers(0, 2**31 - 1))
def test_a_label_hashes_to_its_cell_and_names_it(cell: int) -> None:
    assert murmur3(label(cell)) == cell
    assert cell_of(label(cell)) == cell
    assert -(2**63) <= label(cell) < 2**63


def test_labels_never_change() -> None:
    """State is kept under them."""
    assert [label(cell) for cell in range(3)] == [-6426563555029417984, 3657834749046554625, -6838818486311976958]


def test_spark_hashes_a_number_as_we_do(spark: SparkSession) -> None:
    numbers = [0, 1, -1, 2**31, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), *(label(cell) for cell in range(100))]
    frame = spark.createDataFrame(pa.table({"n": pa.array(numbers, pa.int64())})).selectExpr("n", "hash(n) as h")
    assert {row.n: row.h for row in frame.collect()} == {number: murmur3(number) for number in numbers}


@pytest.mark.parametrize(("cells", "partitions"), [(8, 8), (8, 3), (2, 5), (16, 4), (5, 2)])
def test_every_partition_of_spark_gets_as_many_cells(spark: SparkSession, cells: int, partitions: int) -> None:
    labels = pa.table({"cell": pa.array([label(cell) for cell in range(cells)], pa.int64())})
    frame = spark.createDataFrame(labels).repartition(partitions, "cell").selectExpr("spark_partition_id() as p")
    counts = Counter(row.p for row in frame.collect())
    assert len(counts) == min(cells, partitions)
    assert max(counts.values()) - min(counts.values()) <= 1
