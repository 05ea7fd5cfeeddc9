"""Rows whose fate is known: what each operator makes of each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.divider import Buckets
from eddy.errors import EngineError
from policies.orders import Floats


@dataclass(frozen=True, kw_only=True)
class Sample:
    """The sample S of the Query Mesh paper (section 4.2), and the verdict matrix of its rows.

    `buckets` has a row for each sampled row and a column for each attribute, `outcomes` one for each operator: how many
    tuples the operator makes of the row, whatever the others do with it. Exhaustive legs report just that.

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
