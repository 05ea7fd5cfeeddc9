"""Counts rare access patterns to any of their parents (CDIA, section 5.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

from eddy.operators.tuning.assess.entries import read_count
from eddy.operators.tuning.assess.lattice import Lattice


class CdiaRandom(Lattice):
    """A lattice in which chance says which parent gathers.

    Its chance is its own: the number of a draw, mixed with the seed, so that no policy draws otherwise for it, and a
    snapshot has nothing to keep but that number.
    """

    def __init__(self, *, epsilon: float, theta: float, seed: int = 0) -> None:
        super().__init__(epsilon=epsilon, theta=theta, seed=seed)
        self._drawn = 0

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""
        return {**super().snapshot(), "drawn": self._drawn}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        super().restore(state)
        self._drawn = read_count(state["drawn"])

    def _choose(self, parents: Sequence[int], counts: Mapping[int, int]) -> int:
        """Pick any of them."""
        self._drawn += 1
        drawn = blake2b(f"{self._seed} {self._drawn}".encode(), digest_size=8).digest()
        return parents[int.from_bytes(drawn) % len(parents)]
