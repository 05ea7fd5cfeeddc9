"""Joins that no two rows inside their windows can satisfy.

A condition such as `b.ts > a.ts + interval 1 hour` contradicts a window of 30 seconds: the query would run for ever and
find nothing. What can be said of two rows' times from the windows alone is `-T_a <= a - b <= T_b`; a condition that
compares the two times, give or take constants, is held against that; give or take two hours where a time zone may
change its clocks in between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from eddy import sql, times
from eddy.errors import QueryError
from eddy.query import Query, Stream
from eddy.sql import Column
from eddy.sql.calendar import DAY
from eddy.window import Range

POSSIBLE: Mapping[str, Callable[[float, float, float], bool]] = {
    "=": lambda low, high, c: low <= c <= high,
    "<": lambda low, _, c: low < c,
    "<=": lambda low, _, c: low <= c,
    ">": lambda _, high, c: high > c,
    ">=": lambda _, high, c: high >= c,
}
"""Can a difference between `low` and `high` compare with `c` as asked."""


CLOCK_CHANGE = DAY // 12
"""A day may be shorter or longer by as much where clocks change; shorter intervals are exact."""


def check(query: Query, types: Mapping[Column, pa.DataType]) -> None:
    """Refuse a join of two streams' times that their windows rule out."""
    streams = {stream.name: stream for stream in query.streams}
    for predicate in query.predicates:
        compared = predicate.comparison()
        if compared is None or compared.op not in POSSIBLE:
            continue
        left = _time(compared.left, streams, types)
        right = _time(compared.right, streams, types)
        if left is None or right is None or left[0] is right[0]:
            continue
        (a, ahead_a), (b, ahead_b) = left, right
        slack = CLOCK_CHANGE if max(abs(ahead_a), abs(ahead_b)) >= DAY and _is_zoned(types, a) else 0
        low, high = -_ticks(a) - slack, _ticks(b) + slack
        if not POSSIBLE[compared.op](low, high, ahead_b - ahead_a):
            raise QueryError(
                f'join "{predicate.text}": no two rows inside their windows satisfy it: "{a.name}" has {a.window} and '
                f'"{b.name}" has {b.window}, so their times cannot be that far apart; widen a window or change the join'
            )


def _time(
    expression: sql.Expression, streams: Mapping[str, Stream], types: Mapping[Column, pa.DataType]
) -> tuple[Stream, int | float] | None:
    """The stream whose time an expression is, and the constant that it adds; None if it is anything else."""
    column = expression.shifted_column()
    stream = streams.get(str(column.stream)) if column is not None else None
    if column is None or stream is None or stream.time != column.name:
        return None
    moment = _moment(types[column])
    value = expression.bind(types).evaluate({column: moment}, 1)
    if not (pa.types.is_timestamp(value.type) or pa.types.is_integer(value.type)):
        return None
    (begin,), (shifted,) = (times.ticks(one, np.int64)[0].tolist() for one in (moment, value))
    return stream, shifted - begin


def _moment(data_type: pa.DataType) -> pa.Array:
    """Some time: how far ahead of it an expression is does not depend on which."""
    if pa.types.is_timestamp(data_type):
        return pa.array([0], pa.timestamp("us", data_type.tz)).cast(data_type)
    return pa.array([0], data_type)


def _is_zoned(types: Mapping[Column, pa.DataType], stream: Stream) -> bool:
    data_type = types[Column(stream.name, str(stream.time))]
    return pa.types.is_timestamp(data_type) and data_type.tz is not None


def _ticks(stream: Stream) -> int | float:
    return stream.window.ticks if isinstance(stream.window, Range) else float("inf")
