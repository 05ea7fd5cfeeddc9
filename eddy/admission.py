"""Which rows take part, and in which order they arrive.

A row arrives in the order of event time within its micro-batch, then in the order in which the query lists the
streams, then in the order of its source. A row is late when its time is below the watermark: the smallest, over all
streams, of the largest time seen in earlier micro-batches minus the stream's delay. While a stream has shown no row,
or has no delay, there is no watermark, and nothing is late.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eddy import times
from eddy.binding import Binding
from eddy.errors import QueryError
from eddy.query import Stream
from eddy.times import Ticks

Tick = int | float


@dataclass(frozen=True, kw_only=True)
class Admitted:
    """The rows of one stream that take part, in the order of their arrival, and how many do not.

    `arrivals` number the rows among all rows of the micro-batch.
    """

    rows: pa.RecordBatch
    ticks: Ticks
    arrivals: np.ndarray[Any, np.dtype[np.int64]]
    dropped: Mapping[str, int]


class Gate:
    """Admits micro-batches, and knows how far each stream has come."""

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._newest: dict[str, Tick] = {}

    def watermark(self) -> Tick | None:
        """The time below which a row of the next micro-batch is late."""
        lags = {stream.name: stream.lag for stream in self._binding.query.streams}
        if len(self._newest) < len(lags):
            return None
        marks = [self._newest[name] - lag for name, lag in lags.items() if lag is not None]
        return min(marks) if len(marks) == len(lags) else None

    def admit(self, batch: Mapping[str, pa.RecordBatch], number: int) -> dict[str, Admitted]:
        """Sort out the rows of one micro-batch."""
        watermark = self.watermark()
        streams = self._binding.query.streams
        for stream in streams:
            self._check(stream.name, batch[stream.name], number)
        passed = {s.name: self._pass(s, batch[s.name], watermark) for s in streams}
        arrivals = _number([ticks for _, ticks, _ in passed.values()])
        return {
            name: Admitted(rows=rows, ticks=ticks, arrivals=order, dropped=dropped)
            for (name, (rows, ticks, dropped)), order in zip(passed.items(), arrivals, strict=True)
        }

    def snapshot(self) -> dict[str, Tick]:
        """How far each stream has come."""
        return dict(self._newest)

    def restore(self, newest: Mapping[str, Tick]) -> None:
        """Go on from a snapshot."""
        self._newest = dict(newest)

    def _pass(
        self, stream: Stream, rows: pa.RecordBatch, watermark: Tick | None
    ) -> tuple[pa.RecordBatch, Ticks, dict[str, int]]:
        ticks, timed = times.ticks(rows.column(stream.time), self._binding.ticks)
        keep = np.ones(len(ticks), np.bool_) if timed is None else timed
        dropped = {"untimed": len(ticks) - int(keep.sum())}
        ahead = keep & self._ahead(stream, ticks, keep)
        keep = keep & ~ahead
        if keep.any():
            newest = ticks[keep].max().item()
            self._newest[stream.name] = max(newest, self._newest.get(stream.name, newest))
        late = keep & (ticks < watermark) if watermark is not None else np.zeros_like(keep)
        dropped |= {"late": int(late.sum()), "ahead": int(ahead.sum())}
        kept = np.flatnonzero(keep & ~late)
        kept = kept[np.argsort(ticks[kept], kind="stable")]
        if len(kept) == len(ticks) and (kept[1:] > kept[:-1]).all():
            return rows, ticks, dropped
        return rows.take(pa.array(kept)), ticks[kept], dropped

    def _ahead(self, stream: Stream, ticks: Ticks, timed: np.ndarray[Any, np.dtype[np.bool_]]) -> Any:
        """The rows of a clock that runs ahead.

        They are measured from where the stream had come to before, or from the middle of this micro-batch where
        that is later, so that a stream which really has moved on is not locked out for ever.
        """
        if stream.headway is None or not timed.any():
            return np.zeros(len(ticks), np.bool_)
        known = np.sort(ticks[timed])
        middle = known[(len(known) - 1) // 2].item()
        base = max(middle, self._newest.get(stream.name, middle))
        return times.age(ticks, np.full_like(ticks, base)) > stream.headway

    def _check(self, name: str, rows: pa.RecordBatch, number: int) -> None:
        expected = self._binding.schemas[name]
        if not rows.schema.equals(expected):
            raise QueryError(_difference(name, number, expected, rows.schema))


def _number(ticks: Sequence[Ticks]) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    """The place of each row among all rows; equal times keep the order of the streams."""
    order = np.argsort(np.concatenate(ticks), kind="stable")
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return np.split(places, np.cumsum([len(t) for t in ticks])[:-1])


def _difference(name: str, batch: int, expected: pa.Schema, got: pa.Schema) -> str:
    places = [
        f'column "{column}": expected {_type(expected, column)}, got {_type(got, column)}'
        for column in dict.fromkeys((*expected.names, *got.names))
        if _type(expected, column) != _type(got, column)
    ]
    detail = "; ".join(places) or "the columns stand in another order"
    return f'data "{name}": micro-batch {batch} has another schema than the first one: {detail}'


def _type(schema: pa.Schema, column: str) -> str:
    return str(schema.field(column).type) if column in schema.names else "no such column"
