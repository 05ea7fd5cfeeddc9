"""Builds the indexes of parts, of rows or of the indexes that there are of some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eddy.operators.index import price
from eddy.operators.index.parts import Part, Piece
from eddy.operators.index.sample import Sample
from eddy.operators.index.structures.chained import make_tags
from eddy.operators.index.structures.contracts import Index, PartRows
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.index.structures.registry import INDEXES
from eddy.operators.keys import Key
from eddy.operators.tuning.settings import IndexSettings
from eddy.tuples.arrays import Tags
from eddy.tuples.event_time import Ticks
from eddy.tuples.splitmix import mix

NoteSorted = Callable[[KeyMap, int], None]
"""Is told of rows that were put in order for a map."""


class Builder:
    """Makes indexes of a STeM's rows."""

    def __init__(
        self, settings: IndexSettings, ticks: Callable[[], Ticks], sample: Sample, fewest: int = price.FEWEST_BITS
    ) -> None:
        self.keys: list[Key] = []
        self._settings = settings
        self._ticks = ticks
        self._sample = sample
        self._fewest = fewest
        # What was found out as long as the sample is what it was.
        self._bits: dict[tuple[KeyMap, int, int], tuple[int, ...]] = {}
        self._age = -1

    @property
    def is_as_before(self) -> bool:
        """Rows are laid out as before there were key maps."""
        return not (self._settings.merge or self._settings.time_order)

    def find_bits(self, key_map: KeyMap, rows: int, spare: int) -> tuple[int, ...]:
        """Find the bits of the fields for so many rows of a part."""
        if self.is_as_before and len(key_map.fields) == 1:
            return tuple(field.bits for field in key_map.fields)
        if self._age != self._sample.age:
            self._bits, self._age = {}, self._sample.age
        known = (key_map, rows, spare)
        if known not in self._bits:
            self._bits[known] = price.find_bits(key_map, rows, self._sample.distinct, spare, self._fewest)
        return self._bits[known]

    def build(self, part: Part, key_map: KeyMap, spare: int, note_sorted: NoteSorted) -> Index:
        """Build what there is not, or make it of pieces."""
        pieces = [piece for piece in part.built.pop(key_map, []) if piece.stop > part.gone]
        bits = self.find_bits(key_map, part.rows, spare)
        index = self._join(part, key_map, pieces, bits, note_sorted)
        if index is None:
            index = self._make(part, key_map, part.gone, part.end, bits, note_sorted)
        part.built[key_map] = [Piece(index, part.gone, part.end)]
        return index

    def read_times(self, part: Part) -> Ticks:
        """Give the times of a part's rows."""
        return self._ticks()[part.start : part.stop]

    def read_tags(self, key_map: KeyMap, begin: int, rows: int) -> Tags:
        """Read the tags by which rows from an id on are linked."""
        keys = [self.keys[n] for n in key_map.fields[0].keys]
        codes = [key.stored[0][begin:rows].astype(np.int64, copy=False) for key in keys]
        valid = [v[begin:rows] for key in keys if (v := key.stored[1]) is not None]
        return make_tags(mix(codes), np.logical_and.reduce(valid) if valid else None)

    def _join(
        self, part: Part, key_map: KeyMap, pieces: Sequence[Piece], bits: tuple[int, ...], note_sorted: NoteSorted
    ) -> Index | None:
        """Make one index of pieces; None if they are not all rows, or cannot be put together."""
        if not pieces or pieces[0].first > part.gone or pieces[-1].stop != part.end:
            return None
        first, *others = pieces
        index, stop = first.index, first.stop
        if others and (not part.rises or sum(index.bits) < sum(bits)):
            return None
        if first.first < part.gone and not index.trim(part.gone - first.first):
            return None
        for piece in others:
            more = piece.index
            if more.bits != index.bits:
                rows = part.end - part.gone
                more = self._make(part, key_map, piece.first, piece.stop, index.bits, note_sorted, rows)
            if piece.first != stop or not index.extend(more, piece.first - part.gone):
                return None
            stop = piece.stop
        return index

    def _make(
        self,
        part: Part,
        key_map: KeyMap,
        first: int,
        stop: int,
        bits: tuple[int, ...],
        note_sorted: NoteSorted,
        among: int = 0,
    ) -> Index:
        """Put rows in order, by their own numbers in a part; `among` so many, if an index of those takes them in."""
        shift = part.start - part.gone
        rows = slice(first + shift, stop + shift)
        numbers = [n for field in key_map.fields for n in field.keys] or [key_map.then or 0]
        in_order = not key_map.fields or part.rises or not self._settings.time_order
        keys = [self.keys[n] for n in numbers]
        valid = [v[rows] for key in keys if (v := key.stored[1]) is not None]
        # A row that lacks a key is in none but an index of one field: a search by the others must find it.
        whole = len(key_map.fields) > 1 or not valid
        note_sorted(key_map, stop - first)
        name = "ordered" if not key_map.fields else "sorted" if self._is_sorted(key_map) else "mapped"
        return INDEXES[name](
            key_map,
            PartRows(
                stop - first,
                [key.stored[0][rows].astype(np.int64, copy=False) for key in keys],
                None if whole else np.logical_and.reduce(valid),
                None if in_order else self._ticks()[rows],
                bits,
                among,
            ),
        )

    def _is_sorted(self, key_map: KeyMap) -> bool:
        return self.is_as_before and len(key_map.fields) == 1
