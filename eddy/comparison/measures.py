"""The figures that are written down about a run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eddy.comparison.contender import BASELINE, BOUND
from eddy.comparison.workload import Workload
from eddy.observe.insight import WRITTEN_ORDER
from eddy.observe.report import Report
from eddy.tuples.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

SUMS = {
    "routing_calls": "routing_calls",
    "seconds": "seconds",
    "operator_seconds": "operator_seconds",
    "routing_seconds": "planning_seconds",
    "learning_seconds": "learning_seconds",
}
"""Columns of a row, and what they are called in `Report.batches`."""

DECIDED = ["right", "wrong", "unclassified", "profiling"]
"""The kinds of decisions behind routing calls, as in figure 5 of the paper."""

MARKS = (0.25, 0.5, 0.75, 1.0)
"""The shares of the time at which the results so far are counted."""

SETTLED_WITHIN = 0.05
"""A run has settled when its calls per tuple are as near as this to where they stay."""

BATCHES_TO_SMOOTH = 3
"""Micro-batches that are looked at together: the calls per tuple of a single one of 1,000 tuples differ by 2 or 3 %."""

BATCHES_BESIDE = 4
"""On both sides of a micro-batch so many are looked at with it: four of nine may be out of the way, as those are in
which a policy tries something."""

STEADY_SHARE = 0.5
"""The part of a phase, counted from its end, that says where the calls per tuple stay."""

TINY = 1e-9
"""A cost that is no cost, so that nothing is divided by zero."""

GAINED = 0.8
"""The share of what can be gained after a change that counts as having noticed it."""


def measure(workload: Workload, results: int, report: Report) -> dict[str, Any]:
    """Sum counters and seconds of the whole run.

    The run's figure needs a few more values, which are added.
    """
    batches = report.batches()
    totals = {name: batches[column].sum().item() for name, column in SUMS.items()}
    counted = {"tuples": workload.tuples, "results": results, **totals}
    learning = report.learning()
    told = learning_time(workload, learning) | decided_calls(report.decisions())
    told |= settling_point(workload, batches) | adapting(report) | profiled_share(workload, learning)
    told |= cache_work(report)
    told |= distance_from_best(workload, report) | candidates_a_tuple(workload, report) | index_work(workload, report)
    return counted | dict(workload.facts) | told


def cache_work(report: Report) -> dict[str, float]:
    """The share of look-ups that were hits, the most bytes that caches held, and how many were in use.

    A run in which no cache was asked has none of these.
    """
    caches = report.caches()
    looked = caches["look_ups"].sum()
    if not looked:
        return {}
    used = caches[caches["batch"] == caches["batch"].max()]
    return {
        "cache_hits": float(caches["hits"].sum() / looked),
        "cache_bytes": float(caches.groupby("batch")["nbytes"].sum().max()),
        "caches_used": int((used["look_ups"] > 0).sum()),
    }


def adapting(report: Report) -> dict[str, float]:
    """The regret of a policy that keeps an account, and when it adopted an arm.

    `regret` is the share by which all that was spent is above what the written order would have cost, and below zero
    where more was saved. Both are the policy's own figures. `adopted_after` are the rows that had come by the end of
    the first micro-batch after which an arm was in charge of some stream; a run without one does not have it.
    """
    accounts = report.regret()
    written = accounts["written"].sum()
    if written <= 0:
        return {}
    batches = report.batches()
    found = {"regret": float(accounts["spent"].sum() / written - 1)}
    adopted = accounts.loc[accounts["arm"] != WRITTEN_ORDER, "batch"]
    if len(adopted):
        found["adopted_after"] = float(batches.loc[batches["batch"] <= adopted.min(), "rows"].sum())
    return found


def time_over_written(runs: Sequence[Sequence[Sequence[float]]], written: int) -> list[dict[str, float]]:
    """Each policy's time as a multiple of the written order's.

    `runs` are for each policy the repeats on the same workload, each with the seconds of its micro-batches; `written`
    is the place of the policy that keeps the order of the query. This is by the clock, and so audits what a policy says
    of itself.
    """
    seconds = [sum_quickest(own) for own in runs]
    return [{"over_written": own / seconds[written]} for own in seconds]


def sum_quickest(runs: Sequence[Sequence[float]]) -> float:
    """Sum the quickest repeat of each micro-batch, in seconds.

    A machine that is busy with something else makes some micro-batches slower, and none of them quicker.
    """
    if len({len(run) for run in runs}) > 1:  # Spark may divide the same work into more micro-batches one day
        return float(min(sum(run) for run in runs))
    return float(quickest(runs).sum())


def quickest(runs: Sequence[Sequence[float]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Give each micro-batch's seconds in the quickest repeat."""
    least: np.ndarray[Any, np.dtype[np.float64]] = np.min(np.array(runs, np.float64), axis=0)
    return least


def output_rate(runs: Sequence[Sequence[Sequence[float]]], results: Sequence[Sequence[int]]) -> list[dict[str, float]]:
    """The share of results at a quarter, half, ... of the time.

    The time is that of the quickest policy. `runs` are for each policy the repeats on the same workload, each with the
    seconds of its micro-batches; `results` are for each policy those of its micro-batches.
    """
    seconds = [quickest(own).cumsum() for own in runs]
    end = min(float(own[-1]) for own in seconds)
    found = []
    for taken, own in zip(seconds, results, strict=True):
        made = np.cumsum(own)
        by = np.interp([mark * end for mark in MARKS], [0.0, *taken], [0.0, *made]) / max(made[-1], 1)
        found.append({f"produced_{mark:.0%}": share for mark, share in zip(MARKS, by.tolist(), strict=True)})
    return found


Course = tuple[Sequence[int], Sequence[int]]
"""The rows and the routing calls of each micro-batch of a run."""


def rows_to_gain(points: Sequence[int], courses: Sequence[Course], roles: Sequence[str]) -> list[dict[str, float]]:
    """Count the rows after a change whose gain was lost.

    They count until a policy makes four fifths of the gain, which is what the bound saves of the best baseline. A
    micro-batch in which half of it is made counts half of its rows, so that the count is finer than the micro-batches
    are. Of several changes the slowest counts; who never gets so far has lost all of its rows.
    """
    bounds = [course for course, role in zip(courses, roles, strict=True) if role == BOUND]
    baselines = [course for course, role in zip(courses, roles, strict=True) if role == BASELINE]
    if not points or not bounds or not baselines or not all(len(rows) for rows, _ in courses):
        return [{} for _ in courses]
    baseline = min(baselines, key=lambda course: sum(course[1]))
    ends = [*points[1:], sum(baseline[0])]
    spans = list(zip(points, ends, strict=True))
    return [{"rows_to_gain": max(_rows_lost(own, bounds[0], baseline, *span) for span in spans)} for own in courses]


def regret_after(
    start: int, rows: Sequence[int], costs: Mapping[str, Sequence[Sequence[float]]], roles: Sequence[str]
) -> list[dict[str, float]]:
    """What a design costs on what has changed, in times of the bound's.

    The bound has the design that is best for it. `costs` are by what is counted, such as seconds, each policy's for
    each micro-batch; `start` is the tuple at which the change begins. Beside all that comes after it there is its later
    half, when what is to be learned has been, and by the candidates the rows until a few micro-batches are near enough.
    """
    after = np.cumsum(rows) > start
    bound = next((place for place, role in enumerate(roles) if role == BOUND), None)
    if bound is None or not after.any():
        return [{} for _ in roles]
    late = after & (np.cumsum(after) > after.sum() - _steady(int(after.sum())))
    found: list[dict[str, float]] = [{} for _ in roles]
    for name, courses in costs.items():
        least = np.array(courses[bound], np.float64)
        for one, course in zip(found, courses, strict=True):
            own = np.array(course, np.float64)
            for stretch, which in (("", after), ("_late", late)):
                one[f"regret_{name}{stretch}"] = float(own[which].sum() / max(least[which].sum(), TINY))
            if name == "candidates":
                one["regret_rows"] = float(
                    np.asarray(rows)[after][: _batches_of_regret(own[after], least[after])].sum()
                )
    return found


def _batches_of_regret(own: Floats, least: Floats) -> int:
    """Count micro-batches until some in a row cost hardly more than the bound's.

    >>> _batches_of_regret(np.array([4.0, 4, 4, 1, 1, 1, 1]), np.ones(7))
    3
    """
    width = min(BATCHES_TO_SMOOTH, len(own))
    sums = [np.convolve(course, np.ones(width), mode="valid") for course in (own, least)]
    near = np.flatnonzero(sums[0] <= (1 + SETTLED_WITHIN) * sums[1])
    return int(near[0]) if len(near) else len(own)


def _rows_lost(own: Course, bound: Course, baseline: Course, start: int, end: int) -> float:
    """Sum the rows of a stretch until most of the gain is made.

    Each counts by the share that it does not gain.

    >>> hundreds = [100] * 5
    >>> _rows_lost((hundreds, [300, 300, 200, 100, 100]), (hundreds, [100] * 5), (hundreds, [300] * 5), 100, 500)
    150.0
    """
    edges = np.unique(np.clip([start, *np.cumsum(own[0]), end], start, end))
    calls, least, most = (_calls_between(course, edges) for course in (own, bound, baseline))
    share = np.clip((most - calls) / np.maximum(most - least, 1), 0, 1)
    rows = np.diff(edges)
    for place in np.flatnonzero(share >= GAINED):
        if share[place : place + BATCHES_TO_SMOOTH].mean() >= GAINED:
            return float(((1 - share) * rows)[:place].sum())
    return float(rows.sum())


def _calls_between(course: Course, edges: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Give the routing calls of the rows between each two places."""
    rows, calls = ([0, *np.cumsum(one)] for one in course)
    return np.diff(np.interp(edges, rows, calls))


def decided_calls(frame: pd.DataFrame) -> dict[str, float]:
    """Count decisions of a policy, and the time of one."""
    if frame.empty:
        return {}
    return {"decisions": len(frame), "milliseconds_to_decide": float(frame["seconds"].mean() * 1_000)}


def learning_time(workload: Workload, frame: pd.DataFrame) -> dict[str, float]:
    """Shares of the routing calls by their classifier.

    It is the right one, a wrong one, or none. The figures come from `Report.learning`, and add up to 1 with the calls
    that profiled an operator. Where nobody knows the right classifier, or the policy has none, there are no shares.
    """
    if frame.empty or workload.attribute is None:
        return {}
    right = np.where(frame["attribute"] == workload.attribute, "right", "wrong")
    decided = np.where(frame["kind"] == "classified", right, frame["kind"])
    calls = frame["calls"].groupby(decided).sum().reindex(DECIDED, fill_value=0)
    return {kind: float(share) for kind, share in (calls / calls.sum()).items()}


def profiled_share(workload: Workload, frame: pd.DataFrame) -> dict[str, float]:
    """The share of the operators' work that was done to learn and for nothing else.

    A call counts as much as its operator costs beside the others.
    """
    if frame.empty:
        return {}
    work = frame["calls"] * _call_prices(workload, frame)
    return {"profiled": float(work[frame["kind"] == "profiling"].sum() / max(work.sum(), 1))}


def _call_prices(workload: Workload, frame: pd.DataFrame) -> pd.Series[float]:
    return frame["operator"].map(dict(workload.prices)).fillna(1.0).astype(np.float64)


def candidates_a_tuple(workload: Workload, report: Report) -> dict[str, float]:
    """The rows that agree with tuples in keys, windows and order, beside the tuples of the streams."""
    frame = report.operators(by_batch=True)
    joins = frame[~frame["operator"].isin([filter.name for filter in workload.query.filters])]
    return {} if joins.empty else {"candidates": float(joins["evaluated"].sum() / max(workload.tuples, 1))}


def index_work(workload: Workload, report: Report) -> dict[str, float]:
    """What indexes have cost beside the tuples: the candidates that they gave, right or not, and the rows put in order.

    A look through all rows gives all of them.
    """
    frame = report.indexes()
    if frame.empty:
        return {}
    tuples = max(workload.tuples, 1)
    sums = frame[["candidates", "sorted_rows"]].sum() / tuples
    return {"index_candidates": float(sums["candidates"]), "rows_sorted": float(sums["sorted_rows"])}


def distance_from_best(workload: Workload, report: Report) -> dict[str, float]:
    """How far a run is from the order that is best at its time, where the workload knows it.

    `over_best` is the share by which its calls cost more, and `over_best_late` the same of the later half of every
    phase, when what is to be learned has been. `stays_after` are the tuples after a change until calls cost, within
    5 %, as many times the best as they then do: of several changes the mean, and `stays_after_slowest` the slowest. So
    who goes on as before is soon where it stays, and far from the best.
    """
    if workload.course is None:
        return {}
    frame, batches = report.operators(by_batch=True), report.batches()
    batches = batches[batches["rows"] > 0]
    if batches["rows"].sum() != len(workload.course):
        return {}
    work = frame["rows_in"] * _call_prices(workload, frame)
    own = work.groupby(frame["batch"]).sum().reindex(batches["batch"], fill_value=0).to_numpy()
    ends = np.array([0, *batches["rows"].cumsum()])
    best = np.diff(np.array([0, *workload.course.cumsum()])[ends])
    starts = [int(np.searchsorted(ends[1:], point, side="right")) for point in workload.drift_points]
    phases = [(a, b) for a, b in itertools.pairwise([0, *starts, len(best)]) if a < b]
    late = np.concatenate([np.arange(b - _steady(b - a), b) for a, b in phases])
    found = {"over_best": own.sum() / best.sum() - 1, "over_best_late": own[late].sum() / best[late].sum() - 1}
    if len(phases) > 1:
        stays = [ends[a + _batches_to_stay(own[a:b], best[a:b])] - ends[a] for a, b in phases[1:]]
        found |= {"stays_after": np.mean(stays), "stays_after_slowest": max(stays)}
    return {name: float(value) for name, value in found.items()}


def _steady(batches: int) -> int:
    """Count the last micro-batches of a phase, which say where calls stay."""
    return min(max(round(batches * STEADY_SHARE), 1), batches)


def _batches_to_stay(own: np.ndarray[Any, Any], best: np.ndarray[Any, Any]) -> int:
    """Count micro-batches until what is spent, as a multiple of the best, is never again far from the end's.

    What the data do by chance, they do to both. The median of some micro-batches counts, so that a single one in which
    rows were looked at to learn does not.

    >>> _batches_to_stay(np.array([4.0] * 5 + [2] * 5 + [4] + [2] * 5), np.ones(16))
    5
    """
    times = own / best
    steady = np.median(times[-_steady(len(times)) :])
    # Before the change there is nothing to look at, and beyond the end what was before it.
    near = np.pad(np.pad(times, (BATCHES_BESIDE, 0), mode="edge"), (0, BATCHES_BESIDE), mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(near, 2 * BATCHES_BESIDE + 1), axis=1)
    far = np.flatnonzero(np.abs(medians / steady - 1) > SETTLED_WITHIN)
    return int(far[-1]) + 1 if len(far) else 0


def settling_point(workload: Workload, batches: pd.DataFrame) -> dict[str, float]:
    """Tuples after a change until calls per tuple settle.

    They are settled when they are back to where they stay; of several changes the slowest counts.
    """
    if not workload.drift_points:
        return {}
    calls = (batches["routing_calls"] / batches["rows"]).to_numpy()
    starts = np.searchsorted(batches["rows"].cumsum(), workload.drift_points, side="right")
    slowest = max(_batches_to_settle(calls[a:b]) for a, b in itertools.pairwise([*starts, len(calls)]))
    tuples = slowest * float(batches["rows"].iloc[0])
    return {"settled_tuples": tuples, "settled_class_tuples": tuples / workload.facts.get("classes", 1)}


def _batches_to_settle(calls: np.ndarray[Any, Any]) -> int:
    """Count micro-batches until the mean is near the end's.

    Means are of a few micro-batches in a row.

    >>> _batches_to_settle(np.array([3, 3, 2, 2, 2, 2, 2, 2, 2, 2.0]))
    2
    """
    steady = calls[-_steady(len(calls)) :].mean()
    width = min(BATCHES_TO_SMOOTH, len(calls))
    means = np.convolve(calls, np.full(width, 1 / width), mode="valid")
    near = np.flatnonzero(np.abs(means / steady - 1) <= SETTLED_WITHIN)
    return int(near[0]) if len(near) else len(calls)
