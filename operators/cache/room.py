"""The memory of all caches of a cell, dealt out among them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from eddy.contracts import Clock, QueryError
from eddy.observe.caching import CacheCount
from eddy.operators.cache.cache import Cache
from eddy.taps import Taps

DEFAULT_MEMORY = 64 << 20
"""Bytes for all caches of a cell."""

SPARE = 8
"""Once caches outgrow their memory an eighth of it is cleared, so that it is not full again with the next key."""


class Caches:
    """All caches of a cell, and their memory.

    `clock` is that of steps, as what it takes to keep a cache up is a part of one. `left` says how many bytes the
    stored rows and their indexes leave. `now` numbers the micro-batches, so that a cache knows which keys were not used
    for longest.
    """

    def __init__(self, memory: int, clock: Clock = float) -> None:
        self.clock = clock
        self.left: Callable[[], int] = lambda: sys.maxsize
        self.now = 0
        self.taps = Taps()
        self.all: list[Cache] = []
        self._memory = memory

    @property
    def nbytes(self) -> int:
        """The bytes that all caches occupy."""
        return sum(cache.store.nbytes for cache in self.all)

    @property
    def limit(self) -> int:
        """The bytes that caches may occupy by now."""
        return min(self._memory, self.left())

    def fit(self) -> None:
        """Let keys go until all caches fit into their memory.

        A cache that is worth less for its bytes goes first: what others grow into is its room.
        """
        memory = self.limit
        self.check_room()
        excess = self.nbytes - memory
        if excess <= 0:
            return
        excess += memory // SPARE
        for cache in sorted(self.all, key=lambda cache: cache.worth):
            if excess > 0 and not cache.is_whole:
                before = cache.store.nbytes
                cache.store.shrink(max(before - excess, 0))
                excess -= before - cache.store.nbytes

    def check_room(self, more: int = 0) -> None:
        """Refuse to go on where parts of a join that are kept whole, and so many bytes more, have no room."""
        whole = [cache for cache in self.all if cache.is_whole]
        needed = sum(cache.store.nbytes for cache in whole) + more
        if whole and needed > self.limit:
            raise QueryError(
                f'policy "x_join": all combinations of {" and of ".join(f"({cache.name})" for cache in whole)} take '
                f"{needed:,} bytes by now, and cache_memory and max_state leave {self.limit:,} for them: give them "
                'more, take another tree or smaller windows, or the policy "a_caching", which makes do with less'
            )

    def settle(self) -> Sequence[CacheCount]:
        """End the micro-batch, once rows have gone; says what caches have done in it."""
        self.fit()
        self.now += 1
        return [cache.settle() for cache in self.all]
