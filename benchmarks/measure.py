"""Fair timing on a noisy machine: contenders take turns at every micro-batch.

All contenders process the same micro-batches, one after the other and in rotating order, so that whatever else the
machine is doing hits all of them alike. A figure is the median over micro-batches of one contender's time divided by
the baseline's; the baseline runs twice, and its ratio to itself shows what is noise.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Batch = TypeVar("Batch")

WARM = 3
"""Micro-batches before the clock counts: the first calls load code and fill caches."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How long a contender took beside the baseline."""

    name: str
    median: float
    low: float
    high: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.name:<28} {self.median:6.3f}  [{self.low:.3f} .. {self.high:.3f}]  {self.seconds:9.3f} s in all"


def ratios(
    contenders: Mapping[str, Callable[[Batch], object]], batches: Sequence[Batch], *, baseline: str
) -> list[Ratio]:
    """Time every contender at every micro-batch; the interval holds the middle half of the ratios."""
    names = list(contenders)
    times = np.zeros((len(batches), len(names)))
    for number, batch in enumerate(batches):
        for turn in range(len(names)):
            which = (turn + number) % len(names)
            gc.collect(0)
            started = time.perf_counter()
            contenders[names[which]](batch)
            times[number, which] = time.perf_counter() - started
    times = times[WARM:]
    relative = times / times[:, [names.index(baseline)]]
    low, median, high = np.percentile(relative, [25, 50, 75], axis=0)
    return [
        Ratio(name=name, median=median[i], low=low[i], high=high[i], seconds=times[:, i].sum())
        for i, name in enumerate(names)
    ]
