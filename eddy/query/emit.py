"""When an answer tells of a combination: when it begins, when it ends, or at ticks while it is there.

A combination is there from its newest time on, as long as each of its rows is in its window:

    Range(10)   up to and with the time of the row plus 10
    Rows(1)     until a newer row takes its place; at that row's time it is no more

These are ISTREAM, DSTREAM and RSTREAM of CQL; the last with EVERY, since all instants would be too many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eddy.errors import QueryError, quote
from eddy.query.inputs import Length, Rows, Stream, Unbounded
from eddy.sql.values.tree import Place, TextSpan
from eddy.tuples import event_time

BEGIN, END = "begin", "end"

EMIT = "emit"
"""What the part of a saved state is called that says when combinations are told."""

LEFT_AT, TICK = "left_at", "tick"
"""The column of an answer that has the time at which a combination ended; that of the tick at which it was there."""


@dataclass(frozen=True)
class Every(Length):
    """Ticks: all multiples of a duration since 1970, or of a number where times are numbers.

    >>> Every("1 minute").ticks
    60000000
    """

    KIND = "Every"

    written: tuple[Place, TextSpan] | None = field(default=None, kw_only=True, compare=False, repr=False)
    """The text of a statement and the place in it that says it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ticks:
            raise QueryError(f"Every: expected a length of more than 0 between two ticks, got {self.length!r}")

    def make_error(self, message: str) -> QueryError:
        """Make an error about ticks, at their place where a text says them."""
        if self.written is None:
            return QueryError(f"query: emit: {message}")
        place, span = self.written
        return place.error(message, span)


Emit = str | Every


def name_time(emit: Emit) -> str | None:
    """Name the column that says when a combination was told; None where an answer has no time of its own."""
    if isinstance(emit, Every):
        return TICK
    return LEFT_AT if emit == END else None


def check_emit(emit: object, streams: Sequence[Stream]) -> None:
    """Refuse what nobody could tell."""
    if not isinstance(emit, Every) and emit not in (BEGIN, END):
        raise QueryError(f'query: emit: expected "{BEGIN}", "{END}" or Every("1 minute"), got {emit!r}')
    if emit == BEGIN:
        return
    check_told(emit, streams)
    if not may_end(emit, streams):
        raise QueryError(
            f"query: emit: no combination ever ends, since no stream has a window; give one of "
            f'{quote(stream.name for stream in streams)} a Range or Rows, or take emit="{BEGIN}"'
        )


def check_told(emit: Emit, streams: Sequence[Stream]) -> None:
    """Refuse streams of which nobody knows how far they have come, where combinations are told by that."""
    what = "the end of a combination" if emit == END else "who is there at a tick"
    for missing, lacks in (("time", "an event time"), ("delay", "a delay")):
        names = [stream.name for stream in streams if getattr(stream, missing) is None]
        if names:
            raise QueryError(
                f"query: emit: {what} is known once the watermark has passed it, so every stream needs {lacks}; got "
                f"none for {quote(names)}"
            )


def may_end(emit: Emit, streams: Sequence[Stream]) -> bool:
    """Tell whether combinations can end, where their ends are told."""
    return emit != END or not all(isinstance(stream.window, Unbounded) for stream in streams)


def check_clock(emit: Emit, kind: str | None, *, is_whole: bool) -> None:
    """Refuse ticks that are of another kind than the times of the streams, or lie between them."""
    if not isinstance(emit, Every):
        return
    word, duration = ("Every", '"30 seconds"') if emit.written is None else ("EVERY", "INTERVAL 30 SECONDS")
    if emit.is_number != (kind == event_time.NUMBER):
        wanted = "a number" if kind == event_time.NUMBER else f"a duration such as {duration}"
        raise emit.make_error(f"times are {kind}, so the length of {word} must be {wanted}; got {emit.length!r}")
    if is_whole and emit.ticks != int(emit.ticks):
        raise emit.make_error(f"times are whole numbers, so the length of {word} must be one; got {emit.length}")


def counts_rows(emit: Emit, stream: Stream) -> bool:
    """Tell whether somebody must know when a row of a stream is outrun by newer ones."""
    return emit != BEGIN and isinstance(stream.window, Rows)


def list_parts(emit: Emit, outputs: Mapping[str, str]) -> dict[str, str]:
    """List what of an answer its saved state depends on: results that wait are kept as they will be told."""
    if emit == BEGIN:
        return {}
    length = f"every {emit.ticks}" if isinstance(emit, Every) else emit
    return {EMIT: length, **{f'select "{name}"': column for name, column in outputs.items()}}
