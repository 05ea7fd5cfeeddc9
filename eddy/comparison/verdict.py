"""The verdict: which policy to choose, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eddy.comparison.contender import BASELINE, BOUND, CONTROL
from eddy.comparison.readable import slower, times
from eddy.comparison.summary import group_by_workload, summary
from eddy.errors import quote

MOST_NAMES = 6
"""Workloads that are named in a sentence; of more, how many they are."""

LEAST_CALLS = 1.0
"""Per cent of the calls that are worth a word: a policy that samples differs by as much from one seed to the next."""

MOST_APART = 1.0
"""Per cent by which a saving may differ from that of the two medians beside it, and be told as if it were theirs: the
one is a mean of what turns on each workload save."""

NOISY_PERCENT = 10.0
"""Per cent of noise from which on it is said what helps: what policies save is often less."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A choice, why, and what is to be known besides.

    `choice` is "" where nothing can be said about time. `measured` says that its saving is more than noise.
    """

    choice: str
    measured: bool
    headline: str
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join([self.headline, *self.reasons])


def verdict(rows: Sequence[Mapping[str, Any]]) -> Verdict:
    """Give the verdict on all workloads.

    If they disagree, it is the choice for each.
    """
    parts = judge_workloads(rows)
    if len(parts) == 1:
        return next(iter(parts.values()))
    found = summary(rows)
    whole = judge(found, where="taken over all workloads")
    choices = {part.choice for part in parts.values()}
    if len(choices) > 1:
        return _describe_split(parts, whole, found[0]["noise_percent"])
    return replace(whole, reasons=(*_agreement(parts, whole), *whole.reasons))


def judge_workloads(rows: Sequence[Mapping[str, Any]]) -> dict[str, Verdict]:
    """Give a verdict on each workload."""
    parts = group_by_workload(rows)
    alone = len(parts) == 1
    return {
        workload: judge(summary(part), where="on this data" if alone else f'on "{workload}"')
        for workload, part in parts.items()
    }


def judge(rows: Sequence[Mapping[str, Any]], where: str) -> Verdict:
    """Give the verdict on a summary.

    Chosen is who saves most time, if that is more than noise: its interval must leave out nothing saved, and the saving
    must be more than the interval of the baseline against itself reaches. Else the baseline stays. What was told the
    truth, the bound, is no choice.
    """
    baseline = next((row for row in rows if row["role"] == BASELINE), None)
    others = [row for row in rows if row["role"] not in (BOUND, CONTROL) and row is not baseline]
    if baseline is None or not others:
        return Verdict(choice="", measured=False, headline="There is nothing to compare with.", reasons=())
    noise = baseline["noise_percent"]
    if noise is None:
        return _judge_one_run(baseline, others)
    better = [row for row in others if saves(row, noise)]
    if not better:
        return _stay(baseline, others, noise, where)
    best = max(better, key=lambda row: float(row["time_saved_percent"]))
    others = [row for row in better if row is not best]
    alike = [row["policy"] for row in others if row["time_saved_percent_high"] >= best["time_saved_percent_low"]]
    reasons = [_seconds(best, baseline), _calls(best, baseline), _noise(noise)]
    reasons += [f"{quote(alike)} cannot be told from it by time."] if alike else []
    reasons += [slower(row, baseline) for row in rows if _is_slower(row, baseline, noise)]
    saved = f'saves {_interval(best, "time")} of the time that "{baseline["policy"]}" takes'
    return Verdict(
        choice=best["policy"],
        measured=True,
        headline=f'Choose "{best["policy"]}": {where} it {saved}.',
        reasons=tuple(filter(None, reasons)),
    )


def saves(row: Mapping[str, Any], noise: float) -> bool:
    """Tell whether a policy saves time beyond doubt."""
    low, saved = row["time_saved_percent_low"], row["time_saved_percent"]
    return low is not None and low > 0 and saved > noise


def loses(row: Mapping[str, Any], noise: float) -> bool:
    """Tell whether a policy takes longer beyond doubt."""
    high, saved = row["time_saved_percent_high"], row["time_saved_percent"]
    return high is not None and high < 0 and -saved > noise


def _describe_split(parts: Mapping[str, Verdict], whole: Verdict, noise: float | None) -> Verdict:
    """Say which policies win where, when workloads disagree.

    Savings beyond noise come first, then the workloads on which the baseline stays because nothing else is sure, then
    one policy for all.
    """
    chosen: dict[str, list[str]] = {}
    for workload, part in sorted(parts.items(), key=lambda item: not item[1].measured):
        kept = bool(part.choice) and not part.measured
        chosen.setdefault(f"{'stay with ' if kept else ''}{_quote_choice(part.choice)}", []).append(workload)
    told = "; ".join(f"{choice} on {_list_names(workloads)}" for choice, workloads in chosen.items())
    each = [part.headline for part in parts.values()] if len(parts) <= MOST_NAMES else []
    reasons = (*each, f"One for all: {whole.headline}", *([] if noise is None else [_noise(noise)]))
    choose = "" if told.startswith("stay") else "choose "
    return Verdict(choice="", measured=False, headline=f"It depends on the data: {choose}{told}.", reasons=reasons)


def _agreement(parts: Mapping[str, Verdict], whole: Verdict) -> Sequence[str]:
    """Say whether each workload alone has the same verdict."""
    if not whole.choice:
        return ()
    if all(part.choice == whole.choice for part in parts.values()):
        return (f"The choice is the same on each of the {len(parts)} workloads.",)
    return (f"On each of the {len(parts)} workloads alone, that is within noise.",)


def _is_slower(row: Mapping[str, Any], baseline: Mapping[str, Any], noise: float) -> bool:
    return row is not baseline and row["role"] not in (BOUND, CONTROL) and loses(row, noise)


def _stay(baseline: Mapping[str, Any], others: Sequence[Mapping[str, Any]], noise: float, where: str) -> Verdict:
    """Nobody is quicker beyond doubt."""
    best = max(others, key=lambda row: float(row["time_saved_percent"] or 0.0))
    low, high = best["time_saved_percent_low"] or 0.0, best["time_saved_percent_high"] or 0.0
    fewest = min(others, key=lambda row: float(row["calls_per_tuple"]))
    reasons = tuple(filter(None, [_calls(fewest, baseline), _pays(fewest, baseline), _noise(noise)]))
    stays, saved = baseline["policy"], best["time_saved_percent"] or 0.0
    slow = [row for row in others if loses(row, noise)]
    reasons = (*(slower(row, baseline) for row in slow), *reasons)
    if len(slow) == len(others):
        more = f'"{best["policy"]}" the least, {_percent(-saved)} more'
        headline = f'Choose "{stays}": {where} every other policy takes longer, {more}.'
        return Verdict(choice=stays, measured=True, headline=headline, reasons=reasons)
    headline = f'Stay with "{stays}": {where} {_name_alike(others, slow)}.'
    nearest = (
        f'The quickest other, "{best["policy"]}", takes {_percent(abs(saved))} {"less" if saved > 0 else "more"} time; '
        f"from {_percent(abs(low))} {'less' if low > 0 else 'more'} to {_percent(abs(high))} "
        f"{'less' if high > 0 else 'more'}, with 95 % confidence."
    )
    return Verdict(choice=stays, measured=False, headline=headline, reasons=(nearest, *reasons))


def _name_alike(others: Sequence[Mapping[str, Any]], slow: Sequence[Mapping[str, Any]]) -> str:
    """Name those as quick as the baseline, and the others."""
    if not slow:
        return "what others save of its time is within noise"
    alike = [row["policy"] for row in others if row not in slow]
    save = "saves" if len(alike) == 1 else "save"
    return f"what {quote(alike)} {save} of its time is within noise, and {_name_slow(slow)}"


def _name_slow(slow: Sequence[Mapping[str, Any]]) -> str:
    if len(slow) > MOST_NAMES:
        return f"{len(slow)} others take longer"
    return ", ".join(f'"{row["policy"]}" takes {times(row)}' for row in slow)


def _judge_one_run(baseline: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Verdict:
    """One run says nothing about time."""
    fewest = min(others, key=lambda row: float(row["calls_per_tuple"]))
    return Verdict(
        choice="",
        measured=False,
        headline="One run of each policy says nothing about time: ask for three repeats or more, or for several seeds.",
        reasons=tuple(filter(None, [_calls(fewest, baseline)])),
    )


def _seconds(best: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    before, after = baseline["seconds"], best["seconds"]
    return f"A run takes {after:.3g} s instead of {before:.3g} s (medians)."


def _calls(row: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    """Say how many calls are saved, if it is worth a word."""
    saved = row["calls_saved_percent"]
    if saved is None or abs(saved) < LEAST_CALLS:
        return ""
    per_tuple = f"{row['calls_per_tuple']:.2f} instead of {baseline['calls_per_tuple']:.2f} a tuple"
    more = "fewer" if saved > 0 else "more"
    needs = f'"{row["policy"]}" needs {_percent(abs(saved))} {more} calls of operators'
    if abs(_medians_saved(row, baseline) - saved) <= MOST_APART:
        return f"{needs}: {per_tuple}."
    return f"{needs} on average over workloads and turns; the median of all runs is {per_tuple}."


def _medians_saved(row: Mapping[str, Any], baseline: Mapping[str, Any]) -> float:
    """Per cent of the calls that are saved by the medians that a sentence shows."""
    return float(1 - row["calls_per_tuple"] / baseline["calls_per_tuple"]) * 100


def _pays(row: Mapping[str, Any], baseline: Mapping[str, Any]) -> str:
    """Say from which cost of an operator fewer calls are quicker."""
    calls = baseline["calls_per_tuple"] - row["calls_per_tuple"]
    lost = row["us_per_tuple"] - baseline["us_per_tuple"]
    if lost <= 0 or (row["calls_saved_percent"] or 0.0) < LEAST_CALLS or calls <= 0:
        return ""
    return f"That would pay where a call costs {_plain(lost / calls)} microseconds more than here."


def _noise(noise: float) -> str:
    told = f"The baseline, run twice, differs from itself by up to {_percent(noise)}: less than that is noise."
    return told if noise < NOISY_PERCENT else f"{told} That is much: end other programs, or ask for more repeats."


def _interval(row: Mapping[str, Any], what: str) -> str:
    name = f"{what}_saved_percent"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return f"{_percent(row[name])} (95 % interval {_number(low)} to {_number(high)})"


def _percent(number: float) -> str:
    return f"{_number(number)} %"


def _number(number: float) -> str:
    """Whole per cent, or one decimal where there is little."""
    return f"{number:.0f}" if abs(number) >= 10 else f"{number:.1f}"


def _quote_choice(choice: str) -> str:
    return f'"{choice}"' if choice else "any"


def _list_names(workloads: Sequence[str]) -> str:
    return quote(workloads) if len(workloads) <= MOST_NAMES else f"{len(workloads)} workloads"


def _plain(number: float) -> str:
    """Write two digits, without an exponent.

    >>> _plain(19.4), _plain(0.123), _plain(20_400)
    ('19', '0.12', '20,000')
    """
    return f"{float(f'{number:.2g}'):,g}" if abs(number) < 10 else f"{float(f'{number:.2g}'):,.0f}"
