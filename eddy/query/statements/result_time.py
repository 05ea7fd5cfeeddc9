"""The event time of an answer: whether anything can be closed by it, and how far it is behind the streams."""

from __future__ import annotations

import math

import pyarrow as pa

from eddy.errors import QueryError, quote
from eddy.query.binding import Binding
from eddy.sql import Column

WHERE = "time of the answer"
"""What errors call it."""

MICROSECONDS = 1_000
"""Microseconds in a millisecond, in which Spark's watermark counts."""


def find_span(binding: Binding, name: str, stream: str) -> int:
    """Find how far the time of a result may be below the watermark of the streams, in milliseconds.

    It is the horizon of the stream whose time it is: how far the watermark passes a row until none that is on time can
    meet it. The newest time in a result, of no `stream`, is never below it.
    """
    if not stream or len(binding.query.streams) == 1:
        return 0
    horizon = binding.horizons.get(stream)
    if horizon is None:
        other = next(one for one in binding.query.streams if one.name != stream)
        own = next(one for one in binding.query.streams if one.name == stream)
        raise QueryError(
            f'{WHERE}: "{name}" is the time of "{own.name}", and a result may have a row of it of any '
            f'age, so nothing could be closed; give "{own.name}" a window, or add a condition such as {other.name}.'
            f"{other.time} <= {own.name}.{own.time} + INTERVAL 1 HOUR, or take the newest time in a result: a new "
            "name, or result_time() in a statement"
        )
    return max(math.ceil(horizon.ticks / MICROSECONDS), 0)


def check_clocks(binding: Binding) -> None:
    """Refuse streams that say of no row how late it is."""
    streams = binding.query.streams
    if missing := [stream.name for stream in streams if stream.time is None]:
        raise QueryError(
            f"{WHERE}: expected streams with event times, got none for {quote(missing)}; name its column, "
            f'as in Stream("{missing[0]}", time="at", delay="1 minute"), or WATERMARK at DELAY OF INTERVAL 1 MINUTE'
        )
    if missing := [stream.name for stream in streams if stream.delay is None]:
        raise QueryError(
            f"{WHERE}: expected a delay for each stream, since there is no watermark without, got none for "
            f'{quote(missing)}; write Stream("{missing[0]}", .., delay="1 minute"), or DELAY OF INTERVAL 1 MINUTE'
        )
    for stream in streams:
        data_type = binding.types[Column(stream.name, str(stream.time))]
        if not pa.types.is_timestamp(data_type) or data_type.tz is None:
            raise QueryError(
                f"{WHERE}: expected timestamps with a zone, since Spark's watermarks are of such, got "
                f'{data_type} in "{stream.name}.{stream.time}"; make one of it before, as F.timestamp_millis or '
                'cast("timestamp") do'
            )
