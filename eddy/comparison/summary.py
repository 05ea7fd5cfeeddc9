"""A row for each policy: medians, spread, saving, noise.

A saving is a mean over runs of the same turn, with its 95 % interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eddy.comparison.contender import BASELINE, CONTROL
from eddy.tuples.arrays import Floats
from eddy.tuples.pandas_frames import make_frame

if TYPE_CHECKING:
    import pandas as pd

TIME = {"local": "seconds", "spark": "wall_seconds"}
"""The column that counts as time: here that of the engine; on Spark that of the whole query, which is what its user
waits for."""

MICRO = 1e6
"""Microseconds in a second."""

QUARTILES = (0.25, 0.75)
"""The spread: the middle half of the runs."""

SHARES = {"operators": "operator_seconds", "routing": "routing_seconds", "learning": "learning_seconds"}
"""Parts of the engine's time."""

DECIDING = ("routing", "learning")
"""The parts of the time that a policy takes for itself."""

T95 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
T95_MANY = 1.96
"""Student's t at 97.5 % with 1, 2, ... degrees of freedom, and with many: from few values an interval is wide."""

SEEDS = 3
"""From so many seeds on, it is they that are compared, each with the median of its repeats; of fewer, all turns."""

TURN = ("workload", "seed", "repeat")
"""The columns of which runs of the same turn have the same."""

Turn = tuple[str, int, int]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Summarise all policies, the best times first.

    Percentages are of the baseline, and negative is lost.
    """
    frame = make_frame(list(rows))
    roles: dict[str, str] = dict(zip(frame["policy"], frame["role"], strict=True))
    noise = {TIME[runner]: _noise(frame, roles, TIME[runner]) for runner in map(str, frame["runner"].unique())}
    found = [_policy(frame, policy, role, roles, noise) for policy, role in roles.items()]
    return sorted(found, key=lambda row: (row["role"] == CONTROL, row["us_per_tuple"]))


def group_by_workload(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Runs by workload."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts.setdefault(str(row["workload"]), []).append(row)
    return parts


def find_baseline(roles: Mapping[str, str]) -> str | None:
    """Find the policy that others are held against, if it ran."""
    return next((policy for policy, role in roles.items() if role == BASELINE), None)


def _policy(
    frame: pd.DataFrame, policy: str, role: str, roles: Mapping[str, str], noise: Mapping[str, float | None]
) -> dict[str, Any]:
    own = frame[frame["policy"] == policy]
    time = own[TIME[str(own["runner"].iloc[0])]]
    baseline = find_baseline(roles)
    shares = {name: float(own[column].sum() / own["seconds"].sum() * 100) for name, column in SHARES.items()}
    return {
        "policy": policy,
        "role": role,
        "runs": len(own),
        **_spread("calls_per_tuple", own["routing_calls"] / own["tuples"]),
        **_spread("us_per_tuple", time / own["tuples"] * MICRO),
        **_spread("seconds", time),
        **_list_saved("calls_saved_percent", _saving(frame, policy, baseline, "routing_calls")),
        **_list_saved("time_saved_percent", _saving(frame, policy, baseline, str(time.name))),
        "noise_percent": noise[str(time.name)],
        **{f"{name}_percent": share for name, share in shares.items()},
        "deciding_percent": sum(shares[name] for name in DECIDING),
        **{f"{n}_us_per_tuple": float((own[c] / own["tuples"]).median() * MICRO) for n, c in SHARES.items()},
    }


def _spread(name: str, values: pd.Series[float]) -> dict[str, float]:
    low, high = values.quantile(list(QUARTILES))
    return {name: float(values.median()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _saving(frame: pd.DataFrame, policy: str, baseline: str | None, column: str) -> Saving | None:
    return None if baseline is None or policy == baseline else saving(frame, policy, baseline, column)


def _list_saved(name: str, found: Saving | None) -> dict[str, float | None]:
    parts = (None, None, None) if found is None else (found.share, found.low, found.high)
    return {
        title: None if part is None else part * 100
        for title, part in zip((name, f"{name}_low", f"{name}_high"), parts, strict=True)
    }


def _noise(frame: pd.DataFrame, roles: Mapping[str, str], column: str) -> float | None:
    """Per cent by which the baseline seems to differ from itself."""
    control = next((policy for policy, role in roles.items() if role == CONTROL), None)
    found = None if control is None else _saving(frame, control, find_baseline(roles), column)
    return None if found is None or found.noise is None else found.noise * 100


@dataclass(frozen=True, kw_only=True)
class Saving:
    """A share that is saved, with its 95 % interval.

    Negative is lost. One value alone has no interval.
    """

    share: float
    low: float | None = None
    high: float | None = None

    @property
    def noise(self) -> float | None:
        """The farther end of the interval from zero.

        Of a policy against itself, that is the noise.
        """
        return None if self.low is None or self.high is None else max(abs(self.low), abs(self.high))


def saving(rows: pd.DataFrame, policy: str, baseline: str, column: str) -> Saving | None:
    """Work out a policy's saving of a baseline's column.

    It is None where they have no run in common. Runs are compared within the same turn: one workload, seed and repeat.
    Each workload counts once; the interval says how much turns on the same workload differ, and not how workloads do.
    Means are those of logarithms, so that half and double cancel out.
    """
    own, other = (_by_turn(rows, name, column) for name in (policy, baseline))
    workloads: dict[str, dict[Turn, float]] = {}
    for turn in sorted(own.keys() & other.keys()):
        workloads.setdefault(turn[0], {})[turn] = float(np.log(own[turn]) - np.log(other[turn]))
    return _mean([_units(logs) for logs in workloads.values()]) if workloads else None


def _by_turn(rows: pd.DataFrame, policy: str, column: str) -> dict[Turn, float]:
    """Give what a policy took in each turn; a mean, should it have had one twice."""
    own = rows[rows["policy"] == policy]
    took: dict[Turn, list[float]] = {}
    for *turn, value in zip(*(own[name] for name in (*TURN, column)), strict=True):
        took.setdefault((turn[0], turn[1], turn[2]), []).append(value)
    means = {turn: float(np.mean(values)) for turn, values in took.items()}
    return {turn: mean for turn, mean in means.items() if mean > 0}


def _units(logs: Mapping[Turn, float]) -> Floats:
    """Give the values that tell turns on one workload apart."""
    seeds: dict[int, list[float]] = {}
    for (_, seed, _), log in logs.items():
        seeds.setdefault(seed, []).append(log)
    medians = [float(np.median(own)) for own in seeds.values()]
    return np.asarray(medians if len(medians) >= SEEDS else list(logs.values()), np.float64)


def _mean(workloads: Sequence[Floats]) -> Saving:
    """Give the mean of ratios over workloads, as what is saved.

    >>> _mean([np.log([0.5, 0.5]), np.log([0.125, 0.125])])
    Saving(share=0.75, low=0.75, high=0.75)
    """
    mean = float(np.mean([logs.mean() for logs in workloads]))
    freedom = sum(len(logs) - 1 for logs in workloads)
    if not all(len(logs) > 1 for logs in workloads):
        return Saving(share=_units_saved(mean))
    error = float(np.sqrt(sum(logs.var(ddof=1) / len(logs) for logs in workloads))) / len(workloads)
    reach = (T95[freedom - 1] if freedom <= len(T95) else T95_MANY) * error
    return Saving(share=_units_saved(mean), low=_units_saved(mean + reach), high=_units_saved(mean - reach))


def _units_saved(log: float) -> float:
    return 1 - float(np.exp(log))
