"""How long a stream's rows can still be joined."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from eddy.checks import ticks
from eddy.errors import QueryError


@dataclass(frozen=True)
class Range:
    """A window by event time: a duration, or a number.

    With `m` the largest event time in a combination, a row of the stream is inside when `m - time <= length`.

    >>> Range("30 seconds").ticks
    30000000
    >>> Range(5).ticks
    5
    """

    length: str | int | float

    def __post_init__(self) -> None:
        ticks(self.length, "window Range")

    @cached_property
    def ticks(self) -> int | float:
        """The window in microseconds, or in the units of a numeric time column."""
        return ticks(self.length, "window Range")

    def __str__(self) -> str:
        return f"Range({self.length!r})"


@dataclass(frozen=True)
class Rows:
    """A window of the newest rows of a stream.

    When the last row of a combination arrives, a row of the stream is inside when it is among the `count` that came
    last, those that a filter drops included. Where the work is divided among cells, each cell counts its own.
    """

    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.count, int) or isinstance(self.count, bool) or self.count < 1:
            raise QueryError(f"window Rows: expected a whole number of 1 or more, got {self.count!r}")

    def __str__(self) -> str:
        return f"Rows({self.count})"


@dataclass(frozen=True)
class Unbounded:
    """No window: every row of the stream stays."""

    def __str__(self) -> str:
        return "Unbounded()"


Window = Range | Rows | Unbounded
