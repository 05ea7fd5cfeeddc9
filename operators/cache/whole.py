"""A cache that holds every key: a part of a join that is materialized, as in a tree of two-way joins.

It is built when it is first asked for, from all rows that are stored then, and kept up with all that come. It has no
misses: a key that is not there has no combinations. It cannot make room either, so too little memory is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from eddy.contracts import Clock
from eddy.operators.cache.cache import Cache, Found, join_found
from eddy.operators.cache.fill import Frontier
from eddy.operators.cache.scope import CacheKey, Scope
from eddy.operators.cache.store import hash_codes, mask_odd
from eddy.operators.stem import Stem
from eddy.taps import Taps
from eddy.tuples.arrays import Integers, KeyCodes, Mask

ROW_BYTES = 8
"""Bytes of a row in a combination that is not in the store yet."""


class WholeCache(Cache):
    """All combinations of some inputs, by one key; `check_room` refuses so many bytes more."""

    is_whole = True

    def __init__(
        self,
        scope: Scope,
        key: CacheKey,
        stems: Mapping[str, Stem],
        taps: Taps,
        clock: Clock = float,
        check_room: Callable[[int], None] = lambda _: None,
    ) -> None:
        super().__init__(scope, key, stems, taps, clock)
        self._check_room = check_room
        # Two keys with one hash cannot both be in a store. Neither is relied on: tuples that have them are refused.
        self._odd: Integers = np.empty(0, np.int64)

    @property
    def name(self) -> str:
        """Write its inputs, for people."""
        return f"{super().name} (whole)"

    def look_up(self, codes: Sequence[KeyCodes], now: int) -> Found:
        """Look keys up; one that is not there has no combinations."""
        self._taps.want(self._tap)
        hashes = hash_codes(codes)
        refused = np.isin(hashes, self._odd)
        self.gauge.looked(len(hashes), len(hashes) - int(np.count_nonzero(refused)))
        return Found(self.store.look_up(codes, hashes, now).ranges, refused, len(hashes))

    def _find_with_fresh(self, name: str) -> Iterator[Frontier]:
        """Find the combinations with a new row, as long as there is room for them."""
        found = 0
        for made in super()._find_with_fresh(name):
            found += len(made.at)
            self._check_room(found * ROW_BYTES * len(self.scope.inputs))
            yield made

    def _add_fresh(self, found: Sequence[Frontier], now: int) -> None:
        """Add combinations, but for those of keys that share their hash with another."""
        is_sure = len(self.key.sides) == 1 or not found
        super()._add_fresh(found if is_sure else [self._drop_odd(join_found(found))], now)

    def _drop_odd(self, made: Frontier) -> Frontier:
        codes = self._read_codes(made)
        hashes = hash_codes(codes)
        _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        odd = self.store.mask_other(codes, hashes) | mask_odd(codes, first.take(inverse))
        self._odd = np.union1d(self._odd, hashes[odd])
        return made.keep(~np.isin(hashes, self._odd))

    def _mask_begun(self, codes: Sequence[KeyCodes]) -> Mask:
        """Mask the keys that are new."""
        return ~self.store.mask_held(codes)

    def _purge(self, gone: Mapping[str, int]) -> None:
        """Clear away what has gone, and the keys of which nothing is left."""
        super()._purge(gone)
        self.store.drop_empty()
