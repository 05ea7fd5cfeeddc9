"""What a search by a key map takes, and what a key map takes, by what is known of the rows.

Prices are in times of a look-up: a tuple's look into one part. The other constants are what the rest takes in times of
that, measured with a thousand tuples at a time among ten thousand rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from eddy.operators.index.structures.chained import find_head_bits
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.index.structures.mapped import DENSE, MOST_RUNS
from eddy.operators.stored.columns import GROWTH

LOOKUP = 1.0
RANGE = 0.5
CANDIDATE = 1.5
SORTED_ROW = 1.5
LINKED_ROW = 0.5
"""What it takes to link a row that comes, hashed and with a head that is not in the cache."""

STEP = 0.7
"""What a row takes that a chain leads past, since it lacks a key of the search: 9 to 11 nanoseconds in a window of
40,000 rows, which caches do not hold, 5 in one of 10,000. By the price of the small one, joins in the large one took
1.1 times as long; by that of the large one, those in the small one take no longer."""

PASSED = 0.35
"""What a row takes that only shares a chain's head: its tag is looked at, and no key."""

CALL = 400.0
"""What a look into a part takes however few tuples go at once: seven microseconds, where a tuple's takes 8 nanoseconds
by itself, and 14 in a join."""

SPARE_BITS = (2, 1, 0, -1, -2)
"""Bits of a code beyond those that number a part's rows, the more of them the more room there is. With two bits, a look
finds an eighth to a quarter of a row by chance, and the index takes 10 to 18 bytes a row; with two bits less than none
it is two to four rows, and 2.5 to 3 bytes."""

BITS_PER_VALUE = 4
"""Bits beyond those that number the values of a key: one row in sixteen is found by chance then."""

FEWEST_BITS, MOST_BITS = 8, 26
"""Below, a table of offsets is smaller than the object that holds it; above, it would be larger than the rows."""

FEWEST_BITS_OF_TABLE = 12
"""The same where all rows came at once and stay: they are put in order only once, so few may be found by chance, and a
look at the index alone says nearly as much as the rows."""

AS_NEEDED = (16, 32)
"""Bits of a whole code that stand for as many as the rows need: those of one pass of a sort, and of two."""

Alike = Callable[[tuple[int, ...]], float]
Distinct = Callable[[tuple[int, ...], int], float]


class Prediction(NamedTuple):
    """What one tuple finds in one part: runs of rows, and rows in them."""

    ranges: float
    candidates: float

    @property
    def price(self) -> float:
        """What that takes."""
        return LOOKUP + RANGE * (self.ranges - 1) + CANDIDATE * self.candidates


def find_bits(key_map: KeyMap, rows: int, distinct: Distinct, spare: int, fewest: int = FEWEST_BITS) -> tuple[int, ...]:
    """Find the bits of each field for so many rows.

    >>> from eddy.operators.index.structures.key_map import Field
    >>> one = KeyMap(fields=(Field(keys=(0,), bits=16),))
    >>> find_bits(one, 10_000, lambda keys, rows: rows, 1), find_bits(one, 10_000, lambda keys, rows: 50, 1)
    ((15,), (10,))
    """
    bits = [field.bits for field in key_map.fields]
    if bits and key_map.bits in AS_NEEDED:
        *_, last = key_map.fields
        needed = max(rows - 1, 1).bit_length() + spare - sum(bits[:-1])
        by_values = int(distinct(last.keys, rows)).bit_length() + BITS_PER_VALUE
        least = fewest if len(bits) == 1 else 1
        bits[-1] = min(max(min(needed, by_values), least), MOST_BITS)
    return tuple(bits)


def predict(
    key_map: KeyMap, pattern: int, rows: int, bits: tuple[int, ...], alike: Alike, distinct: Distinct
) -> Prediction:
    """Predict a look into a part of so many rows; infinitely many candidates if the map cannot serve the search."""
    runs = waiting = share = 1.0
    used = False
    for field, width in zip(key_map.fields, bits, strict=True):
        if not all(pattern >> key & 1 for key in field.keys):
            # All rows that lack a key stand in one run.
            waiting *= max(min(distinct(field.keys, rows), 2.0**width), 1.0)
        elif runs * waiting <= MOST_RUNS:
            chance = alike(field.keys)
            runs, waiting, used = runs * waiting, 1.0, True
            share *= chance + (1 - chance) * 2.0**-width
    return Prediction(runs, rows * share if used else float("inf"))


def predict_walk(keys: tuple[int, ...], rows: int, alike: Alike) -> Prediction:
    """Predict what a tuple finds along a chain of all rows: a look, and the rows with its values of some keys."""
    return Prediction(1.0, rows * alike(keys))


def price_walks(looks: float, candidates: float, matches: float) -> float:
    """Give the price of looks along chains; rows that lack a key of the search are only passed."""
    right = min(candidates, matches)
    return LOOKUP * looks + CANDIDATE * right + STEP * (candidates - right)


def price_passed(rows: int, spare: int) -> float:
    """Give the price of the rows that a chain leads past since they only share a head."""
    return PASSED * rows / (1 << find_head_bits(rows, spare))


def count_linked_bytes(rows: int, spare: int) -> int:
    """Count the bytes of chains of so many rows: a link for each, with room to grow, and the heads."""
    return int(4 * rows * (1 + GROWTH)) + (4 << find_head_bits(rows, spare))


def count_bytes(key_map: KeyMap, rows: int, bits: tuple[int, ...]) -> int:
    """Count the bytes of an index of so many rows, at most."""
    width = 2 if rows < 1 << 16 else 4
    if not key_map.fields:
        return rows * (8 + 2 * width)
    places = 1 << sum(bits)
    table = (places + 1) * width if places <= max(DENSE * rows, 1 << 8) else rows * (width + 4)
    return rows * width + table
