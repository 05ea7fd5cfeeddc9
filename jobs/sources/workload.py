"""A workload's rows as a source.

They come in order and in micro-batches of a known size, so that drift is visible.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pyarrow as pa

from eddy.errors import unknown_name
from eddy.jobs.sources.source import JobSource, SourceValues
from eddy.jobs.workloads.registry import build

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST_WORKLOADS = 4
"""Workloads that a process keeps: the streams of a job are usually of one."""


KNOWN: WeakSet[SparkSession] = WeakSet()
"""The sessions that know our data source: Spark warns of one that it is told of twice."""


class FromWorkload(JobSource):
    """One of the inputs of a workload."""

    def __init__(self, name: str, values: SourceValues) -> None:
        self._input = values["input"] or name
        self._values = values
        data = self._data()
        if self._input not in data:
            raise unknown_name("input", self._input, data, where=f'workload "{values["kind"]}"')

    def schema(self) -> pa.Schema | None:
        """That of the data."""
        schema: pa.Schema = self._data()[self._input].schema
        return schema

    def sample(self, rows: int) -> pa.Table | None:
        """Read the first rows."""
        return self._data()[self._input].slice(0, rows)

    def read(self, rows: int, spark: Callable[[], SparkSession]) -> pa.Table | DataFrame:
        """Read all of them."""
        return self._data()[self._input]

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read the rows in their order, so many at a time."""
        from eddy.jobs.sources.replay import Replay  # noqa: PLC0415  so that validate needs no Spark

        if spark not in KNOWN:
            spark.dataSource.register(Replay)
            KNOWN.add(spark)
        options = {"recipe": self._recipe(), "input": self._input, "per_trigger": str(self._values["per_trigger"])}
        return spark.readStream.format(Replay.name()).options(**options).load()

    def table(self, spark: SparkSession) -> Any:
        """Read all rows."""
        return self._data()[self._input]

    def _recipe(self) -> str:
        parameters = self._values["parameters"]
        return json.dumps({"kind": self._values["kind"], "seed": self._values["seed"], "parameters": parameters})

    def _data(self) -> Mapping[str, pa.Table]:
        return make_data(self._recipe())


@lru_cache(maxsize=MOST_WORKLOADS)
def make_data(recipe: str) -> Mapping[str, pa.Table]:
    """Make the data of a workload.

    Its recipe determines it, so every process makes the same.
    """
    known = json.loads(recipe)
    return build(known["kind"], known["parameters"], seed=known["seed"]).data


def slices(recipe: str, name: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Some rows of an input."""
    yield from make_data(recipe)[name].slice(start, end - start).combine_chunks().to_batches()


def cut(start: int, end: int, parts: int) -> Sequence[tuple[int, int]]:
    """A range of rows in about equal parts, none of them empty.

    >>> cut(0, 5, 2), cut(3, 3, 2)
    ([(0, 2), (2, 5)], [])
    """
    bounds = [start + (end - start) * part // parts for part in range(parts + 1)]
    return [(low, high) for low, high in pairwise(bounds) if low < high]
