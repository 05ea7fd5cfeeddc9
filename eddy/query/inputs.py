"""The inputs of a query: streams with windows, and tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from eddy.errors import QueryError, check_whole, quote
from eddy.query.validation import check_name, fill, read_length, texts

Given = TypeVar("Given")

DROPPED, FAILING = "drop", "fail"

BAD_ROWS = (DROPPED, FAILING)
"""The treatments of bad rows: they are dropped and counted, or fail the query."""

WITHOUT_ARRIVED = (
    "expected arrived to name the column with the time at which the source received a row, got none; name one, for "
    'example Kafka\'s timestamp (a job adds it with add = ["timestamp"], as "kafka_timestamp"), or '
    '_metadata.file_modification_time of files (a job adds it with add = ["modified"], as "file_modified"), or make '
    'one in a frame of your own with .withColumn("arrived", F.current_timestamp()), when the micro-batch began'
)
"""An error's text about a missing `arrived`, with the ways to mend it."""


@dataclass(frozen=True)
class Length:
    """A length of event time: a duration, or a number."""

    KIND: ClassVar[str] = "length"
    """What errors call it."""

    length: str | int | float = field(compare=False)
    ticks: int | float = field(init=False, repr=False)
    """The length in microseconds, or in a numeric column's units."""
    is_number: bool = field(init=False, repr=False)
    """Whether it is in such units."""

    def __post_init__(self) -> None:
        # Two lengths are equal when they are as long, however that is written.
        fill(self, "ticks", read_length(self.length, self.KIND))
        fill(self, "is_number", not isinstance(self.length, str))

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.length!r})"


@dataclass(frozen=True)
class Range(Length):
    """A window by event time: a duration, or a number.

    With `m` the largest event time in a combination, a row of the stream is inside when `m - time <= length`.

    >>> Range("30 seconds").ticks
    30000000
    >>> Range(5).ticks
    5
    """

    KIND = "window Range"


@dataclass(frozen=True)
class Rows:
    """A window of the newest rows of a stream.

    When the last row of a combination arrives, a row of the stream is inside when it is among the `count` that came
    last, those that a filter drops included: of all rows, or of those with its own values in the columns `by`,
    where null is a value. Where the work is divided among cells, each cell counts its own; a division by some of the
    columns leaves all rows of a value in one.

    >>> str(Rows(1, by=["car"]))
    "Rows(1, by=('car',))"
    """

    count: int
    by: Sequence[str] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        fill(self, "count", check_whole(self.count, "window Rows"))
        fill(self, "by", texts(self.by, "window Rows: by") if self.by else ())

    def __str__(self) -> str:
        return f"Rows({self.count}, by={self.by!r})" if self.by else f"Rows({self.count})"


@dataclass(frozen=True)
class Unbounded:
    """No window: every row of the stream stays."""

    def __str__(self) -> str:
        return "Unbounded()"


Window = Range | Rows | Unbounded


@dataclass(frozen=True)
class Stream:
    """An unbounded input with an event time and a window.

    A stream that is asked about alone needs no `time`: its rows are filtered as they come, and none of them is late.

    `delay` says how far out of order its rows may come, as Spark's `withWatermark` does. Without one the query
    has no watermark: then no row is ever late, and no row ever leaves the state. A row is ahead if its time is more
    than `max_ahead` after the time in its column `arrived`, at which its source received it: its clock is wrong, so it
    does not make the rows of other clocks late. A row without a time in `arrived` is not ahead.

    Rows that can be in no answer are bad: those without a time, those that are ahead, those without a value for an
    equality, and those that `malformed`, a column of their source, says something about. `bad_rows` says whether they
    are dropped and counted, or fail the query. `arrived` and `malformed` are in the answer only if they are selected.

    Streams of one `source` are the same rows under several names, as in a self-join: they are read, sent and stored
    once. Windows may differ; times, delays, and what is said of bad rows must agree. A stream is its own source unless
    it says otherwise, so `Stream("b", source="a")` has the rows of `Stream("a")`.
    """

    name: str
    time: str | None = field(default=None, kw_only=True)
    window: Window = field(default_factory=Unbounded, kw_only=True)
    delay: str | int | float | None = field(default=None, kw_only=True, compare=False)
    max_ahead: str | int | float | None = field(default=None, kw_only=True, compare=False)
    arrived: str | None = field(default=None, kw_only=True)
    bad_rows: str = field(default=DROPPED, kw_only=True)
    malformed: str | None = field(default=None, kw_only=True)
    source: str | None = field(default=None, kw_only=True, compare=False)
    _lengths: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        where = check_name("stream", self.name)
        if self.time is not None and (not isinstance(self.time, str) or not self.time):
            raise QueryError(f"{where}: expected the name of its event-time column as time, got {self.time!r}")
        if not isinstance(self.window, Range | Rows | Unbounded):
            raise QueryError(f"{where}: expected a window Range(...), Rows(...) or Unbounded(), got {self.window!r}")
        for name, length in (("delay", self.delay), ("max_ahead", self.max_ahead)):
            if length is not None:
                read_length(length, f"{where}: {name}")
        # Two streams are equal when these are as long, however that is written.
        lengths = ((self.delay_ticks, isinstance(self.delay, str)), (self.ahead_ticks, isinstance(self.max_ahead, str)))
        fill(self, "_lengths", lengths)
        self._check_timed(where)
        if self.bad_rows not in BAD_ROWS:
            raise QueryError(f"{where}: bad_rows: expected {' or '.join(map(repr, BAD_ROWS))}, got {self.bad_rows!r}")
        for name, kind in (("malformed", "column"), ("arrived", "column"), ("source", "source")):
            told = getattr(self, name)
            if told is not None and (not isinstance(told, str) or not told):
                raise QueryError(f"{where}: {name}: expected the name of a {kind}, got {told!r}")
        self._check_arrived(where)

    def _check_arrived(self, where: str) -> None:
        """Check that `max_ahead` and `arrived` come together.

        A row is ahead of a time in the row itself, not of a clock that a second run would read anew.
        """
        # The two are of use only together: the limit is a distance from the time of arrival.
        if self.max_ahead is not None and self.arrived is None:
            raise QueryError(f"{where}: max_ahead: {WITHOUT_ARRIVED}")
        if self.max_ahead is None and self.arrived is not None:
            raise QueryError(f"{where}: arrived: nothing asks for it without a max_ahead; add one, or leave it out")
        if self.arrived is not None and self.arrived == self.time:
            raise QueryError(
                f'{where}: arrived: expected another column than time, "{self.time}": no row is ahead of itself'
            )

    def _check_timed(self, where: str) -> None:
        """Refuse settings in event time on a stream without one."""
        window = self.window if isinstance(self.window, Range) else None
        for name, given in (("window", window), ("delay", self.delay), ("max_ahead", self.max_ahead)):
            if self.time is None and given is not None:
                raise QueryError(f"{where}: {name} {given} is by event time; name the column that has it as time")

    @property
    def origin(self) -> str:
        """The name of its source."""
        return self.source or self.name

    @property
    def shared_settings(self) -> Mapping[str, object]:
        """What streams of one source must agree on, by its key."""
        return {
            "time": self.time,
            "delay": (self.delay_ticks, isinstance(self.delay, str)),
            "max_ahead": (self.ahead_ticks, isinstance(self.max_ahead, str)),
            "arrived": self.arrived,
            "bad_rows": self.bad_rows,
            "malformed": self.malformed,
        }

    @cached_property
    def delay_ticks(self) -> int | float | None:
        """The delay in microseconds, or in a numeric column's units."""
        return None if self.delay is None else read_length(self.delay, f'stream "{self.name}": delay')

    @cached_property
    def ahead_ticks(self) -> int | float | None:
        """The limit `max_ahead` in the same units."""
        return None if self.max_ahead is None else read_length(self.max_ahead, f'stream "{self.name}": max_ahead')


@dataclass(frozen=True)
class Table:
    """A static input that streams look rows up in."""

    name: str

    def __post_init__(self) -> None:
        check_name("table", self.name)


def group_streams(streams: Sequence[Stream]) -> dict[str, tuple[Stream, ...]]:
    """Group streams by their sources."""
    found: dict[str, tuple[Stream, ...]] = {}
    for stream in streams:
        found[stream.origin] = (*found.get(stream.origin, ()), stream)
    return found


def check_sources(streams: Sequence[Stream], tables: Collection[str]) -> None:
    """Check that streams of one source say the same of it, and that its name is that of nothing else."""
    origins = {stream.name: stream.origin for stream in streams}
    for stream in streams:
        if stream.origin in tables or origins.get(stream.origin, stream.origin) != stream.origin:
            kind = "table" if stream.origin in tables else "stream with another source"
            raise QueryError(
                f'stream "{stream.name}": source "{stream.origin}" is the name of a {kind}; call the source otherwise'
            )
    for source, (first, *others) in group_streams(streams).items():
        for other in others:
            for key, told in first.shared_settings.items():
                if told != other.shared_settings[key]:
                    one, two = (getattr(stream, key) for stream in (first, other))
                    raise QueryError(
                        f'streams {quote([first.name, other.name])} are one source, "{source}", and differ in {key}: '
                        f"{one!r} and {two!r}; say the same of both, or make them two sources"
                    )


def share_sources(streams: Sequence[Stream], sources: Mapping[str, str], taken: Collection[str]) -> list[Stream]:
    """Give streams the names of their sources where several have one, and what is said of them agrees.

    `taken` are the names of all inputs: a source that is called like another one has to do without.
    """
    shared = {stream.name: stream for stream in streams}
    for source in dict.fromkeys(sources.values()):
        own = [stream for stream in streams if sources[stream.name] == source and stream.source is None]
        alike = [one for one in own if sum(one.shared_settings == other.shared_settings for other in own) > 1][:1]
        found = [one for one in own if alike and one.shared_settings == alike[0].shared_settings]
        if source not in {*taken}.difference(one.name for one in found):
            shared |= {one.name: replace(one, source=source) for one in found}
    return [shared[stream.name] for stream in streams]


def part_sources(streams: Sequence[Stream], given: Mapping[str, Any]) -> list[Stream]:
    """Give the streams, each a source of its own where those of one source were given different data by their names."""
    parted = {
        one.name
        for several in group_streams(streams).values()
        for one in several
        if any(given[one.name] is not given[other.name] for other in several)
    }
    return [replace(stream, source=None) if stream.name in parted else stream for stream in streams]


def arrange_sources(streams: Sequence[Stream], given: Mapping[str, Given]) -> dict[str, Given]:
    """Give each source what it was given, by its own name or by those of its streams; all else as it is."""
    found = dict(given)
    for source, several in group_streams(streams).items():
        names = dict.fromkeys((source, *(stream.name for stream in several)))
        values = [found.pop(name) for name in names if name in found]
        if any(value is not values[0] for value in values):
            raise QueryError(
                f"data: streams {quote([stream.name for stream in several])} are one source: expected its rows once, "
                f'by the name "{source}", got {len(values)} inputs'
            )
        if values:
            found[source] = values[0]
    return found


def spread_sources(streams: Sequence[Stream], arranged: Mapping[str, Given]) -> dict[str, Given]:
    """Give each stream what its source has; all else as it is."""
    origins = {stream.origin for stream in streams}
    others = {name: value for name, value in arranged.items() if name not in origins}
    return {**{s.name: arranged[s.origin] for s in streams if s.origin in arranged}, **others}
