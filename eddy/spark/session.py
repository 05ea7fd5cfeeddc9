"""Checks the settings of a session that a query depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eddy.errors import QueryError, warn
from eddy.observe.text import plural

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = "spark.sql.shuffle.partitions"

MANY_PER_CELL, MANY_EMPTY = 4, 16
"""Partitions for each cell, and partitions without any, from which on they are what a micro-batch takes its time
for: each is a task and some files, whether rows come to it or not. A handful costs less than it would to read this."""


def check(spark: SparkSession) -> None:
    """Refuse settings with which the answer would be another one."""
    policy = spark.conf.get("spark.sql.streaming.multipleWatermarkPolicy", "min")
    if policy != "min":
        raise QueryError(
            'attach: spark.sql.streaming.multipleWatermarkPolicy: expected "min", since rows of the slower stream '
            f'would be late otherwise, got "{policy}"'
        )


def look_at_partitions(spark: SparkSession, cells: int) -> None:
    """Warn of partitions that no cell is in.

    Spark's default is 200 partitions, and a checkpoint keeps their number.
    """
    partitions = int(str(spark.conf.get(PARTITIONS)))
    if partitions >= MANY_PER_CELL * cells and partitions - cells >= MANY_EMPTY:
        raised = f"{plural(cells, 'cell')} in {plural(partitions, 'partition')}"
        warn(
            f"attach: {raised}: each micro-batch will have {partitions - cells:,} tasks with nothing to do, and a "
            "new checkpoint keeps the number for good; before the query starts, write "
            f'spark.conf.set("{PARTITIONS}", {cells})'
        )
