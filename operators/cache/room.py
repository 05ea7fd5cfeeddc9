"""The memory of all caches of a cell, dealt out among them."""

from __future__ import annotations

from eddy.operators.cache.cache import Cache

DEFAULT_MEMORY = 64 << 20
"""Bytes for all caches of a cell."""

SPARE = 8
"""Once caches outgrow their memory an eighth of it is cleared, so that it is not full again with the next key."""


class Caches:
    """All caches of a cell, and their memory.

    `now` numbers the micro-batches, so that a cache knows which keys were not used for longest.
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.now = 0
        self.all: list[Cache] = []

    @property
    def nbytes(self) -> int:
        """The bytes that all caches occupy."""
        return sum(cache.store.nbytes for cache in self.all)

    def fit(self) -> None:
        """Let keys go until all caches fit into their memory.

        A cache that is worth less for its bytes goes first: what others grow into is its room.
        """
        excess = self.nbytes - self.memory
        if excess <= 0:
            return
        excess += self.memory // SPARE
        for cache in sorted(self.all, key=_find_worth):
            if excess > 0:
                before = cache.store.nbytes
                cache.store.shrink(max(before - excess, 0))
                excess -= before - cache.store.nbytes

    def settle(self) -> None:
        """End the micro-batch."""
        for cache in self.all:
            cache.settle()
        self.fit()
        self.now += 1


def _find_worth(cache: Cache) -> float:
    """Give the combinations that were ready when they were wanted, for a byte."""
    gauge, store = cache.gauge, cache.store
    return gauge.hits * max(gauge.found, 1) / max(gauge.fills, 1) / max(store.nbytes, 1)
