"""The frame of every comparison in Spark.

Small micro-batches that do not count come first, then some of each size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks import feeds
from benchmarks.measure import SEED, Agree, Goal, Line, setting, summary
from benchmarks.turns import WARM, Contender, Times, start_all, turns

SETTLING = 1
"""Micro-batches of each new size that do not count: windows and policies are as the size before has left them."""


@dataclass(frozen=True, kw_only=True)
class Suite:
    """Rows of micro-batches: while Spark warms up, and after that.

    Every stream has as many.
    """

    warm: int
    sizes: Sequence[int]
    repeats: int
    warm_batches: int = WARM
    files: int = 1

    @cached_property
    def batches(self) -> list[int]:
        """The rows of each micro-batch of a stream."""
        counted = [size for size in self.sizes for _ in range(SETTLING + self.repeats)]
        return [self.warm] * self.warm_batches + counted

    @property
    def rows(self) -> int:
        """All rows of a stream."""
        return sum(self.batches)

    def write(self, place: Path, data: Mapping[str, pa.Table]) -> None:
        """Write every stream, a folder each."""
        edges = list(accumulate(self.batches, initial=0))
        for name, table in data.items():
            parts = [table.slice(first, size) for first, size in zip(edges, self.batches, strict=False)]
            feeds.write(place / name, parts, self.files)

    def times(
        self, spark: SparkSession, contenders: Mapping[str, Contender], place: Path, agree: Agree
    ) -> Iterator[Times]:
        """Seconds of each size; the first micro-batch of all is over when a query has started."""
        with start_all(spark, contenders, place) as running:
            turns(running, self.warm_batches - 1, agree=agree)
            for number in range(len(self.sizes)):
                turns(running, SETTLING, agree=agree, seed=SEED + 1 + number)
                yield turns(running, self.repeats, agree=agree, seed=SEED + 1 + number)

    def compare(
        self,
        spark: SparkSession,
        contenders: Mapping[str, Contender],
        place: Path,
        *,
        baseline: str,
        goals: Sequence[Mapping[str, Goal]],
        agree: Agree,
    ) -> Iterator[Line]:
        """Work out the ratios of each size, with its goals.

        And those of a further row if there are sizes enough: these have the last goals.
        """
        names, found = list(contenders), []
        for size, goal, times in zip(self.sizes, goals, self.times(spark, contenders, place, agree), strict=True):
            found.append(times)
            yield setting(rows=size * self.repeats, batch=size, seed=SEED) + f", Spark {spark.version}"
            ratios = summary(names, times, baseline=baseline, goals=goal)
            for ratio, seconds in zip(ratios, np.median(times, axis=0), strict=True):
                yield ratio
                yield f"    {seconds * 1e3:7,.0f} ms a micro-batch, {size / seconds:9,.0f} rows a second of a stream"
        if len(found) > 1:
            yield f"a further row, from {self.sizes[0]:,} to {self.sizes[-1]:,} a stream; the seconds are of a million"
            million = slopes(self.sizes, found) * 1e6 / self.repeats
            yield from summary(names, million, baseline=baseline, goals=goals[-1])


def slopes(sizes: Sequence[int], times: Sequence[Times]) -> Times:
    """Fit the seconds of a further row, by least squares.

    There is a row for each repeat and a column for every contender.

    >>> slopes([1, 2, 3], [np.array([[5.0]]), np.array([[7.0]]), np.array([[9.0]])]).round(6).tolist()
    [[2.0]]
    """
    stacked = np.array(times)
    slope = np.polyfit(np.array(sizes, float), stacked.reshape(len(sizes), -1), 1)[0]
    return np.asarray(slope.reshape(stacked.shape[1:]))
