"""What a search by a key map takes, and what a key map takes, by what is known of the rows.

Prices are in times of a look-up: a tuple's look into one part. The other constants are what the rest takes in times of
that, measured with a thousand tuples at a time among ten thousand rows.
"""

from __future__ import annotations

from typing import NamedTuple

from eddy.operators.index.key_map import KeyMap

LOOKUP = 1.0
RANGE = 0.6
CANDIDATE = 3.0
SORTED_ROW = 2.0


SPARE_BITS = (2, 1, 0, -1, -2)
"""Bits of a code beyond those that number a part's rows, the more of them the more room there is. With two bits, a look
finds an eighth to a quarter of a row by chance, and the index takes 10 to 18 bytes a row; with two bits less than none
it is two to four rows, and 2.5 to 3 bytes."""

BITS_PER_VALUE = 4
"""Bits beyond those that number the values of a key: one row in sixteen is found by chance then."""

FEWEST_BITS, MOST_BITS = 8, 26
"""Below, a table is smaller than the object that holds it; above, it would be larger than the rows."""


def find_bits(rows: int, distinct: float, spare: int) -> int:
    """Find the bits of codes for so many rows, of so many values.

    >>> find_bits(10_000, 10_000, 1), find_bits(10_000, 50, 1)
    (15, 10)
    """
    by_rows = max(rows - 1, 1).bit_length() + spare
    return min(max(min(by_rows, int(distinct).bit_length() + BITS_PER_VALUE), FEWEST_BITS), MOST_BITS)


class Look(NamedTuple):
    """What one tuple finds in one part: runs of rows, and rows in them."""

    ranges: float
    candidates: float

    @property
    def price(self) -> float:
        """What that takes."""
        return LOOKUP + RANGE * self.ranges + CANDIDATE * self.candidates


def predict(key_map: KeyMap, rows: int, alike: float, bits: int) -> Look:
    """Predict a look into a part by a map whose keys are alike in two of its rows with some chance.

    >>> predict(KeyMap(), 1_000, 0.01, 10).candidates
    10.0
    """
    chance = 2.0**-bits if key_map.fields else 0.0
    return Look(1.0, rows * min(alike + chance, 1.0))


def count_bytes(key_map: KeyMap, rows: int, bits: int) -> int:
    """Count the bytes of an index of so many rows, at most."""
    width = 2 if rows < 1 << 16 else 4
    return (rows + (1 << bits) + 1) * width if key_map.fields else rows * (8 + 2 * width)
