"""The inputs of a query: streams, and tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from eddy.checks import named, ticks
from eddy.errors import QueryError
from eddy.window import Range, Rows, Unbounded, Window

DROPPED, FAILING = "drop", "fail"
BAD_ROWS = (DROPPED, FAILING)
"""What may become of bad rows."""


@dataclass(frozen=True)
class Stream:
    """An unbounded input with an event time and a window.

    A stream that is asked about alone needs no `time`: its rows are filtered as they come, and none of them is late.

    `delay` says how far out of order its rows may come, as Spark's `withWatermark` does. Without one the query
    has no watermark: then no row is ever late, and no row ever leaves the state. A row whose time is more than
    `max_ahead` ahead of where the stream stands comes from a clock that is wrong: it is set aside and counted, and
    does not make the rows of other clocks late.

    Rows that can be in no answer are bad: those without a time, those too far ahead, those without a value for an
    equality, and those that `malformed`, a column of their source, says something about. `bad_rows` says whether they
    are dropped and counted, or fail the query.
    """

    name: str
    time: str | None = field(default=None, kw_only=True)
    window: Window = field(default_factory=Unbounded, kw_only=True)
    delay: str | int | float | None = field(default=None, kw_only=True)
    max_ahead: str | int | float | None = field(default=None, kw_only=True)
    bad_rows: str = field(default=DROPPED, kw_only=True)
    malformed: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        where = named("stream", self.name)
        if self.time is not None and (not isinstance(self.time, str) or not self.time):
            raise QueryError(f"{where}: expected the name of its event-time column as time, got {self.time!r}")
        if not isinstance(self.window, Range | Rows | Unbounded):
            raise QueryError(f"{where}: expected a window Range(...), Rows(...) or Unbounded(), got {self.window!r}")
        for name, length in (("delay", self.delay), ("max_ahead", self.max_ahead)):
            if length is not None:
                ticks(length, f"{where}: {name}")
        self._check_timed(where)
        if self.bad_rows not in BAD_ROWS:
            raise QueryError(f"{where}: bad_rows: expected {' or '.join(map(repr, BAD_ROWS))}, got {self.bad_rows!r}")
        if self.malformed is not None and (not isinstance(self.malformed, str) or not self.malformed):
            raise QueryError(f"{where}: malformed: expected the name of a column, got {self.malformed!r}")

    def _check_timed(self, where: str) -> None:
        """What counts in event time needs one."""
        window = self.window if isinstance(self.window, Range) else None
        for name, given in (("window", window), ("delay", self.delay), ("max_ahead", self.max_ahead)):
            if self.time is None and given is not None:
                raise QueryError(f"{where}: {name} {given} is by event time; name the column that has it as time")

    @cached_property
    def delay_ticks(self) -> int | float | None:
        """The delay in microseconds, or in the units of a numeric time column."""
        return None if self.delay is None else ticks(self.delay, f'stream "{self.name}": delay')

    @cached_property
    def ahead_ticks(self) -> int | float | None:
        """How far a row's time may be ahead of the others', in the same units."""
        return None if self.max_ahead is None else ticks(self.max_ahead, f'stream "{self.name}": max_ahead')


@dataclass(frozen=True)
class Table:
    """A static input that streams look rows up in."""

    name: str

    def __post_init__(self) -> None:
        named("table", self.name)
