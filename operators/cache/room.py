"""The memory of all caches of a cell, dealt out among them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from eddy.contracts import Clock, QueryError, check_whole
from eddy.observe.caching import CacheCount
from eddy.operators.cache.cache import Cache
from eddy.operators.cache.saved import VERSION
from eddy.query.join_graph import cached_name
from eddy.taps import Taps
from eddy.tuples.packed import Packed

DEFAULT_MEMORY = 64 << 20
"""Bytes for all caches of a cell."""

SPARE = 8
"""Once caches outgrow their memory an eighth of it is cleared, so that it is not full again with the next key."""


SECTION = "cache "
"""The tables of a state that are caches begin with it."""

LARGEST_NUMBER = 1 << 60
"""Micro-batches that are believed to have been: their numbers stand in eight bytes."""


class Caches:
    """All caches of a cell, and their memory.

    `clock` is that of steps, as what it takes to keep a cache up is a part of one. `left` says how many bytes the
    stored rows and their indexes leave. `now` numbers the micro-batches, so that a cache knows which keys were not used
    for longest. With `keep` caches are a part of the state; `finders` give that of an operator for what tuples span.
    """

    def __init__(self, memory: int, clock: Clock = float, *, keep: bool = False) -> None:
        self.clock = clock
        # The inputs whose rows are in a state: not those that are tables.
        self.streams = frozenset[str]()
        self.finders: dict[str, Callable[[frozenset[str]], Cache | None]] = {}
        self._keep = keep
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

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Sequence[Packed]]]:
        """Give those that are worth what it takes to save them: what is told of them, and their pages."""
        # One that holds every key is made of all rows, wherever it begins. Rows of tables are in no state.
        saved = [one for one in self.all if one.is_worth_saving and not one.is_whole]
        saved = [one for one in saved if self.streams.issuperset(one.scope.inputs)]
        if not self._keep or not saved:
            return {}, {}
        written = [one.snapshot() for one in saved]
        about = (
            {"operator": cached_name(one.scope.inputs), "inputs": list(one.scope.inputs), "key": one.key.text}
            for one in saved
        )
        told = [
            {**names, "spans": sorted(one.spans), **own}
            for names, one, (own, _) in zip(about, saved, written, strict=True)
        ]
        tables: dict[str, Sequence[Packed]] = {f"{SECTION}{place}": own for place, (_, own) in enumerate(written)}
        return {"version": VERSION, "now": self.now, "all": told}, tables

    def restore(self, state: Mapping[str, Any], tables: Mapping[str, Sequence[Packed]]) -> None:
        """Go on with those that are saved, as far as they can be read: others begin anew."""
        if not self._keep or not isinstance(state, Mapping) or state.get("version") != VERSION:
            return
        # Whatever is wrong with it, nothing but time is lost.
        with suppress(Exception):
            self.now = min(check_whole(state["now"], "now", 0), LARGEST_NUMBER)
            for place, told in enumerate(state["all"]):
                self._restore(told, tables[f"{SECTION}{place}"])
        self.fit()

    def _restore(self, told: Mapping[str, Any], pages: Sequence[Packed]) -> None:
        find = self.finders.get(told["operator"])
        cache = None if find is None else find(frozenset(told["spans"]))
        # Names of inputs may make two parts be called the same.
        if cache and [list(cache.scope.inputs), cache.key.text] == [told["inputs"], told["key"]]:
            cache.restore(told, pages)
