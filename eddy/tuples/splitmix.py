"""The mixing step of splitmix64.

Numbers that are near each other come far apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.tuples.arrays import Hashes, KeyCodes

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


def mix(codes: Sequence[KeyCodes]) -> Hashes:
    """Make one hash of the codes of several keys; its first bits are the best."""
    mixed = np.zeros(len(codes[0]), np.uint64)
    for code in codes:
        # Only the first bits are kept in the end, so every bit of a code has to reach them.
        mixed ^= code.view(np.uint64)
        mixed *= GOLDEN
        mixed ^= mixed >> np.uint64(32)
    mixed *= GOLDEN
    return mixed
