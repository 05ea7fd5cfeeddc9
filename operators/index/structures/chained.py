"""Searches by equality along chains: each row leads to the next older one with the same first bits of its hash.

A row that comes costs a step, wherever the others stand, and the oldest ones go at no cost. So unlike an order of rows
it is one for all rows of a STeM, whatever the window, and what there was before needs never to be put in order again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eddy.kernels.arguments import Chain
from eddy.kernels.choice import choose_chains
from eddy.operators.stored.columns import Growing
from eddy.tuples.arrays import Hashes, RowIds, Tags, Valid

TAG_BITS = np.uint64(32)
IN_CHAIN = np.uint32(1)

FIRST = 1
"""The number of the first row; 0 is nobody's."""

LAST = (1 << 32) - 1
"""The last number that a head has room for: rows are numbered anew before that."""

FEWEST_BITS, MOST_BITS = 8, 30

SHRINK = 2
"""Bits that must be too many before there are fewer heads: rows that come and go would else be linked each time."""


ReadTags = Callable[[int], Tags]
"""Gives the tags of rows from an id on."""


def make_tags(hashes: Hashes, valid: Valid) -> Tags:
    """Make the tags of rows; those that lack a key are in no chain."""
    tags = (hashes >> TAG_BITS).astype(np.uint32) | IN_CHAIN
    if valid is not None:
        tags[~valid] ^= IN_CHAIN
    return tags


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
        self._reach = FEWEST_BITS
        self._links = Growing(np.uint32)
        self._heads: Tags = np.zeros(1 << FEWEST_BITS, np.uint32)
        # The tags of the rows that have come since the last micro-batch: some of them may be taken out again.
        self._fresh: Tags = np.empty(0, np.uint32)

    def __len__(self) -> int:
        return len(self._links)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self._links.nbytes + self._heads.nbytes

    @property
    def chain(self) -> Chain:
        """What a kernel walks along, good until the next change."""
        return Chain(self._heads, self._links.values, self._first, self._reach)

    def follow(self, rows: int, read: ReadTags) -> int:
        """Link the rows up to so many that are in no chain yet; says how many were linked."""
        begin = len(self)
        if rows == begin:
            return 0
        self._links.append(np.zeros(rows - begin, np.uint32))
        return self._link(0 if self._make_room() else begin, read)

    def fit(self, spare: int, read: ReadTags) -> int:
        """End a micro-batch with as many heads as there is room for; says how many rows were linked for it."""
        self._spare = spare
        linked = self._link(0, read) if self._make_room() else 0
        self._fresh = np.empty(0, np.uint32)
        return linked

    def drop(self, count: int) -> None:
        """Let go of the oldest rows: chains end before them."""
        self._links.drop(count)
        self._first += count
        self._fresh = self._fresh[max(len(self._fresh) - len(self), 0) :]

    def keep(self, first: int, ids: RowIds) -> bool:
        """Let go of all rows behind the first so many, but some: these get other numbers.

        Says whether it still leads to any: not where some of the rows were there before the micro-batch.
        """
        settled = len(self) - len(self._fresh)
        if first < settled:
            self._links.drop(len(self))
            self._heads[:], self._first, self._fresh = 0, FIRST, self._fresh[:0]
            return False
        tags = self._fresh[first - settled :]
        choose_chains().unlink(self.chain, tags, first)
        self._links.keep(first, ids)
        tags = tags.take(ids - first)
        self._fresh = np.concatenate([self._fresh[: first - settled], tags])
        choose_chains().link(self.chain, tags, first)
        return True

    def _link(self, begin: int, read: ReadTags) -> int:
        tags = read(begin)
        choose_chains().link(self.chain, tags, begin)
        # All are as good as fresh once all were linked.
        self._fresh = np.concatenate([self._fresh, tags]) if begin else tags
        return len(tags)

    def _make_room(self) -> bool:
        """Make heads for the rows, and numbers; says whether all rows must be linked again."""
        bits = find_head_bits(len(self), self._spare)
        have = len(self._heads).bit_length() - 1
        slack = SHRINK if self._spare > 0 else 1
        is_near = len(self) < 1 << self._reach
        if have - slack < bits <= have and self._first + len(self) <= LAST and is_near:
            return False
        self._heads, self._first = np.zeros(1 << bits, np.uint32), FIRST
        # Twice as many rows may come before links have to reach farther.
        self._reach = min(max(len(self).bit_length() + 1, FEWEST_BITS), 32)
        return True
