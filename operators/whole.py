"""Joins tuples with several inputs at once, by all combinations that there are of these.

A tree of two-way joins (section 5.3 of Babu's thesis) has its subresults in this form. It is `cached` but for what is
kept: every key, so that there are no misses, and no less than all of it, so that it needs its memory.
"""

from __future__ import annotations

from eddy.operators.cache.cache import Cache
from eddy.operators.cache.scope import CacheKey
from eddy.operators.cache.whole import WholeCache
from eddy.operators.cached import Cached
from eddy.query.join_graph import whole_name


class Whole(Cached):
    """Looks combinations of several inputs up among all that there are."""

    naming = staticmethod(whole_name)

    def _make_cache(self, key: CacheKey) -> Cache:
        caches = self._caches
        return WholeCache(self._scope, key, self._stems, caches.taps, caches.clock, caches.check_room)
