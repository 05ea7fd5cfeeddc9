"""How many of the keys that come are others than those just before them.

It follows the estimate of `miss_prob` in section 5.5.1 of Babu's thesis: of so many keys each sets one of some bits,
and each that is new among them would miss a cache. Where it does better: two keys may set one bit, so what the bits
count is corrected for that.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from eddy.tuples.arrays import Hashes

WINDOW = 1_000
"""Keys that are counted together: W_d of the thesis."""

BITS = 1 << 14
"""Bits that they may set, alpha W_d of the thesis: sixteen for each key, so that few share one."""

NEVER_AGAIN = 0.995
"""Above this share keys that come again cannot be told from the error of the estimate."""

HALVINGS = 40
"""Steps of a search between two numbers: they agree in all digits that count then."""

FEWEST = 200
"""Keys that say something before the first window is full."""

MOST_WINDOWS = 10
"""Windows that are remembered: W of the thesis."""


class DistinctKeys:
    """Counts keys in windows of so many, one window after the other.

    >>> keys = DistinctKeys(window=100)
    >>> keys.add(np.arange(300, dtype=np.uint64) % 10 << np.uint64(50))
    >>> round(keys.share, 2), keys.windows
    (0.1, 3)
    """

    def __init__(self, window: int = WINDOW) -> None:
        self.window = window
        self._bits = np.zeros(BITS, np.bool_)
        self._counted = 0
        self._shares: deque[float] = deque(maxlen=MOST_WINDOWS)

    @property
    def is_known(self) -> bool:
        """Whether enough keys have come to say anything."""
        return bool(self._shares) or self._counted >= FEWEST

    @property
    def windows(self) -> int:
        """How many windows are remembered."""
        return len(self._shares)

    @property
    def counted(self) -> int:
        """The keys of a window; of the first one those that have come."""
        return self.window if self._shares else self._counted

    @property
    def is_full(self) -> bool:
        """Whether as many windows are known as are remembered."""
        return len(self._shares) == MOST_WINDOWS

    @property
    def share(self) -> float:
        """The share of keys that had not come before in their window; 1 while nothing is known."""
        if self._shares:
            return sum(self._shares) / len(self._shares)
        return self._count_share() if self.is_known else 1.0

    def add(self, hashes: Hashes) -> None:
        """Count keys, given by hashes whose first bits are as good as chance; of very many the first ones do."""
        begun, most = 0, min(len(hashes), MOST_WINDOWS * self.window)
        while begun < most:
            end = min(begun + self.window - self._counted, most)
            self._bits[hashes[begun:end] >> np.uint64(64 - BITS.bit_length() + 1)] = True
            self._counted, begun = self._counted + end - begun, end
            if self._counted == self.window:
                self._end_window()

    def _end_window(self) -> None:
        self._shares.append(self._count_share())
        self._bits[:] = False
        self._counted = 0

    def _count_share(self) -> float:
        # Of m bits n keys set m (1 - exp(-n / m)), so those that are set tell of so many keys.
        clear = max(BITS - int(np.count_nonzero(self._bits)), 1)
        return min(BITS * math.log(BITS / clear) / self._counted, 1.0)

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        under_way = [self._counted, np.flatnonzero(self._bits).tolist()]
        return {"window": self.window, "shares": list(self._shares), "under_way": under_way}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.window = state["window"]
        self._shares = deque(state["shares"], maxlen=MOST_WINDOWS)
        self._counted, places = state["under_way"]
        self._bits[:] = False
        self._bits[places] = True


def estimate_misses(keys: DistinctKeys, coming: float) -> float:
    """Estimate the share of so many keys that would come for the first time.

    Of n keys that are drawn from d, d (1 - exp(-n / d)) differ: a window of a thousand tells d, and that tells of more.

    >>> keys = DistinctKeys(window=100)
    >>> keys.add(np.random.default_rng(0).integers(0, 400, 1_000).astype(np.uint64) << np.uint64(50))
    >>> round(estimate_misses(keys, 100), 1), round(estimate_misses(keys, 4_000), 1)
    (0.9, 0.1)
    """
    share = keys.share
    if share >= NEVER_AGAIN:
        return 1.0
    # (1 - exp(-x)) / x falls from 1 to 0 as x = n / d grows: the x at which it is the share, by halving.
    low, high = 0.0, 1.0 / share + 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if -math.expm1(-middle) / middle > share else (low, middle)
    drawn = high * max(coming, 1.0) / keys.counted
    return -math.expm1(-drawn) / drawn
