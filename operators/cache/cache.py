"""A cache: combinations of some inputs by one key, filled on a miss, and kept up when rows come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy.contracts import Clock
from eddy.observe.caching import CacheCount
from eddy.operators.cache.deadlines import Deadlines
from eddy.operators.cache.fill import Finder, Frontier
from eddy.operators.cache.saved import PartReader, number_rows, read_numbers, write_part
from eddy.operators.cache.scope import CacheKey, Scope
from eddy.operators.cache.store import CacheStore, Combinations, hash_codes, mask_odd
from eddy.operators.matching import MOST_CANDIDATES
from eddy.operators.stem import Stem
from eddy.taps import Taps
from eddy.tuples.arrays import Integers, KeyCodes, Mask, RowIds
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.runs import Ranges

MOST_OF_KEY = 1 << 16
"""Candidates of one key: with more it is refused. Probes find the combinations of a hot key bit by bit; a cache would
have to hold all of them at a time, for half a megabyte an input."""

PURGE_SHARE = 4
"""Combinations with rows that have gone are cleared away once a quarter of an input's rows have."""

MOST_MISSED = 8
"""Micro-batches in which a cache may go unused: to find what joins with the rows of more is dearer than to begin
anew."""

KEY_SECONDS, COMBINATION_SECONDS = 2e-6, 2e-7
"""What it takes to find a key anew, and each of its combinations: 0.06 to 0.4 microseconds by what they are found
among."""

BYTE_SECONDS = 4e-9
"""What a byte of a cache takes to be saved with a micro-batch: it is packed in 1 to 2.6 nanoseconds, and a tenth of a
byte is left, which Spark's state store takes in 1.5."""

REFUSED = "refused"
"""The column of a state with the keys that are refused."""


@dataclass
class Gauge:
    """What a cache has done in a micro-batch, as `CacheCount` has it."""

    looked_up: int = 0
    hits: int = 0
    fills: int = 0
    refused: int = 0
    fresh: int = 0
    tapped: int = 0
    seconds: float = 0.0

    def looked(self, keys: int, hits: int) -> None:
        """Count keys that were looked up, and those of them that were held."""
        self.looked_up += keys
        self.hits += hits

    def filled(self, keys: int, refused: int) -> None:
        """Count keys that were filled, and keys that were refused."""
        self.fills += keys
        self.refused += refused

    def kept_up(self, rows: int, tapped: int, seconds: float) -> None:
        """Count rows that came, and those of them whose combinations passed anyway."""
        self.fresh += rows
        self.tapped += tapped
        self.seconds += seconds


class Filled(NamedTuple):
    """What was found for the first keys, in order: how many those are, which are refused, and the combinations."""

    keys: int
    refused: Mask
    made: Combinations


class Found(NamedTuple):
    """The combinations of keys, and those that were refused; the keys from `end` on have to wait."""

    ranges: Ranges
    refused: Mask
    end: int


class Cache:
    """The combinations of some inputs by one key.

    One that `is_whole` holds every key: what is not in its store has no combinations.
    """

    is_whole = False

    def __init__(
        self, scope: Scope, key: CacheKey, stems: Mapping[str, Stem], taps: Taps, clock: Clock = float
    ) -> None:
        self.scope, self.key = scope, key
        # What tuples span that come with the key: one of all such sets.
        self.spans = frozenset[str]()
        # Look-ups that were answered for a byte, and keys that were not found anew, in the latest micro-batches.
        self.worth, self.spared = 0.0, 0.0
        self._clock = clock
        self.gauge = Gauge()
        self.store = CacheStore(scope.inputs, len(key.sides), len(scope.residuals))
        self._stems = {name: stems[name] for name in scope.inputs}
        self._deadlines = Deadlines(stems)
        self._taps, self._tap = taps, taps.find(frozenset(scope.inputs))
        self._finder = Finder(scope, key, stems)
        self._refused: Integers = np.empty(0, np.int64)
        self._kept_up = 0
        # Numbers of rows: what came up to here is in the store, as far as its key is held; what had gone was cleared.
        self._upto = dict.fromkeys(scope.inputs, 0)
        self._cleared = dict.fromkeys(scope.inputs, 0)
        for name, stem in self._stems.items():
            stem.followers.append(self._make_follower(name))

    def _make_follower(self, name: str) -> Callable[[int, Mask], None]:
        def follow(gone: int, keep: Mask) -> None:
            self.store.move(name, gone, keep)
            seen = max(self._upto[name] - gone, 0)
            self._upto[name] = gone + int(keep.argmax()) + int(np.count_nonzero(keep[:seen]))

        return follow

    @property
    def name(self) -> str:
        """Write its inputs, for people."""
        return ", ".join(self.scope.inputs)

    @property
    def gone(self) -> dict[str, int]:
        """Count the rows of each input that have gone: rows have their ids as numbers, and so many more."""
        return {name: stem.gone for name, stem in self._stems.items()}

    def look_up(self, codes: Sequence[KeyCodes], now: int) -> Found:
        """Look keys up in the order in which they are wanted, and find those that are missing, each of them once."""
        self._taps.want(self._tap)
        hashes = hash_codes(codes)
        known = self.store.look_up(codes, hashes, now)
        refused = known.refused
        if len(self._refused):
            refused = refused | np.isin(hashes, self._refused)
        missing = np.flatnonzero(~(known.held | refused))
        self.gauge.looked(len(hashes), len(hashes) - len(missing))
        if not len(missing):
            return Found(known.ranges, refused, len(hashes))
        unique, first, inverse = np.unique(hashes.take(missing), return_index=True, return_inverse=True)
        # Other keys with the hash of one that is missing cannot be held beside it, and go without.
        odd = mask_odd([code.take(missing) for code in codes], first.take(inverse))
        order = np.argsort(first, kind="stable")
        wanted = [code.take(missing.take(first.take(order))) for code in codes]
        filled = self._fill(wanted)
        self._keep_filled(wanted, filled, now)
        # For each that is missing, its place among the keys that were to be filled:
        #
        #     missing codes 7 3 7 9   ->   wanted 7 3 9, places 0 1 0 2;  filled 2   ->   9 waits, from place 3 on
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        place = places.take(inverse)
        waits = place >= filled.keys
        gone_without = np.append(filled.refused, np.zeros(len(unique) - filled.keys, np.bool_)).take(place) | odd
        refused = refused.copy()
        refused[missing[gone_without]] = True
        end = int(missing[waits.argmax()]) if waits.any() else len(hashes)
        return Found(self.store.look_up(codes, hashes, now).ranges, refused, end)

    def _keep_filled(self, codes: Sequence[KeyCodes], filled: Filled, now: int) -> None:
        """Keep what was found for keys, and which of them were refused."""
        done = [code[: filled.keys] for code in codes]
        self._refused = np.union1d(self._refused, hash_codes(done)[filled.refused])
        good = ~filled.refused
        made = filled.made._replace(counts=filled.made.counts[good])
        self.store.add([code[good] for code in done], made, now, are_held=True)
        self.gauge.filled(len(made.counts), int(np.count_nonzero(filled.refused)))

    def _fill(self, codes: Sequence[KeyCodes]) -> Filled:
        """Find all combinations of the first keys, up to a bounded number of candidates."""
        keys = len(codes[0])
        refused = np.zeros(keys, np.bool_)
        frontier = Frontier(np.arange(keys), {})
        for target in self._finder.order((), keyed=True):
            at, rows, stop = self._finder.find(target, frontier, codes).read(0, MOST_CANDIDATES)
            if stop < len(frontier.at):
                # Keys that this step has no room for wait for the next: they come after all others that are wanted.
                refused[0] |= frontier.at[stop] == 0
                keys = max(int(frontier.at[stop]), 1)
            owners = frontier.at.take(at)
            refused |= np.bincount(owners, minlength=len(refused)) > MOST_OF_KEY
            kept = np.flatnonzero((owners < keys) & ~refused.take(owners))
            frontier = self._finder.join(target, frontier, (at.take(kept), rows.take(kept)))
        frontier = frontier.keep((frontier.at < keys) & ~refused.take(frontier.at))
        counts = np.bincount(frontier.at, minlength=keys)
        times = self._deadlines.find(frontier.ids)
        return Filled(keys, refused[:keys], Combinations(counts, self._number(frontier), times))

    def _number(self, frontier: Frontier) -> dict[str, RowIds]:
        return {name: ids + self._stems[name].gone for name, ids in frontier.ids.items()}

    def keep_up(self, now: int) -> None:
        """Add the combinations with rows that have come since the last time, of keys that are held."""
        pending = {name: stem.gone + len(stem) - self._upto[name] for name, stem in self._stems.items()}
        if not any(pending.values()):
            return
        self._refused = np.empty(0, np.int64)
        started, rows, tapped = self._clock(), sum(pending.values()), 0
        if now - self._kept_up > MOST_MISSED and not self.is_whole:
            self.store.clear()
        self._kept_up = now
        if self.store.parts or self.is_whole:
            tapped = rows if self._is_tapped(pending) else 0
            self._add_fresh(self._read_tap() if tapped else self._find_fresh(), now)
        self._upto = {name: stem.gone + len(stem) for name, stem in self._stems.items()}
        self.gauge.kept_up(rows, tapped, self._clock() - started)

    def _is_tapped(self, pending: Mapping[str, int]) -> bool:
        """Tell whether all combinations that are missing have passed anyway."""
        # What came in earlier micro-batches has not, nor what is routed in a later round of this one.
        is_new = all(pending[name] == len(stem) - stem.fresh for name, stem in self._stems.items())
        return is_new and self._tap.started == sum(pending.values()) and self._tap.is_whole

    def _read_tap(self) -> list[Frontier]:
        """Give the combinations that have passed, of keys that are held."""
        found = []
        for made in self._tap.passed:
            ids = {name: made.ids[name] for name in self.scope.inputs}
            alive = np.logical_and.reduce([self._stems[name].alive.take(rows) for name, rows in ids.items()])
            found.append(self._keep_held(Frontier(np.zeros(len(made), np.int64), ids).keep(alive)))
        return found

    def _find_fresh(self) -> list[Frontier]:
        """Find the combinations with rows that have come, by the indexes of the others."""
        return [made for name in self.scope.inputs for made in self._find_with_fresh(name)]

    def _find_with_fresh(self, name: str) -> Iterator[Frontier]:
        """Find the combinations with a row of one input that is new; those before it have old ones."""
        # Each is found once, by the first of its inputs whose row is new:
        #
        #     b new, c any      ->  found by b          b old, c new  ->  found by c
        fresh = np.arange(max(self._upto[name] - self._stems[name].gone, 0), len(self._stems[name]))
        olds = self.scope.inputs[: self.scope.inputs.index(name)]
        frontier = self._keep_if_keyed(Frontier(np.zeros(len(fresh), np.int64), {name: fresh}), name)
        alive = self._stems[name].alive.take(frontier.ids[name])
        yield from self._extend(frontier.keep(alive), self._finder.order([name], keyed=False), olds)

    def _extend(self, frontier: Frontier, targets: Sequence[str], olds: Sequence[str]) -> Iterator[Frontier]:
        """Extend combinations by more inputs, in lots of a bounded number of candidates."""
        if not targets:
            yield frontier
            return
        target, *others = targets
        search, begun = self._finder.find(target, frontier, ()), 0
        while begun < len(frontier.at):
            at, rows, begun = search.read(begun, MOST_CANDIDATES)
            made = self._finder.join(target, frontier, (at, rows))
            if target in olds:
                made = made.keep(made.ids[target] < self._upto[target] - self._stems[target].gone)
            yield from self._extend(self._keep_if_keyed(made, target), others, olds)

    def _keep_if_keyed(self, frontier: Frontier, latest: str) -> Frontier:
        """Keep the combinations whose key is held, once the latest of their inputs has made it whole."""
        inputs = {side.input for side in self.key.sides}
        return self._keep_held(frontier) if latest in inputs <= frontier.ids.keys() else frontier

    def _keep_held(self, frontier: Frontier) -> Frontier:
        """Keep the combinations whose key is held; null is no key."""
        present = [v for side in self.key.sides if (v := side.key.valid(frontier.ids[side.input])) is not None]
        frontier = frontier.keep(np.logical_and.reduce(present)) if present else frontier
        return frontier if self.is_whole else frontier.keep(self.store.mask_held(self._read_codes(frontier)))

    def _read_codes(self, frontier: Frontier) -> list[KeyCodes]:
        return [side.key.codes(frontier.ids[side.input]) for side in self.key.sides]

    def _add_fresh(self, found: Sequence[Frontier], now: int) -> None:
        """Add combinations to the keys that they belong to."""
        if not any(len(made.at) for made in found):
            return
        frontier = join_found(found)
        codes, rows = self._read_codes(frontier), self._number(frontier)
        hashes = hash_codes(codes)
        order = np.argsort(hashes, kind="stable")
        _, first, counts = np.unique(hashes.take(order), return_index=True, return_counts=True)
        sorted_rows = {name: numbers.take(order) for name, numbers in rows.items()}
        chosen, times = order.take(first), self._deadlines.find(frontier.ids).take(order)
        own, made = [code.take(chosen) for code in codes], Combinations(counts, sorted_rows, times)
        self.store.add(own, made, now, are_held=self._mask_begun(own))

    def _mask_begun(self, _codes: Sequence[KeyCodes]) -> Mask | bool:
        """Mask the keys that are held from now on: none, since these are held already."""
        return False

    def _purge(self, gone: Mapping[str, int]) -> None:
        self.store.purge(gone)

    def settle(self) -> CacheCount:
        """End the micro-batch, and say what was done in it: clear away what has gone, from time to time."""
        gone = self.gone
        if any((gone[n] - self._cleared[n]) * PURGE_SHARE > len(self._stems[n]) for n in gone):
            self._purge(gone)
            self._cleared = gone
        done, self.gauge = self.gauge, Gauge()
        self.worth = (self.worth + done.hits / max(self.store.nbytes, 1)) / 2
        self.spared = (self.spared + min(done.hits, self.store.keys)) / 2
        return CacheCount(
            cache=self.name,
            key=self.key.text,
            look_ups=done.looked_up,
            hits=done.hits,
            filled=done.fills,
            refused=done.refused,
            fresh=done.fresh,
            tapped=done.tapped,
            seconds=done.seconds,
            keys=self.store.keys,
            combinations=self.store.many,
            nbytes=self.store.nbytes,
        )

    @property
    def is_worth_saving(self) -> bool:
        """Whether to find its keys anew takes more than to save it."""
        of_key = KEY_SECONDS + COMBINATION_SECONDS * self.store.many / max(self.store.keys, 1)
        return self.spared * of_key > self.store.nbytes * BYTE_SECONDS

    def snapshot(self) -> tuple[dict[str, Any], list[Packed]]:
        """Give the pages of its parts, and after them a table of the keys that are refused."""
        numbers = number_rows(self._stems)
        upto = {n: int(np.count_nonzero(s.needed[: max(self._upto[n] - s.gone, 0)])) for n, s in self._stems.items()}
        pages = [page for part in self.store.parts for page in write_part(part, self.gone, numbers)]
        told = {"upto": upto, "kept up": self._kept_up, "worth": self.worth, "spared": self.spared}
        return told, [*pages, pack_rows(pa.record_batch({REFUSED: pa.array(self._refused)}))]

    def restore(self, told: Mapping[str, Any], pages: Sequence[Packed]) -> None:
        """Go on from a snapshot, over the rows of it; where they do not fit each other it stays as it is."""
        reader = PartReader(self.key, self._stems, len(self.scope.residuals), self._deadlines)
        parts = [reader.read(pages[place : place + 2]) for place in range(0, len(pages) - 1, 2)]
        refused = np.asarray(read_numbers(pages[-1].read(), REFUSED), np.int64)
        # Rows that are said to be in it, and are not stored, would never be looked at once they come.
        upto = {n: min(max(int(told["upto"][n]), s.gone), s.gone + len(s)) for n, s in self._stems.items()}
        kept_up, worth, spared = int(told["kept up"]), float(told["worth"]), float(told["spared"])
        self.store.parts, self._refused, self._upto = parts, refused, upto
        self._kept_up, self.worth, self.spared = kept_up, worth, spared
        self._cleared = self.gone


def join_found(found: Sequence[Frontier]) -> Frontier:
    """Put combinations one after the other."""
    ids = {name: np.concatenate([made.ids[name] for made in found]) for name in found[0].ids}
    return Frontier(np.concatenate([made.at for made in found]), ids)
