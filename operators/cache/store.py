"""The combinations that a cache holds, by key: sorted parts of keys and rows.

A key that is held has all combinations of stored rows that join, maybe none. Rows go by numbers that stay as they are
while the oldest rows go; a combination with a row that has gone, or that a condition has failed, stays until it is
cleared away, and is told apart by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eddy.operators.cache.deadlines import Times, join_times
from eddy.predicates.faults import FAIL, UNKNOWN
from eddy.tuples.arrays import FaultCodes, Integers, KeyCodes, Mask, RowIds
from eddy.tuples.runs import Lots, Ranges
from eddy.tuples.splitmix import mix

MERGE = 2
"""A part is merged with the one before it unless that is so many times as large: there are few parts then, and a
combination is moved about as often as the parts double."""

MOST_PARTS = 6
"""Parts at most: each is searched for every key."""

TABLE = 4
"""Numbers for each key that a table of places may have: a look into it takes a third of a search, and eight bytes."""

KEY_BYTES = 33
"""Bytes of a key besides its codes and combinations: a hash, a stamp, a start, a count, and whether it is held."""

GONE = -1
"""Stands for a row that has left from among others: no row has a number below 0."""


class Combinations(NamedTuple):
    """Rows of each input by number, for some keys, and their times: those of key n are the next `counts[n]`."""

    counts: Integers
    rows: Mapping[str, RowIds]
    times: Times


@dataclass
class Part:
    """Some keys, sorted by hash, and their combinations.

    `codes` has an array for each side of the key. Of a key that is not `held` here others of its combinations are in an
    earlier part. `verdicts` has what each condition has said of each combination.
    """

    hashes: Integers
    codes: list[KeyCodes]
    held: Mask
    used: Integers
    starts: Integers
    counts: Integers
    rows: dict[str, RowIds]
    times: Times
    verdicts: list[FaultCodes]
    _table: Integers | None = None

    @property
    def size(self) -> int:
        """Count the keys and the combinations."""
        return len(self.hashes) + self.many

    @property
    def many(self) -> int:
        """Count the combinations."""
        return len(next(iter(self.rows.values())))

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        arrays = [self.held, self.used, self.starts, self.counts, *self.rows.values(), *self.verdicts]
        # The hash of a single code is the code itself.
        arrays += self.codes if len(self.codes) > 1 else []
        table = 0 if self._table is None else self._table.nbytes
        return self.hashes.nbytes + table + self.times.nbytes + sum(array.nbytes for array in arrays)

    def find(self, hashes: Integers) -> tuple[Integers, Mask]:
        """Find keys: their places, and which of them are here."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int64), np.zeros(len(hashes), np.bool_)
        if self._table is None:
            self._table = _make_table(self.hashes)
        if len(self._table):
            # A number outside of the table is another's place there, and differs from the key at it.
            places = self._table.take(hashes - self.hashes[0], mode="clip")
        else:
            places = np.searchsorted(self.hashes, hashes)
            places[places == len(self.hashes)] = 0
        return places, self.hashes.take(places) == hashes

    def keep_keys(self, kept: Mask) -> None:
        """Let go of keys as a whole."""
        of_kept, self._table = np.repeat(kept, self.counts), None
        self.hashes, self.held, self.used = self.hashes[kept], self.held[kept], self.used[kept]
        self.codes = [code[kept] for code in self.codes]
        self._set_counts(self.counts[kept])
        self._take(np.flatnonzero(of_kept))

    def keep_combinations(self, kept: Mask) -> None:
        """Let go of combinations that join nothing any more."""
        keys = np.repeat(np.arange(len(self.hashes)), self.counts)
        self._set_counts(np.bincount(keys[kept], minlength=len(self.hashes)))
        self._take(np.flatnonzero(kept))

    def _set_counts(self, counts: Integers) -> None:
        self.counts, self.starts = counts, np.cumsum(counts) - counts

    def _take(self, places: RowIds) -> None:
        self.rows = {name: rows.take(places) for name, rows in self.rows.items()}
        self.times = self.times.take(places)
        self.verdicts = [verdicts.take(places) for verdicts in self.verdicts]


class KnownKeys(NamedTuple):
    """What is known of some keys: which of them are held, which never can be beside others, and their combinations."""

    held: Mask
    refused: Mask
    ranges: Ranges


class CacheStore:
    """Keys, and all combinations of each."""

    def __init__(self, inputs: Sequence[str], sides: int, conditions: int) -> None:
        self.inputs = tuple(inputs)
        self._sides, self._conditions = sides, conditions
        self.parts: list[Part] = []

    @property
    def keys(self) -> int:
        """Count the keys that are held."""
        return sum(int(np.count_nonzero(part.held)) for part in self.parts)

    @property
    def many(self) -> int:
        """Count the combinations, those included that are to be cleared away."""
        return sum(part.many for part in self.parts)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return sum(part.nbytes for part in self.parts)

    def clear(self) -> None:
        """Let go of everything."""
        self.parts = []

    def look_up(self, codes: Sequence[KeyCodes], hashes: Integers, now: int) -> KnownKeys:
        """Find keys, and note that they were used; `codes` has an array for each side, `hashes` is of all of them."""
        held, refused = np.zeros(len(hashes), np.bool_), np.zeros(len(hashes), np.bool_)
        starts = np.zeros((len(hashes), max(len(self.parts), 1)), np.int64)
        counts, begun = np.zeros_like(starts), 0
        for slot, part in enumerate(self.parts):
            places, found = part.find(hashes)
            if self._sides > 1 and len(part.hashes):
                # Another key with this hash: it is held, so this one cannot be.
                same = np.logical_and.reduce(
                    [own.take(places) == code for own, code in zip(part.codes, codes, strict=True)]
                )
                refused |= found & ~same
                found &= same
            if found.all():
                held |= part.held.take(places)
                starts[:, slot], counts[:, slot] = part.starts.take(places) + begun, part.counts.take(places)
                part.used[places] = now
            elif found.any():
                own = places[found]
                held[found] |= part.held.take(own)
                starts[found, slot], counts[found, slot] = part.starts.take(own) + begun, part.counts.take(own)
                part.used[own] = now
            begun += part.many
        everything = Lots()
        everything.add(None, 0, begun)
        return KnownKeys(held, refused, Ranges(starts, counts, everything))

    def mask_held(self, codes: Sequence[KeyCodes]) -> Mask:
        """Mask the keys that are held, without using them."""
        hashes = hash_codes(codes)
        held = np.zeros(len(hashes), np.bool_)
        for part in self.parts:
            places, found = part.find(hashes)
            for own, code in zip(part.codes, codes, strict=True):
                found &= own.take(places) == code if len(own) else False
            held[found] |= part.held[places[found]]
        return held

    def mask_other(self, codes: Sequence[KeyCodes], hashes: Integers) -> Mask:
        """Mask the keys whose hash another key has here."""
        other = np.zeros(len(hashes), np.bool_)
        for part in self.parts:
            places, found = part.find(hashes)
            if len(part.hashes):
                same = [own.take(places) == code for own, code in zip(part.codes, codes, strict=True)]
                other |= found & ~np.logical_and.reduce(same)
        return other

    def add(self, codes: Sequence[KeyCodes], made: Combinations, now: int, *, are_held: Mask | bool) -> None:
        """Add keys, each of them once, with their combinations; or more combinations of keys that are held."""
        hashes = hash_codes(codes)
        order = np.argsort(hashes, kind="stable")
        many = int(made.counts.sum())
        part = Part(
            hashes=hashes,
            codes=list(codes),
            held=np.full(len(hashes), are_held),
            used=np.full(len(hashes), now),
            starts=np.cumsum(made.counts) - made.counts,
            counts=made.counts,
            rows={name: made.rows[name] for name in self.inputs},
            times=made.times,
            verdicts=[np.full(many, UNKNOWN, np.uint8) for _ in range(self._conditions)],
        )
        self.parts.append(_merge([part], self._sides) if (order[1:] < order[:-1]).any() else part)
        while len(self.parts) > 1 and (
            len(self.parts) > MOST_PARTS or self.parts[-2].size <= MERGE * self.parts[-1].size
        ):
            last = self.parts.pop()
            self.parts[-1] = _merge([self.parts[-1], last], self._sides)

    def read_verdicts(self, condition: int, places: RowIds) -> FaultCodes:
        """Give what a condition has said of combinations at some places."""
        found = np.empty(len(places), np.uint8)
        for mask, part, own in self._divide(places):
            found[mask] = part.verdicts[condition].take(own)
        return found

    def write_verdicts(self, condition: int, places: RowIds, verdicts: FaultCodes) -> None:
        """Keep what a condition says of combinations at some places."""
        for mask, part, own in self._divide(places):
            part.verdicts[condition][own] = verdicts[mask]

    def _divide(self, places: RowIds) -> list[tuple[Mask, Part, RowIds]]:
        """Divide places by parts: a mask of those in each, and the places there."""
        divided, begun = [], 0
        for part in self.parts:
            mask = (places >= begun) & (places < begun + part.many)
            divided.append((mask, part, places[mask] - begun))
            begun += part.many
        return divided

    def move(self, name: str, gone: int, keep: Mask) -> None:
        """Give rows new numbers: of an input some rows go from among others."""
        lead = int(keep.argmax())
        hole = lead + int((~keep[lead:]).argmax())
        moved = np.cumsum(keep) - 1 + (gone + lead)
        for part in self.parts:
            rows = part.rows[name]
            behind = np.flatnonzero(rows >= gone + hole)
            if len(behind):
                ids = rows.take(behind) - gone
                part.rows[name] = rows = rows.copy()
                rows[behind] = np.where(keep.take(ids), moved.take(ids), GONE)

    def purge(self, gone: Mapping[str, int]) -> None:
        """Clear away the combinations with rows that have gone, or that a condition has failed."""
        for part in self.parts:
            kept = np.ones(part.many, np.bool_)
            for name, rows in part.rows.items():
                kept &= rows >= gone[name]
            for verdicts in part.verdicts:
                kept &= verdicts != FAIL
            if not kept.all():
                part.keep_combinations(kept)

    def drop_empty(self) -> None:
        """Let go of the keys that have no combinations."""
        for part in self.parts:
            if not part.counts.all():
                part.keep_keys(part.counts > 0)

    def shrink(self, most: int) -> None:
        """Let go of the keys that were not used for longest, until it occupies no more than so many bytes."""
        if not self.parts or self.nbytes <= most:
            return
        whole = self.parts[0] if len(self.parts) == 1 else _merge(self.parts, self._sides)
        rows = len(self.inputs) * 8 + self._conditions + (8 * sum(one is not None for one in whole.times))
        weights = KEY_BYTES + 8 * TABLE + (8 * self._sides if self._sides > 1 else 0) + whole.counts * rows
        # Keys that were used together go by their weight: of many small ones more stay than of a few large ones.
        order = np.lexsort((weights, -whole.used))
        fits = np.cumsum(weights.take(order)) <= most
        kept = np.zeros(len(order), np.bool_)
        kept[order[fits]] = True
        whole.keep_keys(kept)
        self.parts = [whole] if kept.any() else []


def hash_codes(codes: Sequence[KeyCodes]) -> Integers:
    """Give one number for the codes of all sides of keys; of one side, the code itself."""
    return codes[0] if len(codes) == 1 else mix(codes).view(np.int64)


def _make_table(hashes: Integers) -> Integers:
    """Give for each number from the first key to the last the place of a key; nothing where that would be long."""
    least, most = int(hashes[0]), int(hashes[-1])
    if most - least >= TABLE * len(hashes):
        return np.empty(0, np.int64)
    table = np.zeros(most - least + 1, np.int64)
    table[hashes - least] = np.arange(len(hashes))
    return table


def mask_odd(codes: Sequence[KeyCodes], first: RowIds) -> Mask:
    """Mask the keys that differ from the first one with their hash."""
    differ = [code != code.take(first) for code in codes] if len(codes) > 1 else []
    return np.logical_or.reduce(differ) if differ else np.zeros(len(first), np.bool_)


def _merge(parts: Sequence[Part], sides: int) -> Part:
    """Make one part of several; a key's combinations come together."""
    hashes = np.concatenate([part.hashes for part in parts])
    # Keys that are the same have one number; nothing else has their hash, or it would have been refused.
    unique, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    held, used = np.zeros(len(unique), np.bool_), np.zeros(len(unique), np.int64)
    np.logical_or.at(held, inverse, np.concatenate([part.held for part in parts]))
    np.maximum.at(used, inverse, np.concatenate([part.used for part in parts]))
    owners = np.repeat(inverse, np.concatenate([part.counts for part in parts]))
    order = np.argsort(owners, kind="stable")
    counts = np.bincount(owners, minlength=len(unique))
    codes = [np.concatenate([part.codes[side] for part in parts]).take(first) for side in range(sides)]
    return Part(
        hashes=unique,
        codes=codes,
        held=held,
        used=used,
        starts=np.cumsum(counts) - counts,
        counts=counts,
        rows={n: np.concatenate([part.rows[n] for part in parts]).take(order) for n in parts[0].rows},
        times=join_times([part.times for part in parts]).take(order),
        verdicts=[
            np.concatenate([part.verdicts[c] for part in parts]).take(order) for c in range(len(parts[0].verdicts))
        ],
    )
