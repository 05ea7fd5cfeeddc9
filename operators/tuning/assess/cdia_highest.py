"""Counts rare access patterns to their most frequent parent (CDIA, section 5.4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eddy.operators.tuning.assess.lattice import Lattice


class CdiaHighest(Lattice):
    """A lattice in which the parent with the highest count gathers.

    It has the best chance to be worth an index in the end, and the paper finds it best.

    >>> counted = CdiaHighest(epsilon=0.1, theta=0.2)
    >>> for pattern, times in ((0b001, 6), (0b010, 9), (0b011, 1), (0b100, 4)):
    ...     counted.add(pattern, times)
    >>> counted.counts()
    {1: 6, 2: 10, 4: 4}
    """

    def _choose(self, parents: Sequence[int], counts: Mapping[int, int]) -> int:
        """Pick the one with the highest count."""
        return max(parents, key=lambda parent: (counts.get(parent, 0), -parent))
