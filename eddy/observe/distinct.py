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

ROUNDS = 10
"""Windows that are remembered: W of the thesis."""


class DistinctKeys:
    """Counts keys in windows of so many, one window after the other.

    >>> keys = DistinctKeys(window=100)
    >>> keys.add(np.arange(300, dtype=np.uint64) % 10 << np.uint64(50))
    >>> round(keys.share, 2), keys.windows
    (0.1, 3)
    """

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._bits = np.zeros(BITS, np.bool_)
        self._counted = 0
        self._shares: deque[float] = deque(maxlen=ROUNDS)

    @property
    def windows(self) -> int:
        """How many windows are remembered."""
        return len(self._shares)

    @property
    def share(self) -> float:
        """The share of keys that had not come before in their window; 1 while nothing is known."""
        return sum(self._shares) / len(self._shares) if self._shares else 1.0

    def add(self, hashes: Hashes) -> None:
        """Count keys, given by hashes whose first bits are as good as chance; of very many the first ones do."""
        begun, most = 0, min(len(hashes), ROUNDS * self._window)
        while begun < most:
            end = min(begun + self._window - self._counted, most)
            self._bits[hashes[begun:end] >> np.uint64(64 - BITS.bit_length() + 1)] = True
            self._counted, begun = self._counted + end - begun, end
            if self._counted == self._window:
                self._end_window()

    def _end_window(self) -> None:
        # Of m bits n keys set m (1 - exp(-n / m)), so those that are set tell of so many keys.
        clear = max(BITS - int(np.count_nonzero(self._bits)), 1)
        self._shares.append(min(BITS * math.log(BITS / clear) / self._window, 1.0))
        self._bits[:] = False
        self._counted = 0

    def snapshot(self) -> dict[str, Any]:
        """Plain values; the window that is under way begins anew."""
        return {"window": self._window, "shares": list(self._shares)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._window = state["window"]
        self._shares = deque(state["shares"], maxlen=ROUNDS)
