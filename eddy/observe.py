"""What steps did, and the decayed statistics that sum it up.

Statistics add up: the statistic of two batches is the sum of theirs, and a decayed one is a sum in which older
rows weigh less. They are plain numbers, so they survive a restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eddy.lineage import Hop

HALF_LIFE = 10_000
"""Rows after which an operator's older rows count half: enough that a rate is known to about a hundredth, few enough
that a change of the stream shows after as many rows."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """What an operator did: rows in, evaluated, out, and seconds; and how many of those evaluated it skipped.

    >>> Statistic(10, 10, 4, 0.5) + Statistic(10, 0, 2, 0.25)
    Statistic(rows_in=20, evaluated=10, rows_out=6, seconds=0.75, skipped=0)
    """

    rows_in: float = 0
    evaluated: float = 0
    rows_out: float = 0
    seconds: float = 0.0
    skipped: int = 0

    def __add__(self, other: Statistic) -> Statistic:
        return Statistic(
            self.rows_in + other.rows_in,
            self.evaluated + other.evaluated,
            self.rows_out + other.rows_out,
            self.seconds + other.seconds,
            self.skipped + other.skipped,
        )

    @property
    def rate(self) -> float:
        """Outputs per input; 1 while nothing is known."""
        return self.rows_out / self.rows_in if self.rows_in else 1.0

    @property
    def cost(self) -> float:
        """Seconds per input; 0 while nothing is known."""
        return self.seconds / self.rows_in if self.rows_in else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """How a policy has used one operator since it began.

    `kind` says what the calls were: "classified" by the attribute, "unclassified", or "profiling" to learn. The gain
    ratio is that of the attribute when it was last measured.
    """

    operator: str
    kind: str
    attribute: str
    gain_ratio: float
    calls: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """A route that a policy has decided on: which share of a stream's rows it is for, and what a row costs on it.

    `predicted` and `observed` are in the unit of the policy's costs: seconds, or calls.
    """

    route: tuple[str, ...]
    share: float
    predicted: float
    observed: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A line of a decision tree: at some level, the buckets of an attribute, by number; or the number of a way."""

    level: int
    attribute: int | None = None
    buckets: tuple[int, ...] = ()
    way: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What a policy last decided for a stream: which ways there are, who takes which, when and why.

    `seconds` is how long it took to decide.
    """

    stream: str
    number: int
    reason: str
    seconds: float
    ways: tuple[Way, ...]
    tree: tuple[Branch, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Insight:
    """What a policy has done, and why: how it has used operators since it began, and what it last decided."""

    uses: Sequence[Use] = ()
    decisions: Sequence[Decision] = ()


NO_INSIGHT = Insight()


class Statistics:
    """The decayed statistic of every hop."""

    def __init__(self) -> None:
        self._recent: dict[Hop, Statistic] = {}

    def __getitem__(self, hop: Hop) -> Statistic:
        return self._recent.get(hop, NOTHING)

    def add(self, hop: Hop, statistic: Statistic) -> None:
        """Count a step; what was known before it fades with the rows that came in."""
        known = self._recent.get(hop, NOTHING)
        weight = 0.5 ** (statistic.rows_in / HALF_LIFE)
        self._recent[hop] = Statistic(
            known.rows_in * weight + statistic.rows_in,
            known.evaluated * weight + statistic.evaluated,
            known.rows_out * weight + statistic.rows_out,
            known.seconds * weight + statistic.seconds,
        )

    def snapshot(self) -> list[list[Any]]:
        """Plain values, one row for each hop."""
        return [
            [hop.operator, hop.pattern, s.rows_in, s.evaluated, s.rows_out, s.seconds]
            for hop, s in self._recent.items()
        ]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._recent = {Hop(row[0], row[1]): Statistic(*row[2:]) for row in rows}


NOTHING = Statistic()


def total(parts: Mapping[Any, Statistic]) -> Statistic:
    """The sum of statistics."""
    return sum(parts.values(), NOTHING)


BAD = ("untimed", "ahead", "keyless", "malformed")
"""The kinds of bad rows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamCount:
    """What became of a stream's rows on their way in, and what is stored when the micro-batch is over.

    Besides those that are late there are bad ones: without a time, too far ahead, without a value for an equality, and
    malformed in their source. In a window of rows those without a value count, so they are stored all the same. A row
    that is sent to several cells is counted in one of them; the others count it among their `copies`, and store it.
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

    @property
    def bad(self) -> Mapping[str, int]:
        """The bad rows of each kind."""
        return {kind: count for kind in BAD if (count := int(getattr(self, kind)))}


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultCount:
    """Rows, or combinations of rows, for which a predicate had no answer: why, and what was done.

    `kind` has no values of rows in it; `sample`, what the first of them was, is empty unless values may be shown.
    """

    predicate: str
    kind: str
    on_error: str
    rows: int
    sample: str


Route = tuple[str, str, tuple[str, ...]]
"""A stream, a class of its rows, and the operators that these were sent through."""

VARIOUS = ("various",)
"""In the place of a route, for classes that are counted together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counters:
    """What one micro-batch was, and what it took.

    `routes` has at most a fixed number of classes for each micro-batch, however many there are: the others of a stream
    are one. `classes` says what a class of a stream is called, as of this micro-batch, and `trees` has the lines of the
    trees by which a policy tells a stream's classes apart.

    Where the engine lives in a state store, `restoring` and `saving` are the seconds that it took to bring it back
    and to write it down again, `packing` those that its results took to be sent, and `state` the bytes of it.
    """

    batch: int
    streams: Mapping[str, StreamCount]
    results: int
    decisions: int
    seconds: float
    planning: float
    learning: float
    operators: Mapping[Hop, Statistic]
    routes: Mapping[Route, int]
    classes: Mapping[tuple[str, str], str]
    insight: Insight
    trees: Mapping[str, Sequence[str]]
    faults: Sequence[FaultCount] = ()
    restoring: float = 0.0
    packing: float = 0.0
    saving: float = 0.0
    state: int = 0
