"""The indexes of one STeM, each built when a probe first asks for it."""

from __future__ import annotations

import numpy as np

from eddy.contracts import Codes, Index, Valid
from operators.index.registry import INDEXES
from operators.keys import Key
from operators.stem import Stem


class Catalog:
    """Hands out indexes that are up to date."""

    def __init__(self, stem: Stem) -> None:
        self._stem = stem
        self._indexes: dict[tuple[str, tuple[Key, ...]], Index] = {}
        self._seen: dict[tuple[str, tuple[Key, ...]], int] = {}

    @property
    def nbytes(self) -> int:
        """What the indexes occupy."""
        return sum(index.nbytes for index in self._indexes.values())

    def get(self, kind: str, keys: tuple[Key, ...]) -> Index:
        """An index over some keys."""
        index = self._indexes.setdefault((kind, keys), INDEXES[kind]())
        if self._seen.get((kind, keys)) != self._stem.version:
            index.refresh(list(self._stem.segments), lambda start, stop: _codes(keys, start, stop))
            self._seen[kind, keys] = self._stem.version
        return index


def _codes(keys: tuple[Key, ...], start: int, stop: int) -> tuple[list[Codes], Valid]:
    ids = np.arange(start, stop)
    valid = [v for key in keys if (v := key.valid(ids)) is not None]
    return [key.codes(ids) for key in keys], np.logical_and.reduce(valid) if valid else None
