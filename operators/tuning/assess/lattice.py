"""The lattice of access patterns: a rare one is counted to one with a key less, whose index serves it too."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy

from eddy.operators.tuning.assess.entries import Entries


class Lattice(Entries):
    """What both ways of CDIA have in common (section 5.4.2): all but the choice of a parent.

    The paper compresses only leaves, patterns below which nothing is counted. Then every pattern above a frequent one
    stays, however rare, and a wide frequent one has 2^keys of them, so that the table is not bounded. Here whatever is
    rare goes up, which keeps the bound and the counts: nothing is lost, and none lacks more than `epsilon`.
    """

    def __init__(self, *, epsilon: float, theta: float, seed: int = 0) -> None:
        self._theta = theta
        self._seed = seed
        super().__init__(epsilon)

    def counts(self) -> Mapping[int, int]:
        """Give the counts of the patterns that may have `theta`, and of the rest."""
        # Whoever only looks must not change what comes, of chance as well.
        result = copy(self)
        result._counts, result._lacks = dict(self._counts), dict(self._lacks)
        result._lift(self._theta * self._total, 0)
        return result._counts

    @abstractmethod
    def _choose(self, parents: Sequence[int], counts: Mapping[int, int]) -> int:
        """Pick the parent that gathers."""

    def _compress(self, segment: int) -> None:
        # A count that is just as large as the number of the segment is too rare: hence one more.
        self._lift(segment + 1, segment - 1)

    def _lift(self, least: float, lacking: int) -> None:
        """Count each pattern that may not have `least` to a parent."""
        # An index of (user) serves every search by user and others. From the widest patterns to the narrowest, what is
        # rare goes up to one of its parents, and what is left of a single key to the rest:
        #
        #     (user, place, kind) -> (user, place) or (user, kind) or (place, kind) -> (user) ... -> rest
        levels: dict[int, list[int]] = {}
        for pattern in self._counts:
            levels.setdefault(pattern.bit_count(), []).append(pattern)
        # Parents are a level higher, so each level is complete when its turn comes.
        for level in range(max(levels, default=0), 0, -1):
            for pattern in sorted(levels.get(level, ())):
                if self._most(pattern) >= least:
                    continue
                parents = list_parents(pattern)
                # One that is counted already gathers; only if none is, there is a new one.
                parent = self._choose([p for p in parents if p in self._counts] or parents, self._counts)
                if parent not in self._counts:
                    levels.setdefault(level - 1, []).append(parent)
                self._gather(parent, self._remove(pattern), lacking)


def list_parents(pattern: int) -> list[int]:
    """List the patterns with one key less; the rest is the parent of those with one.

    >>> [f"{parent:03b}" for parent in list_parents(0b101)], list_parents(0b1)
    (['001', '100'], [0])
    """
    return sorted(pattern & ~(1 << key) for key in range(pattern.bit_length()) if pattern >> key & 1)
