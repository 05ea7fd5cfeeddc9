"""Samples of rows on which every operator has been tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.errors import EngineError
from eddy.tuples.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The sample S, and the verdict matrix of its rows.

    It is from section 4.2 of the Query Mesh paper. `buckets` has a row for each sampled row and a column for each
    attribute, `outcomes` one for each operator: how many tuples the operator makes of the row, whatever the others do
    with it. Exhaustive legs report just that. `prices` has what each row costs with each operator, where rows differ,
    and `numbers` what values are told apart one by one, where some are.

    >>> len(Sample(buckets=np.zeros((3, 1), np.uint8), outcomes=np.ones((3, 2))))
    3
    """

    buckets: Buckets
    outcomes: Floats
    prices: Floats | None = None
    numbers: ValueNumbers | None = None

    def __post_init__(self) -> None:
        if self.buckets.ndim != 2 or self.outcomes.ndim != 2 or len(self.buckets) != len(self.outcomes):
            raise EngineError(
                "a sample needs buckets and outcomes of the same rows, "
                f"got matrices of {self.buckets.shape} and {self.outcomes.shape}"
            )
        if not len(self.buckets):
            raise EngineError("a sample needs one row at least, got none")
        if not np.isfinite(self.outcomes).all() or (self.outcomes < 0).any():
            raise EngineError("a sample counts the tuples that come out: expected finite numbers of 0 or more")

    def __len__(self) -> int:
        return len(self.buckets)

    def part(self, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> Sample:
        """Some of the rows."""
        prices = None if self.prices is None else self.prices[rows]
        numbers = None if self.numbers is None else self.numbers[rows]
        return Sample(buckets=self.buckets[rows], outcomes=self.outcomes[rows], prices=prices, numbers=numbers)

    @property
    def told(self) -> ValueNumbers:
        """What is known of each row's values: their numbers where they are told apart, else their buckets."""
        return self.buckets if self.numbers is None else self.numbers

    def price(self, costs: Floats) -> Floats:
        """What each row costs with each operator, or what all of them do, which is `costs` where no row differs."""
        return costs if self.prices is None else self.prices


UNKNOWN = np.iinfo(np.uint16).max
"""An operator that could not act on rows as they arrive, such as a probe that another one must precede. What it would
have made of them is not known; a fan-out that is as large is one less."""


class Reservoir:
    """The newest rows that exhaustive legs have reported on.

    Its arrays have room for all of them from the beginning. `total` is how many rows have ever come, and evidence
    begins with row `begun`: what came before is of a stream that is no more.
    """

    def __init__(self, attributes: int, operators: int, room: int) -> None:
        self._buckets: Buckets = np.zeros((room, attributes), np.uint8)
        self._outcomes = np.zeros((room, operators), np.uint16)
        # Where values are told apart one by one: by then rows have come of which nothing but the bucket is known.
        self._numbers: ValueNumbers | None = None
        self._legs = np.zeros(room, np.int64)
        self._seconds = np.full((room, operators), np.nan)
        self.total = self.begun = 0

    def __len__(self) -> int:
        return min(self.total - self.begun, len(self._buckets))

    @property
    def room(self) -> int:
        """Rows that it keeps at most."""
        return len(self._buckets)

    def newest(self, rows: int) -> tuple[Buckets, Floats]:
        """Buckets of the newest rows, the oldest of them first, and tuples that each operator made of each.

        NaN is what is unknown.
        """
        places = np.arange(self.total - min(rows, len(self)), self.total) % len(self._buckets)
        outcomes = self._outcomes[places]
        return self._buckets[places], np.where(outcomes == UNKNOWN, np.nan, outcomes)

    def number(self, rows: int) -> ValueNumbers | None:
        """Give the numbers of the newest rows' values; None where none are told apart."""
        places = np.arange(self.total - min(rows, len(self)), self.total) % len(self._buckets)
        return None if self._numbers is None else self._numbers[places]

    def timed(self, rows: int) -> tuple[Integers, Floats]:
        """The legs of the newest rows, and the mean seconds of a row there with each operator; NaN if unknown."""
        places = np.arange(self.total - min(rows, len(self)), self.total) % len(self._buckets)
        return self._legs[places], self._seconds[places]

    def add(
        self,
        buckets: Buckets,
        outcomes: Floats,
        seconds: Floats | None = None,
        numbers: ValueNumbers | None = None,
    ) -> None:
        """Keep some rows more, in the place of the oldest; all are of one leg, which took so long a row."""
        places = (self.total + np.arange(len(buckets))) % len(self._buckets)
        if numbers is not None and self._numbers is None:
            self._numbers = self._buckets.astype(np.uint16)
        if self._numbers is not None:
            self._numbers[places] = buckets if numbers is None else numbers
        self._buckets[places] = buckets
        self._outcomes[places] = np.where(np.isnan(outcomes), UNKNOWN, np.minimum(outcomes, UNKNOWN - 1))
        self._legs[places] = self.total
        self._seconds[places] = np.nan if seconds is None else seconds
        self.total += len(buckets)

    def keep(self, rows: int) -> None:
        """Keep no more than the newest rows."""
        self.begun = self.total - min(rows, len(self))

    def snapshot(self) -> dict[str, Any]:
        """The rows."""
        names = ["buckets", "outcomes", "legs", "seconds", *(["numbers"] if self._numbers is not None else [])]
        return {name: getattr(self, f"_{name}") for name in names}

    def restore(self, total: int, begun: int, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._buckets, self._outcomes = state["buckets"].copy(), state["outcomes"].copy()
        self._legs, self._seconds = state["legs"].copy(), state["seconds"].copy()
        self._numbers = state["numbers"].copy() if "numbers" in state else None
        self.total, self.begun = total, begun
