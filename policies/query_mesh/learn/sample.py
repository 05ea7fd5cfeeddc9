"""Samples of rows on which every operator has been tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.errors import EngineError
from eddy.tuples.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The sample S, and the verdict matrix of its rows.

    It is from section 4.2 of the Query Mesh paper. `buckets` has a row for each sampled row and a column for each
    attribute, `outcomes` one for each operator: how many tuples the operator makes of the row, whatever the others do
    with it. Exhaustive legs report just that.

    >>> len(Sample(buckets=np.zeros((3, 1), np.uint8), outcomes=np.ones((3, 2))))
    3
    """

    buckets: Buckets
    outcomes: Floats

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
        return Sample(buckets=self.buckets[rows], outcomes=self.outcomes[rows])


UNSEEN = np.iinfo(np.uint16).max
"""An operator that could not act on rows as they arrive, such as a probe that another one must precede. What it would
have made of them is not known; a fan-out that is as large is one less."""


class Reservoir:
    """The newest rows that exhaustive legs have reported on.

    Its arrays have room for all of them from the beginning. `total` is how many rows have come since it was cleared.
    """

    def __init__(self, attributes: int, operators: int, room: int) -> None:
        self._buckets: Buckets = np.zeros((room, attributes), np.uint8)
        self._outcomes = np.zeros((room, operators), np.uint16)
        self.total = 0

    def __len__(self) -> int:
        return min(self.total, len(self._buckets))

    @property
    def buckets(self) -> Buckets:
        """A row for each row that is kept."""
        return self._buckets[: len(self)]

    @property
    def outcomes(self) -> Floats:
        """Tuples that each operator made of each row; NaN if unknown."""
        outcomes = self._outcomes[: len(self)]
        return np.where(outcomes == UNSEEN, np.nan, outcomes)

    def add(self, buckets: Buckets, outcomes: Floats) -> None:
        """Keep some rows more, in the place of the oldest."""
        places = (self.total + np.arange(len(buckets))) % len(self._buckets)
        self._buckets[places] = buckets
        self._outcomes[places] = np.where(np.isnan(outcomes), UNSEEN, np.minimum(outcomes, UNSEEN - 1))
        self.total += len(buckets)

    def clear(self) -> None:
        """Begin anew: what is kept is of a stream that is no more."""
        self.total = 0

    def snapshot(self) -> dict[str, Any]:
        """The rows."""
        return {"buckets": self._buckets, "outcomes": self._outcomes}

    def restore(self, total: int, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._buckets, self._outcomes = state["buckets"].copy(), state["outcomes"].copy()
        self.total = total
