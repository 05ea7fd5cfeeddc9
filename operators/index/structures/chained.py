"""Searches by equality along chains: each row leads to the next older one with the same first bits of its hash.

A row that comes costs a step, wherever the others stand, and the oldest ones go at no cost. So unlike an order of rows
it is one for all rows of a STeM, whatever the window, and what there was before needs never to be put in order again.
"""

from __future__ import annotations

import numpy as np

from eddy.kernels.arguments import Chain
from eddy.kernels.choice import choose_kernels
from eddy.operators.columns import Growing
from eddy.tuples.arrays import Hashes, RowIds, Tags, Valid

TAG_BITS = np.uint64(32)
IN_CHAIN = np.uint32(1)

FIRST = 1
"""The number of the first row; 0 is nobody's."""

LAST = (1 << 32) - 1
"""The last number that a link has room for: rows are numbered anew before that."""

FEWEST_BITS, MOST_BITS = 8, 30

SHRINK = 2
"""Bits that must be too many before there are fewer heads: rows that come and go would else be linked each time."""


def find_head_bits(rows: int, spare: int) -> int:
    """Find how many bits of a hash have heads of their own: one head a row or two, or fewer where room is scarce.

    >>> find_head_bits(10_000, 0), find_head_bits(10_000, -2)
    (14, 12)
    """
    return min(max(max(rows - 1, 1).bit_length() + min(spare, 0), FEWEST_BITS), MOST_BITS)


class Chained:
    """Leads to the rows with the hash of a tuple's keys."""

    def __init__(self, spare: int = 0) -> None:
        self._spare = spare
        self._first = FIRST
        self._links = Growing(np.uint64)
        self._heads: Tags = np.zeros(1 << FEWEST_BITS, np.uint32)

    def __len__(self) -> int:
        return len(self._links)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self._links.nbytes + self._heads.nbytes

    @property
    def chain(self) -> Chain:
        """What a kernel walks along, good until the next change."""
        return Chain(self._heads, self._links.values, self._first)

    def extend(self, hashes: Hashes, valid: Valid) -> None:
        """Take in rows at the end; those that lack a key are in no chain."""
        tags = (hashes >> TAG_BITS).astype(np.uint32) | IN_CHAIN
        if valid is not None:
            tags[~valid] ^= IN_CHAIN
        known = len(self)
        self._links.append(np.zeros(len(tags), np.uint64))
        if not self._make_room():
            choose_kernels().kernels.link(self.chain, tags, known)
        else:
            self._relink(tags, known)

    def fit(self, spare: int) -> bool:
        """Have as many heads as there is room for; says whether all rows had to be linked for it."""
        self._spare = spare
        is_other = self._make_room()
        if is_other:
            self._relink(np.empty(0, np.uint32), len(self))
        return is_other

    def drop(self, count: int) -> None:
        """Let go of the oldest rows: chains end before them."""
        self._links.drop(count)
        self._first += count

    def keep(self, first: int, ids: RowIds) -> None:
        """Let go of all rows behind the first so many, but some: these get other numbers."""
        choose_kernels().kernels.unlink(self.chain, first)
        self._links.keep(first, ids)
        choose_kernels().kernels.link(self.chain, self._read_tags(first), first)

    def _read_tags(self, begin: int) -> Tags:
        tags: Tags = (self._links.values[begin:] >> TAG_BITS).astype(np.uint32)
        return tags

    def _make_room(self) -> bool:
        """Make heads for the rows, and numbers; says whether all rows must be linked again."""
        bits = find_head_bits(len(self), self._spare)
        have = len(self._heads).bit_length() - 1
        slack = SHRINK if self._spare >= 0 else 1
        if have - slack < bits <= have and self._first + len(self) <= LAST:
            return False
        self._heads, self._first = np.zeros(1 << bits, np.uint32), FIRST
        return True

    def _relink(self, tags: Tags, known: int) -> None:
        """Link all rows, of which the last have not been linked yet."""
        choose_kernels().kernels.link(self.chain, np.concatenate([self._read_tags(0)[:known], tags]), 0)
