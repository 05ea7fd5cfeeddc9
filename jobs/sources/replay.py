"""A workload as a data source of Spark, written in Python.

Offsets are numbers of rows. Before Spark 4.2 a source in Python cannot say how much of it a micro-batch takes, so there
all of it is one; from then on `paced.py` does.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from eddy.jobs.sources.workload import cut, make_data, slices
from eddy.spark.versions import HAS_READ_LIMITS

PARTS = 2
"""Tasks that read a micro-batch: reading is a slice of what is in memory, so more would only be more to start."""


class Replay(DataSource):
    """The rows of one input of a workload, in order."""

    @classmethod
    def name(cls) -> str:
        """Give the name that `format` takes."""
        return "eddy_workload"

    def schema(self) -> StructType:
        """That of the data."""
        return from_arrow_schema(make_data(self.options["recipe"])[self.options["input"]].schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's names
        """Reads in micro-batches.

        Spark asks for it in a process of its own, which belongs to the job's terminal: Ctrl-C reaches it as well, and
        the micro-batch under way is to be finished all the same. It ends when Spark does.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        recipe, name = self.options["recipe"], self.options["input"]
        if not HAS_READ_LIMITS:
            return ReplayReader(recipe, name)
        from eddy.jobs.sources.paced import PacedReader  # noqa: PLC0415  an older Spark has not what it derives from

        return PacedReader(recipe, name, int(self.options["per_trigger"]))


class RowRange(InputPartition):
    """Rows from one number to another."""

    def __init__(self, start: int, end: int) -> None:
        super().__init__((start, end))
        self.start, self.end = start, end


class ReplayReader(DataSourceStreamReader):
    """Goes through the rows, all of them in one micro-batch."""

    def __init__(self, recipe: str, name: str) -> None:
        self._recipe = recipe
        self._input = name

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Give the first row."""
        return {"row": 0}

    def latestOffset(self, *asked: Any) -> dict[str, int]:  # noqa: N802
        """Give the end, which is known: no row is ever added."""
        return {"row": self.rows()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Give the rows of a micro-batch, for some tasks."""
        return [RowRange(low, high) for low, high in cut(start["row"], end["row"], PARTS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows of a task."""
        assert isinstance(partition, RowRange)
        yield from slices(self._recipe, self._input, partition.start, partition.end)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing is held."""

    def stop(self) -> None:
        """Nothing is open."""

    def rows(self) -> int:
        """Count the rows of the input."""
        table: Any = make_data(self._recipe)[self._input]
        return int(table.num_rows)
