"""What an index must keep to, and what it is made of.

An index of a part's rows is made once, from all of them, and searched until its part is gone; `trim` and `extend` spare
making it anew when the oldest rows go and when a neighbouring part is taken in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from eddy.kernels.arguments import CodeTable
from eddy.tuples.arrays import Integers, KeyCodes, Numbers, Valid
from eddy.tuples.event_time import Ticks
from eddy.tuples.request import Request
from eddy.tuples.runs import Runs


class PartRows(NamedTuple):
    """The rows of a part that is to be indexed: the codes of each key, and which rows are indexed at all.

    `times` put rows of the same code in order, where they do not stand so; `bits` are those of each field of a code.
    Where an index of more rows is to take them in, `among` is how many these are together.
    """

    rows: int
    codes: Sequence[KeyCodes]
    valid: Valid
    times: Ticks | None
    bits: tuple[int, ...]
    among: int = 0


class Index(Protocol):
    """Finds the rows of one part of a STeM by one or more keys, each of them a 64-bit code."""

    order: Numbers
    """The rows, by their places in the part, in the order in which searches find runs of them."""
    bits: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """What it occupies."""

    def runs(self, pattern: int) -> Runs:
        """How many runs a search by some keys finds for each probe."""

    def table(self, pattern: int) -> CodeTable | None:
        """What a kernel needs to find one run for each probe, as a search would; None where it takes more."""

    def search(self, request: Request, probes: slice | Integers) -> tuple[Integers, Integers]:
        """Where in `order` each of some probes finds runs of rows: where they start, and how many rows they have.

        May find rows that do not match, since the probe verifies them: those whose hash is alike, or that have no key.
        Must not miss one that does. Exact runs stand in the order of their times.
        """

    def trim(self, rows: int) -> bool:
        """Let go of the first rows, without putting the others in order again; says if it can."""

    def extend(self, index: Self, first: int) -> bool:
        """Take in the rows of another index, which are numbered from `first` on and come later; says if it can."""
