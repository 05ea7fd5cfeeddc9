"""What one policy saves of another's calls or seconds, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

Floats = np.ndarray[Any, np.dtype[np.float64]]

T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
T95_MANY = 1.96
"""Student's t at 97.5 % with 1, 2, ... degrees of freedom, and with many: from few values an interval is wide."""


@dataclass(frozen=True, kw_only=True)
class Saving:
    """A share that is saved, with its 95 % interval; negative is lost. One value alone has no interval."""

    share: float
    low: float | None = None
    high: float | None = None

    @property
    def noise(self) -> float | None:
        """How far from nothing the interval reaches: of a policy against itself, what is noise."""
        return None if self.low is None or self.high is None else max(abs(self.low), abs(self.high))


SEEDS = 3
"""From so many seeds on, it is they that are compared, each with the median of its repeats; of fewer, all turns."""


def saving(rows: pd.DataFrame, policy: str, baseline: str, column: str) -> Saving | None:
    """What a policy saves of a baseline's column; None where they have no run in common.

    Runs are compared within the same turn: one workload, seed and repeat. Each workload counts once; the interval says
    how much turns on the same workload differ, and not how workloads do. Means are those of logarithms, so that half
    and double cancel out.
    """
    turns = rows.pivot_table(index=["workload", "seed", "repeat"], columns="policy", values=column)
    if policy not in turns or baseline not in turns:
        return None
    both = turns[[policy, baseline]].dropna()
    both = both[(both > 0).all(axis=1)]
    logs = np.log(both[policy]) - np.log(both[baseline])
    return _mean([_units(part) for _, part in logs.groupby(level="workload")]) if len(logs) else None


def _units(logs: pd.Series[float]) -> Floats:
    """What may differ on one workload."""
    seeds = logs.groupby(level="seed").median()
    return np.asarray(seeds if len(seeds) >= SEEDS else logs, np.float64)


def _mean(workloads: Sequence[Floats]) -> Saving:
    """The mean of ratios over workloads, as what is saved.

    >>> _mean([np.log([0.5, 0.5]), np.log([0.125, 0.125])])
    Saving(share=0.75, low=0.75, high=0.75)
    """
    mean = float(np.mean([logs.mean() for logs in workloads]))
    freedom = sum(len(logs) - 1 for logs in workloads)
    if not all(len(logs) > 1 for logs in workloads):
        return Saving(share=_saved(mean))
    error = float(np.sqrt(sum(logs.var(ddof=1) / len(logs) for logs in workloads))) / len(workloads)
    reach = (T95[freedom - 1] if freedom <= len(T95) else T95_MANY) * error
    return Saving(share=_saved(mean), low=_saved(mean + reach), high=_saved(mean - reach))


def _saved(log: float) -> float:
    return 1 - float(np.exp(log))
