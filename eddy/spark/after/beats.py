"""Gives answers a watermark that is right, and that moves on while there are no results.

Spark has one watermark for a whole query, the least of those of all its nodes; a node's is the largest time that it has
seen, less a delay. Behind the eddy stands one more node, so that results can be aggregated by time:

    streams   newest - delay, the least of them   W
    results   W - span                            the watermark of the query, since it is the least

* A result comes with a row that is on time, so its newest time is not below W. That of another row in it is older by
  the row's horizon at most. This is the span; rows of results are never below W - span.
* The node looks at a column of its own, `moment`, which is W in every row. It cannot look at the time of results: where
  one stream is behind the others, results are ahead of W, and would make those that come next late.
* Each micro-batch has a row with W, the beat, whether there are results or not. It has no other value, and is dropped
  behind the node. One cell sends it, since all know W.
* A cell sees only its own rows. So every task that packs rows tells each cell how far its stream has come: a tick.
  Cells work out W for themselves, to the same milliseconds as Spark does, which now has W - span.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  as everybody calls it

from eddy.errors import QueryError, quote, write_repr
from eddy.query import Query
from eddy.query.binding import Binding
from eddy.query.shorthand import find_fold, find_free
from eddy.query.statements.result_time import MICROSECONDS, check_clocks
from eddy.spark.parcels import LATEST
from eddy.sql import Column, backtick

NEWEST = "the newest time"
"""What an answer's time is called in a checkpoint where it is none of a single stream."""

DELAY_KEY = "spark.watermarkDelayMs"
"""How Spark marks a column as an event time with a watermark, in its metadata."""

BEATING = 0
"""The cell that sends the beat. Every cell is called in each micro-batch with rows, since each gets its ticks."""

MOMENT_TYPE = pa.timestamp("us", "UTC")


@dataclass(frozen=True, kw_only=True)
class Beats:
    """What a cell must know to work out the watermark of the streams.

    These are the delay of each stream in milliseconds, and the engine's ticks in a millisecond. Where the answer has a
    watermark of its own, they are also the name of the column `moment`, and whose time results have.
    """

    delays: Mapping[str, int]
    ticks_per_ms: int = MICROSECONDS
    moment: str | None = None
    by: str | None = None

    def count_ticks(self, came: Mapping[str, int]) -> dict[str, int]:
        """Turn what packing tasks tell, in microseconds, into the engine's ticks."""
        return {name: latest * self.ticks_per_ms // MICROSECONDS for name, latest in came.items()}

    def find_watermark(self, newest: Mapping[str, float]) -> int | None:
        """Find the watermark of the next micro-batch in milliseconds, as Spark does; None while there is none.

        >>> beats = Beats(delays={"a": 0, "b": 60_000}, moment="moment", by=NEWEST)
        >>> beats.find_watermark({"a": 90_000_999}), beats.find_watermark({"a": 90_000_999, "b": 151_000_000})
        (None, 90000)
        """
        if not self.delays.keys() <= newest.keys():
            return None
        # Each node of Spark's counts whole milliseconds, and none before 1970.
        most, unit = LATEST * self.ticks_per_ms // MICROSECONDS, self.ticks_per_ms
        found = min(math.floor(min(newest[name], most)) // unit - delay for name, delay in self.delays.items())
        return found if found > 0 else None

    def add(
        self, results: Iterator[pa.RecordBatch], schema: pa.Schema, watermark: int | None, cell: int
    ) -> Iterator[pa.RecordBatch]:
        """Give the results of a cell with the column `moment`; before those of one cell comes the beat."""
        if self.moment is None:
            yield from results
            return
        moment = pa.scalar((watermark or 0) * MICROSECONDS, MOMENT_TYPE)
        whole = schema.append(pa.field(self.moment, MOMENT_TYPE))
        if watermark is not None and cell == BEATING:
            nothing = [pa.nulls(1, field.type) for field in schema]
            yield pa.RecordBatch.from_arrays([*nothing, pa.repeat(moment, 1)], schema=whole)
        for rows in results:
            yield pa.RecordBatch.from_arrays([*rows.columns, pa.repeat(moment, rows.num_rows)], schema=whole)


@dataclass(frozen=True, kw_only=True)
class ResultTime:
    """The event time of an answer.

    It is the newest of some columns. They are the times of one stream, or of all. `stream` is "" for all, `shown` are
    the columns of the answer that somebody asked for.
    """

    name: str
    stream: str
    times: Sequence[str]
    shown: Sequence[str]

    @property
    def moment(self) -> str:
        """The name of the column `moment`: no other has it."""
        return find_free("moment", [*self.shown, *self.times, self.name])

    def make_beats(self, delays: Mapping[str, int]) -> Beats:
        """Make what cells must know."""
        by = f'the time of "{self.stream}"' if self.stream else NEWEST
        return Beats(delays=delays, moment=self.moment, by=by)

    def declare(self, answer: DataFrame, span: int, longest: int) -> DataFrame:
        """Declare the watermark, drop the beats, and mark the column as Spark's `withWatermark` would.

        The longest delay and the span are how far the watermark is behind the newest times, and so for how long
        `dropDuplicatesWithinWatermark` remembers.
        """
        moved = answer.withWatermark(self.moment, f"{span} milliseconds")
        # A filter of the user's must not pass this one: below the node it would drop beats. Spark moves no filter past
        # one that it may not evaluate twice, as one is that asks for the number of the task, and moves that one never.
        results = moved.where(_column(self.times[0]).isNotNull() | (F.spark_partition_id() < 0))
        times = [_column(name) for name in self.times]
        time = (F.greatest(*times) if len(times) > 1 else times[0]).alias(
            self.name, metadata={DELAY_KEY: span + longest}
        )
        others = [time if name == self.name else _column(name) for name in self.shown]
        return results.select(*others, *([] if self.name in self.shown else [time]))


def plan_time(binding: Binding, asked: object) -> tuple[Query, ResultTime]:
    """Find what a name stands for, and give the query with all columns that are needed for it."""
    query = binding.query
    if not isinstance(asked, str) or not asked:
        raise QueryError(
            f'attach: time: expected the name of a column of the answer, or a new one, as "at", got {write_repr(asked)}'
        )
    check_clocks(binding)
    if query.own_time is not None:
        return query, _use_own_time(binding, asked, query.own_time)
    return _use_streams_time(binding, asked)


def _use_streams_time(binding: Binding, asked: str) -> tuple[Query, ResultTime]:
    """Take the time of a stream, or the newest of all."""
    query = binding.query
    clocks = {Column(stream.name, str(stream.time)): stream.name for stream in query.streams}
    shown = [name for _, name in binding.outputs]
    fold = find_fold(case_sensitive=query.case_sensitive)
    for column, name in binding.outputs:
        if fold(name) == fold(asked):
            if column not in clocks:
                known = quote(name for column, name in binding.outputs if column in clocks)
                raise QueryError(
                    f'attach: time: "{name}" is {column}, which is no event time of a stream; expected '
                    f"{f'one of {known}, or ' if known else ''}a new name, for the newest time in a result"
                )
            return query, ResultTime(name=name, stream=clocks[column], times=[name], shown=shown)
    found = {column: name for column, name in binding.outputs if column in clocks}
    taken = [*shown, asked]
    added = []
    for column in clocks:
        if column not in found:
            found[column] = find_free(f"{column.stream}_{column.name}", taken)
            taken.append(found[column])
            added.append(f"{column.stream}.{backtick(column.name)} AS {backtick(found[column])}")
    if added:
        query = replace(query, select=[*(query.select or ()), *added])
    return query, ResultTime(name=asked, stream="", times=[found[column] for column in clocks], shown=shown)


def _use_own_time(binding: Binding, asked: str, own: str) -> ResultTime:
    """Take the answer's own time: what is told with a micro-batch has not been passed by the watermark before."""
    shown = [*(name for _, name in binding.outputs), own]
    fold = find_fold(case_sensitive=binding.query.case_sensitive)
    if fold(asked) != fold(own):
        raise QueryError(
            f'attach: time: expected "{own}", the time of what is told later than it begins, got "{asked}"; results '
            "of any other time may come, and groups by it would not close"
        )
    return ResultTime(name=own, stream="", times=[own], shown=shown)


def _column(name: str) -> SparkColumn:
    return F.col(backtick(name))
