"""The price of key maps: the paper's C_D, and that of the work that our indexes do.

Both have one form. A row that comes costs the hashes of the keys that are indexed, and is put in order for each map. A
search costs the hashes of its keys, a look into each part, the runs of rows that it finds there, and the candidates in
them:

    C_D (section 5.1)      hashes of rows + hashes of searches + candidates
    work                   rows put in order + looks into parts + runs + candidates

Two things differ from equation 1. Its middle term adds up the hashes of all patterns, however rare: here each counts
as often as it is searched by. And it lacks what a search with a wildcard pays for the buckets that it looks into,
2^n for n bits (section 5.4.1): here each run but the first costs. Equation 1 takes every bit to halve the candidates;
`work` takes the chance that two rows agree, so that bits beyond the values of a key are worth nothing, and corrects it
by what was found of what it had predicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eddy.operators.index.price import CALL, CANDIDATE, LOOKUP, RANGE, SORTED_ROW
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.index.structures.mapped import MOST_RUNS
from eddy.operators.tuning.contracts import REST
from eddy.operators.tuning.workload import Workload
from eddy.tuples.arrays import Floats, Integers

NARROW_BITS = 16
"""Bits that are put in order in one pass; more of them take two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MapPrices:
    """What each thing costs; only their ratios matter."""

    hash: float = 0.0
    sort: float = 0.0
    lookup: float = 0.0
    range: float = 0.0
    candidate: float = 1.0
    call: float = 0.0
    by_values: bool = False


COSTS = {
    # One comparison for one hash, as in the paper's example of bits; a bucket is found as soon as a key is hashed.
    "paper": MapPrices(hash=1.0, range=1.0, candidate=1.0),
    "work": MapPrices(sort=SORTED_ROW, lookup=LOOKUP, range=RANGE, candidate=CANDIDATE, call=CALL, by_values=True),
}


class MapTable(NamedTuple):
    """Key maps as arrays: one row for a map, one column for a field; `keys` are masks, 0 where there is no field."""

    keys: Integers
    bits: Integers
    indexed: Integers
    passes: Integers


class PredictionTable(NamedTuple):
    """What searches find in one part: runs of rows, and the share of the rows in them.

    One row for a map, one column for a pattern. `used` has the keys that the search goes by, as masks.
    """

    ranges: Floats
    share: Floats
    used: Integers


class Priced(NamedTuple):
    """What some key maps cost: by themselves, and one row for a map, what all searches of each pattern cost with it.

    The first row is that without any: a look through all rows.
    """

    upkeep: Floats
    searches: Floats
    nbytes: Floats


def tabulate(maps: Sequence[KeyMap]) -> MapTable:
    """Write key maps as arrays."""
    width = max((len(one.fields) for one in maps), default=0)
    masks = [[sum(1 << key for key in field.keys) for field in one.fields] for one in maps]
    bits = [[field.bits for field in one.fields] for one in maps]
    return MapTable(
        np.array([[*row, *[0] * (width - len(row))] for row in masks], np.int64).reshape(len(maps), width),
        np.array([[*row, *[0] * (width - len(row))] for row in bits], np.int64).reshape(len(maps), width),
        np.array([sum(len(field.keys) for field in one.fields) for one in maps], np.int64),
        np.array([1 if one.bits <= NARROW_BITS else 2 for one in maps], np.int64),
    )


def price(table: MapTable, workload: Workload, prices: MapPrices) -> Priced:
    """Price each map alone, for every pattern that is searched by.

    >>> from eddy.operators.index.structures.key_map import Field
    >>> from eddy.operators.tuning.workload import Spread
    >>> asked = Workload(arrived=10, searches={0b1: 100}, stored=1_000, keys=Spread(chances={0: 0.01}))
    >>> one = price(tabulate([KeyMap(fields=(Field(keys=(0,), bits=3),))]), asked, COSTS["paper"])
    >>> one.upkeep.tolist(), one.searches.tolist()
    ([0.0, 10.0], [[100000.0], [12600.0]])
    """
    patterns = np.array(list(workload.searches), np.int64)
    times = np.array(list(workload.searches.values()), np.float64)
    scan = times * (workload.stored * prices.candidate)
    look = predict(table, patterns, workload, by_values=prices.by_values)
    each = workload.parts * (prices.lookup + (look.ranges - 1) * prices.range)
    each += look.share * (workload.stored * prices.candidate)
    if prices.hash:
        each += prices.hash * np.bitwise_count(look.used)
    # A map that serves nothing of a search is not asked: all rows are looked through.
    searches = np.where(look.used == 0, scan, times * each)
    upkeep = workload.arrived * (prices.hash * table.indexed + prices.sort * workload.sorts * table.passes)
    nbytes = workload.stored * workload.row_bytes * table.passes
    return Priced(np.append(0.0, upkeep), np.vstack([scan, searches]), np.append(0.0, nbytes))


def predict(table: MapTable, patterns: Integers, workload: Workload, *, by_values: bool) -> PredictionTable:
    """Predict what searches by each pattern find with each map."""
    shape = (len(table.keys), len(patterns))
    share, ranges, behind = np.ones(shape), np.ones(shape), np.ones(shape)
    used = np.zeros(shape, np.int64)
    for keys, bits in zip(table.keys.T[:, :, None], table.bits.T[:, :, None], strict=True):
        alike, values = _look_up(keys, bits, workload, by_values=by_values)
        served = (patterns & keys) == keys
        # A wildcard in front of a field that is served: all of its values are looked for, one run each. A last one is
        # a range, so its values count only when another field follows:
        #
        #     fields a b c    search by a, c:  ranges 1, values of b
        reached = ranges * behind
        within = served & (reached <= MOST_RUNS)
        ranges = np.where(within, reached, ranges)
        behind = np.where(within, 1.0, np.where(served, behind, behind * values))
        share *= np.where(within, alike + (1 - alike) * 2.0**-bits, 1.0)
        used |= np.where(within, keys, 0)
    if by_values:
        share = _correct(share, used, patterns, workload)
    return PredictionTable(ranges, share, used)


def _look_up(keys: Integers, bits: Integers, workload: Workload, *, by_values: bool) -> tuple[Floats, Floats]:
    """Give for one field of each map how alike rows are in its keys, and how many values it can have in one part."""
    masks, at = np.unique(keys, return_inverse=True)
    alike = np.array([workload.keys.alike(int(mask)) if mask and by_values else 0.0 for mask in masks])
    distinct = np.array([workload.keys.distinct(int(mask)) if mask else 1.0 for mask in masks])
    at = at.reshape(keys.shape)
    return alike.take(at), np.maximum(np.minimum(2.0**bits, distinct.take(at)), 1.0)


def _correct(share: Floats, used: Integers, patterns: Integers, workload: Workload) -> Floats:
    """Hold against what was found: no less than what agrees in all keys, times what was found of that."""
    masks, at = np.unique(used, return_inverse=True)
    at = at.reshape(used.shape)
    least = np.array([workload.keys.alike(int(mask)) for mask in masks])
    found = np.ones((len(masks), len(patterns)))
    rows, columns = ({int(one): at for at, one in enumerate(ones)} for ones in (masks, patterns))
    # What is known of all patterns that go by some keys comes before what is known of one of them.
    for (mask, pattern), times in sorted(workload.corrected.items(), key=lambda known: known[0][1]):
        if mask in rows and (pattern == REST or pattern in columns):
            found[rows[mask], columns.get(pattern, slice(None))] = times
    corrected: Floats = np.maximum(share, least.take(at)) * found[at, np.arange(len(patterns))]
    return np.minimum(corrected, 1.0)


def price_maps(maps: Sequence[KeyMap], workload: Workload, prices: MapPrices) -> float:
    """Price all of a set of maps."""
    return total(price(tabulate(maps), workload, prices), range(1, len(maps) + 1))


def total(priced: Priced, chosen: Sequence[int]) -> float:
    """Add up what a set of maps costs, by their rows; each search takes the cheapest."""
    best = priced.searches[[0, *chosen]].min(axis=0)
    return float(best.sum() + priced.upkeep[list(chosen)].sum())
