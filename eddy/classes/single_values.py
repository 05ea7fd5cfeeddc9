"""Numbers for single values, where an attribute has more values than there are buckets.

Hashed values share a bucket with others that operators treat otherwise, and what is learned of the bucket is true of
none of them. Where an attribute is known to tell classes apart, its values are therefore told apart one by one: each
has a number of its own, as long as there is room. A value without one goes by its bucket, so buckets are numbers too:

    0 .. 249    the values of a bucket that have no number of their own
    250         null
    251 ..      one value each, in the order in which they got their numbers

A number stands for the same value throughout an edition.
"""

from __future__ import annotations

import numpy as np

from eddy.classes.cuts import Values
from eddy.tuples.arrays import Integers, Numbers

MOST_BUCKETS = 250
"""Buckets of an attribute, besides that of null: a bucket is one byte."""

FIRST_VALUE = MOST_BUCKETS + 1
"""The number of the first value: those before are the buckets."""

MOST_VALUES = 2_000
"""Values of an attribute that have numbers: of more, each has so few of some hundred thousand rows that it is learned
of too late; and tables of so many are added up in tens of microseconds."""

MOST_NUMBERS = FIRST_VALUE + MOST_VALUES
"""Numbers of an attribute: of its buckets, and of its values."""

MOST_HELD, MOST_HELD_BYTES = 2_048, 1 << 17
"""Texts whose numbers are held ready: all that have one, unless they are long."""


class SingleValues(Values):
    """Values with a number each; those without one have that of their bucket."""

    room, room_bytes, kind = MOST_HELD, MOST_HELD_BYTES, np.uint16

    def __init__(self, codes: Integers, shared: Values) -> None:
        self.shared = shared
        super().__init__(codes, 0, MOST_BUCKETS)
        # The bucket of each number: a bucket's own, and those of the values.
        self.buckets = np.zeros(MOST_NUMBERS, np.uint8)
        self.buckets[:FIRST_VALUE] = np.arange(FIRST_VALUE)
        self.buckets[FIRST_VALUE : FIRST_VALUE + len(codes)] = shared.place(codes)

    def place(self, codes: Integers) -> Numbers:
        """Give the number of each value."""
        found = self.find(codes) + FIRST_VALUE
        strange = np.flatnonzero(found < FIRST_VALUE)
        found[strange] = self.shared.place(codes[strange])
        return found.astype(np.uint16)
