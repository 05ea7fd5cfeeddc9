"""Gains of policies over the baselines of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from eddy.comparison.contender import BASELINE, BOUND, CONTROL
from eddy.comparison.measures import MARKS

SHARES = {"routing %": "routing_seconds", "learning %": "learning_seconds"}
"""Parts of the whole time; the rest goes to operators, and to work that every policy needs."""

GAINS = {"calls": "routing_calls", "time": "quiet_seconds", "cpu": "cpu_seconds"}
"""The columns that are compared, by what the table calls them. Nobody knows the CPU seconds of a run on Spark."""

EXTRAS = {
    "right": ("right", "{:.1%}"),
    "wrong": ("wrong", "{:.1%}"),
    "no classifier": ("unclassified", "{:.1%}"),
    "profiling": ("profiling", "{:.1%}"),
    "profiled %": ("profiled", "{:.2%}"),
    "candidates a tuple": ("candidates", "{:.2f}"),
    "index candidates a tuple": ("index_candidates", "{:.1f}"),
    "rows sorted a tuple": ("rows_sorted", "{:.1f}"),
    "hits %": ("cache_hits", "{:.1%}"),
    "cache bytes": ("cache_bytes", "{:,.0f}"),
    "caches used": ("caches_used", "{:.1f}"),
    "regret, time": ("regret_seconds", "{:.2f}"),
    "late, time": ("regret_seconds_late", "{:.2f}"),
    "regret, candidates": ("regret_candidates", "{:.2f}"),
    "late, candidates": ("regret_candidates_late", "{:.2f}"),
    "rows until below 1.05": ("regret_rows", "{:,.0f}"),
    "worst pattern, time": ("regret_seconds_worst", "{:.2f}"),
    "worst pattern, candidates": ("regret_candidates_worst", "{:.2f}"),
    "patterns above 1.1": ("regret_patterns_above", "{:.0f}"),
    "of patterns": ("regret_patterns", "{:.0f}"),
    "over best %": ("over_best", "{:+.1%}"),
    "late over best %": ("over_best_late", "{:+.1%}"),
    "tuples until calls stay": ("stays_after", "{:,.0f}"),
    "slowest": ("stays_after_slowest", "{:,.0f}"),
    "tuples of a class to settle": ("settled_class_tuples", "{:,.0f}"),
    "rows to gain": ("rows_to_gain", "{:,.0f}"),
    "to decide, ms": ("milliseconds_to_decide", "{:.0f}"),
    **{f"produced by {mark:.0%}": (f"produced_{mark:.0%}", "{:.1%}") for mark in MARKS},
    "over written": ("over_written", "{:.3f}"),
    "regret %": ("regret", "{:+.1%}"),
    "adopted after, rows": ("adopted_after", "{:,.0f}"),
    "paper: calls %": ("paper_calls", "{:g}"),
    "paper: time %": ("paper_seconds", "{:g}"),
}
"""Columns that only some policies or workloads have: the title, the column and its form."""

OF_BOUND, BOUND_RATE = "of bound %", "of bound's rate %"
"""The share of the calls that the bound saves, and the share of its output rate."""

Z95 = 1.96
"""Standard errors on both sides that make the paper's 95 % confidence."""


def compute_improvement(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> pd.DataFrame:
    """Work out the gain over each baseline, in per cent.

    For each group and policy there is the mean, its 95 % interval and the spread.

    A policy is compared with a baseline on the same workload and seed; of several repeats the median counts.
    """
    lines: list[dict[str, Any]] = []
    for values, group in pd.DataFrame(list(rows)).groupby(list(by), sort=False):
        roles: dict[str, str] = dict(zip(group["policy"], group["role"], strict=True))
        for policy, baseline in _pairs(roles):
            named = dict(zip(by, values, strict=True)) | {"policy": policy, "over": baseline}
            lines.append(named | _gains(group, policy, baseline, roles) | _means(group, policy))
    frame = pd.DataFrame(lines).fillna("")
    last = [title for title in EXTRAS if title in frame]
    return frame[[*frame.columns.difference(last, sort=False), *last]]


def summarize_rest(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> pd.DataFrame:
    """Give the columns that a summary does not have.

    It is empty if there are none.
    """
    found = compute_improvement(rows, by)
    more = [title for title in (OF_BOUND, BOUND_RATE, *EXTRAS) if title in found]
    told = found.reindex(columns=[*by, "policy", "over", *more])
    return told[(told[more] != "").any(axis=1)] if more else told[:0]


def _pairs(roles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Pair the policies that are compared.

    Everybody is compared with the baselines, a baseline with those before it, its control with it.

    >>> list(_pairs({"ours": "", "first": "baseline", "second": "baseline", "first (again)": "control"}))
    [('ours', 'first'), ('ours', 'second'), ('second', 'first'), ('first (again)', 'first')]
    """
    baselines = [policy for policy, role in roles.items() if role == BASELINE]
    for policy, role in roles.items():
        against = baselines[: baselines.index(policy)] if policy in baselines else baselines
        against = baselines[:1] if role == CONTROL else against
        yield from ((policy, baseline) for baseline in against)


def _gains(group: pd.DataFrame, policy: str, baseline: str, roles: Mapping[str, str]) -> dict[str, str]:
    """Work out gains in calls, time, CPU seconds and output rate.

    Beside them stands the share of what the bound saves, and of its rate.

    The same answer in less time is a higher output rate: 31 % less time is 44 % more results a second.
    """
    said: dict[str, str] = {}
    for name, column in GAINS.items():
        if column not in group:
            continue
        runs = _medians(group, column)
        said[f"{name} %"] = _format_mean((1 - runs[policy] / runs[baseline]) * 100)
    runs = _medians(group, GAINS["time"])
    said["rate %"] = _format_mean((runs[baseline] / runs[policy] - 1) * 100)
    runs = _medians(group, GAINS["calls"])
    said["spread of calls"] = f"{((1 - runs[policy] / runs[baseline]) * 100).std(ddof=0):.1f}"
    for bound in [name for name, role in roles.items() if role == BOUND]:
        saved = (runs[baseline] - runs[bound]).sum()
        said[OF_BOUND] = f"{(runs[baseline] - runs[policy]).sum() / saved * 100:.0f}" if saved > 0 else ""
        times = _medians(group, GAINS["time"])
        said[BOUND_RATE] = f"{(times[bound] / times[policy]).mean() * 100:.0f}"
    return said


def _medians(group: pd.DataFrame, column: str) -> pd.DataFrame:
    """Medians by workload and seed, a column for each policy."""
    return group.pivot_table(index=["workload", "seed"], columns="policy", values=column, aggfunc="median")


def _format_mean(gained: pd.Series[float]) -> str:
    """The mean, with its 95 % interval where there are several."""
    if len(gained) < 2:
        return f"{gained.mean():.1f}"
    return f"{gained.mean():.1f} ± {Z95 * gained.std() / np.sqrt(len(gained)):.1f}"


def _means(group: pd.DataFrame, policy: str) -> dict[str, str]:
    """Columns of the policy alone."""
    own = group[group["policy"] == policy]
    calls = own["routing_calls"].sum()
    overhead = (own["routing_seconds"].sum() + own["learning_seconds"].sum()) / calls * 1e6
    shares = {n: f"{own[column].sum() / own['seconds'].sum() * 100:.1f}" for n, column in SHARES.items()}
    said = {"calls a tuple": f"{calls / own['tuples'].sum():.3f}", "overhead µs a call": f"{overhead:.2f}", **shares}
    told = own.mean(numeric_only=True).dropna()
    return said | {title: form.format(told[column]) for title, (column, form) in EXTRAS.items() if column in told}
