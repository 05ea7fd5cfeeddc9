"""A row for each policy: medians, spread, what it saves, and what is noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from eddy.comparison.contender import BASELINE, CONTROL
from eddy.comparison.savings import Saving, saving

TIME = {"local": "seconds", "spark": "wall_seconds"}
"""What is time: here that of the engine; on Spark that of the whole query, which is what its user waits for."""

MICRO = 1e6
"""Microseconds in a second."""

QUARTILES = (0.25, 0.75)
"""The spread: the middle half of the runs."""

SHARES = {"operators": "operator_seconds", "routing": "routing_seconds", "learning": "learning_seconds"}
"""Parts of the engine's time."""

DECIDING = ("routing", "learning")
"""Those that a policy takes for itself."""


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Summaries of all policies, the best times first; percentages are of the baseline, and negative is lost."""
    frame = pd.DataFrame(list(rows))
    roles: dict[str, str] = dict(zip(frame["policy"], frame["role"], strict=True))
    found = [_policy(frame, policy, role, roles) for policy, role in roles.items()]
    return sorted(found, key=lambda row: (row["role"] == CONTROL, row["us_per_tuple"]))


def grouped(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Runs by workload."""
    parts: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        parts.setdefault(str(row["workload"]), []).append(row)
    return parts


def first_baseline(roles: Mapping[str, str]) -> str | None:
    """What the others are compared with, where it has run at all."""
    return next((policy for policy, role in roles.items() if role == BASELINE), None)


def _policy(frame: pd.DataFrame, policy: str, role: str, roles: Mapping[str, str]) -> dict[str, Any]:
    own = frame[frame["policy"] == policy]
    time = own[TIME[str(own["runner"].iloc[0])]]
    baseline = first_baseline(roles)
    shares = {name: float(own[column].sum() / own["seconds"].sum() * 100) for name, column in SHARES.items()}
    return {
        "policy": policy,
        "role": role,
        "runs": len(own),
        **_spread("calls_per_tuple", own["routing_calls"] / own["tuples"]),
        **_spread("us_per_tuple", time / own["tuples"] * MICRO),
        **_spread("seconds", time),
        **_saved("calls_saved_percent", _saving(frame, policy, baseline, "routing_calls")),
        **_saved("time_saved_percent", _saving(frame, policy, baseline, str(time.name))),
        "noise_percent": _noise(frame, roles, str(time.name)),
        **{f"{name}_percent": share for name, share in shares.items()},
        "deciding_percent": sum(shares[name] for name in DECIDING),
        **{f"{n}_us_per_tuple": float((own[c] / own["tuples"]).median() * MICRO) for n, c in SHARES.items()},
    }


def _spread(name: str, values: pd.Series[float]) -> dict[str, float]:
    low, high = values.quantile(list(QUARTILES))
    return {name: float(values.median()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _saving(frame: pd.DataFrame, policy: str, baseline: str | None, column: str) -> Saving | None:
    return None if baseline is None or policy == baseline else saving(frame, policy, baseline, column)


def _saved(name: str, found: Saving | None) -> dict[str, float | None]:
    parts = (None, None, None) if found is None else (found.share, found.low, found.high)
    return {
        title: None if part is None else part * 100
        for title, part in zip((name, f"{name}_low", f"{name}_high"), parts, strict=True)
    }


def _noise(frame: pd.DataFrame, roles: Mapping[str, str], column: str) -> float | None:
    """By how many per cent the baseline seems to differ from itself."""
    control = next((policy for policy, role in roles.items() if role == CONTROL), None)
    found = None if control is None else _saving(frame, control, first_baseline(roles), column)
    return None if found is None or found.noise is None else found.noise * 100
