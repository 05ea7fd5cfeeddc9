"""Counters of a micro-batch: rows, results, routes, seconds.

Statistics add up: the statistic of two batches is the sum of theirs, and a decayed one is a sum in which older
rows weigh less. They are plain numbers, so they survive a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eddy.observe.caching import CacheCount
from eddy.observe.indexing import IndexCount, Tuning
from eddy.observe.insight import DecisionKey, Insight
from eddy.observe.statistics import Statistic
from eddy.tuples import Hop

BAD = ("untimed", "ahead", "keyless", "malformed")
"""The kinds of bad rows."""

ClassRoute = tuple[str, str, tuple[str, ...]]
"""A stream, a class of its rows, and the operators that these were sent through."""

VARIOUS = ("various",)
"""A stand-in for the routes of classes that are counted together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamCount:
    """The rows of a stream in one micro-batch, and its store.

    Besides those that are late there are bad ones: without a time, too far ahead, without a value for an equality, and
    malformed in their source. In a window of rows those without a value count, so they are stored all the same. A row
    that is sent to several cells is counted in one of them; the others count it among their `copies`, and store it.
    `newest` is the newest event time that the stream has shown so far, in ticks; it holds back the watermark.
    """

    rows: int
    untimed: int
    late: int
    ahead: int
    keyless: int = 0
    malformed: int = 0
    copies: int = 0
    stored: int
    nbytes: int
    newest: float | None = None

    @property
    def bad(self) -> Mapping[str, int]:
        """The bad rows of each kind."""
        return {kind: count for kind in BAD if (count := int(getattr(self, kind)))}


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultCount:
    """Rows or combinations for which a predicate had no answer.

    It says why, and what was done. `kind` has no values of rows in it; `sample`, the text of the first of them, is
    empty unless values may be shown.
    """

    predicate: str
    kind: str
    on_error: str
    rows: int
    sample: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CellCount:
    """What one of several cells did in a micro-batch: rows, copies of rows among them, and seconds of all its work.

    `stored` and `nbytes` are the rows that it has at the end, and the bytes of its state.
    """

    cell: int
    rows: int
    copies: int
    stored: int
    seconds: float
    nbytes: int

    @classmethod
    def of(cls, cell: int, part: Counters) -> CellCount:
        """Count those of a cell."""
        return cls(
            cell=cell,
            rows=sum(s.rows + s.copies for s in part.streams.values()),
            copies=sum(s.copies for s in part.streams.values()),
            stored=sum(s.stored for s in part.streams.values()),
            seconds=part.seconds + part.restoring + part.packing + part.saving,
            nbytes=part.state,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Counters:
    """The counters of one micro-batch.

    `routes` has at most a fixed number of classes for each micro-batch, however many there are: the others of a stream
    are one. `classes` says what a class of a stream is called, as of this micro-batch, and `trees` has the lines of the
    trees of the decisions by which a policy tells a stream's classes apart.

    Where the engine lives in a state store, `restoring` and `saving` are the seconds that it took to bring it back
    and to write it down again, `packing` those that its results took to be sent, and `state` the bytes of it.

    `indexes` are the key maps of each input, and `tunings` the decisions about them that are new, or that more is known
    of. `indexing` are the seconds in which rows were searched and in which those that are past, and their indexes, were
    let go of; `tuning` those of the decisions. `caches` are those of parts of a join.

    `cells` are those that were called, where there are several; each by itself has none.

    `held` are the results that wait at the end, where an answer tells of them later than they are found.

    Rows with a time below `watermark` were late; it is in ticks, and `clock` says what these are. Both are None where
    there is none.

    `shared` are seconds of work that was done for so many queries as there are `sharers`; `seconds` has an even share
    of them. A query that is alone shares nothing.

    `costs` are what users say that a row costs at each filter. They are times, and accounts are as well, unless they
    are not `in_seconds`: then both are in a unit of the user's.
    """

    batch: int
    streams: Mapping[str, StreamCount]
    results: int
    decisions: int
    seconds: float
    planning: float
    learning: float
    operators: Mapping[Hop, Statistic]
    routes: Mapping[ClassRoute, int]
    classes: Mapping[tuple[str, str], str]
    insight: Insight
    trees: Mapping[DecisionKey, Sequence[str]]
    faults: Sequence[FaultCount] = ()
    restoring: float = 0.0
    packing: float = 0.0
    saving: float = 0.0
    state: int = 0
    indexes: Sequence[IndexCount] = ()
    tunings: Sequence[Tuning] = ()
    indexing: float = 0.0
    tuning: float = 0.0
    caches: Sequence[CacheCount] = ()
    costs: Mapping[str, float] = field(default_factory=dict)
    in_seconds: bool = True
    cells: Sequence[CellCount] = ()
    watermark: float | None = None
    clock: str | None = None
    held: int = 0
    shared: float = 0.0
    sharers: int = 1
