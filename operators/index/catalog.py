"""The indexes of one STeM, each built when a probe needs it."""

from __future__ import annotations

import numpy as np

from eddy.contracts import Index
from eddy.operators.index.registry import INDEXES
from eddy.operators.index.searches import Searches
from eddy.operators.index.segments import Segments
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import KeyCodes, Valid

IndexKind = tuple[str, tuple[Key, ...]]


class Catalog:
    """Hands out fresh indexes, and keeps those asked for last."""

    def __init__(self, segments: Segments, settings: IndexSettings) -> None:
        self.settings = settings
        self._segments = segments
        self._indexes: dict[IndexKind, Index] = {}
        self._fresh: set[IndexKind] = set()
        self.searches = Searches()

    @property
    def nbytes(self) -> int:
        """The bytes that the indexes occupy."""
        return sum(index.nbytes for index in self._indexes.values())

    def get(self, name: str, keys: tuple[Key, ...]) -> Index:
        """An index over some keys."""
        kind = (name, keys)
        # Popped and put back, so that the dict stands in the order of use.
        index = self._indexes.pop(kind, None) or INDEXES[name]()
        if kind not in self._fresh:
            index.refresh(list(self._segments), lambda start, stop: _codes(keys, start, stop))
            self._fresh.add(kind)
        self._indexes[kind] = index
        return index

    def rest(self, room: int) -> None:
        """End the micro-batch, and keep the latest indexes.

        Only as many are kept as there is room for.
        """
        for index in self._indexes.values():
            index.rest()
        used = 0
        # Latest first, as long as they fit: the rows come first, indexes can be built again.
        for kind in list(reversed(self._indexes)):
            used += self._indexes[kind].nbytes
            if used > room:
                del self._indexes[kind]
        self.invalidate()

    def invalidate(self) -> None:
        """Note that the rows are no longer those of the indexes."""
        self._fresh = set()
        self.searches.clear()


def _codes(keys: tuple[Key, ...], start: int, stop: int) -> tuple[list[KeyCodes], Valid]:
    ids = np.arange(start, stop)
    valid = [v for key in keys if (v := key.valid(ids)) is not None]
    return [key.codes(ids) for key in keys], np.logical_and.reduce(valid) if valid else None
