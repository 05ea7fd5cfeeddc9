"""The mixing step of splitmix64.

Numbers that are near each other come far apart.
"""

from __future__ import annotations

import numpy as np

from eddy.tuples.arrays import Hashes

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2^64 by the golden ratio: multiplying by it spreads neighbouring numbers far apart."""

FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Shifts and odd factors of D. Stafford's mix 13: every bit changes half of the others."""

LAST_SHIFT = np.uint64(31)


def splitmix64(state: Hashes) -> Hashes:
    """Mix every bit of each number into all of its bits, in place.

    Cells and checkpoints depend on it: another mix would send replayed rows elsewhere.
    """
    for shift, factor in FACTORS:
        state ^= state >> np.uint64(shift)
        state *= np.uint64(factor)
    state ^= state >> LAST_SHIFT
    return state
