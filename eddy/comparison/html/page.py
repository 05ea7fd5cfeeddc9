"""The report as one page of HTML.

The verdict comes first, then tables and plots, then every setting.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import matplotlib as mpl

from eddy.comparison.contender import BOUND, CONTROL
from eddy.comparison.html.assets import REPORT_STYLE, SCRIPT
from eddy.comparison.html.tables import (
    Line,
    TableCell,
    accounts,
    choices,
    patterns,
    policies,
    reasons,
    table,
    workloads,
)
from eddy.comparison.plots.registry import PLOTS
from eddy.comparison.plots.style import Plot
from eddy.comparison.readable import digits, percent
from eddy.comparison.summary import group_by_workload, summary
from eddy.comparison.verdict import Verdict, verdict
from eddy.observe.text import plural
from eddy.redaction import KeyPath, display

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

RUNNERS = {"local": "run in one process", "spark": "run on Spark"}
"""The names of runners in the report."""

MOST_RUNS_SHOWN = 400
"""Runs that the page lists: all of a usual comparison, and no more than a browser sorts at once."""

INTRODUCTION = (
    "A policy decides in which order each tuple meets filters and joins. All policies gave the same answer, which was "
    "compared in every run; they differ in what it costs."
)
READING = (
    "Saved is what a policy needs less than the baseline, in runs of the same turn, with its 95 % interval; a negative "
    "number is lost. Green is a saving that is more than noise. Small numbers under a median hold the middle half of "
    "the runs. The A/A control is the baseline once more: what it seems to save is noise. Deciding is the part of the "
    "engine's time in which the policy plans and learns."
)
ADAPTING = (
    "Of the first run of each policy that keeps an account. The written order is what the order of the query would "
    "have taken, an estimate with its standard error; saved is what operators took less than that; adapting is what "
    "samples, duels, control and learning took besides. Regret is what all of it took over the written order, in per "
    "cent: below zero adapting has paid."
)
BY_PATTERN = (
    "What searches by each set of columns cost after the change, in times of what they cost with the indexes of who is "
    "told what is to come: candidates, and seconds in small. Share is that of the tuples that search by it."
)
SCALE = 96
"""Pixels of a browser in an inch."""


def page(comparison: Comparison) -> str:
    """Build the whole file.

    Nothing may be fetched from elsewhere, and no script may run but ours: the browser sees to it.
    """
    allowed = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(comparison.name)}: comparison of policies</title><style>{REPORT_STYLE}</style></head>",
            "<body><main>",
            *_sections(comparison),
            f"</main><script>{SCRIPT}</script></body></html>\n",
        ]
    )


def _sections(comparison: Comparison) -> list[str]:
    runs, found = comparison.runs, verdict(comparison.runs)
    several = len(group_by_workload(runs)) > 1
    parts = [_header(comparison), verdict_html(found, runs)]
    if several:
        parts.append(_section("Which policy for which data", "", f'<div class="card">{choices(runs)}</div>'))
    whole = "Every policy, over all workloads" if several else "Every policy"
    parts.append(_section(whole, READING, f'<div class="card">{policies(runs, found.choice)}</div>'))
    if several:
        parts.append(_section("Every policy on every workload", "", f'<div class="card">{workloads(runs)}</div>'))
    parts += _adapting(comparison)
    parts += _regret_by_pattern(comparison)
    pictures = "\n".join(_picture(comparison, name, PLOTS[name]) for name in comparison.plots)
    parts.append(_section("Plots", "", pictures))
    parts += _list_skipped(comparison)
    parts.append(_section("Every run", "", _runs(runs)))
    parts.append(_section("Settings", "", f'<div class="card">{settings(comparison.settings)}</div>'))
    return [*parts, _section("Run it again", "", f"<pre>{escape(_command(comparison.command))}</pre>")]


def _header(comparison: Comparison) -> str:
    runs = comparison.runs
    counts = {name: len({row[name] for row in runs}) for name in ("workload", "seed")}
    others = len({row["policy"] for row in runs if row["role"] not in (CONTROL, BOUND)})
    told = [plural(counts["workload"], "workload"), f"{others} policies to choose from", plural(counts["seed"], "seed")]
    told += [plural(len(runs), "run"), RUNNERS[str(runs[0]["runner"])]]
    return (
        f'<header><p class="kind">Comparison of routing policies</p><h1>{escape(comparison.name)}</h1>'
        f"<p>{escape(INTRODUCTION)}</p><p>{escape(' · '.join(told))}</p></header>"
    )


def verdict_html(found: Verdict, runs: Sequence[Mapping[str, Any]]) -> str:
    """The verdict, and its numbers where there is one choice."""
    look = "verdict measured" if found.measured else "verdict"
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in found.reasons)
    chosen = next((row for row in summary(runs) if row["policy"] == found.choice), None)
    tiles = "" if chosen is None else _tiles(chosen)
    return f'<div class="{look}"><p class="headline">{escape(found.headline)}</p><ul>{reasons}</ul>{tiles}</div>'


def _tiles(row: Mapping[str, Any]) -> str:
    time, calls, noise = row["time_saved_percent"], row["calls_saved_percent"], row["noise_percent"]
    told = [(f"{digits(row['us_per_tuple'])} µs", "a tuple (median)")]
    told += [] if time is None else [(f"{percent(time)} %", "less time than the baseline")]
    told += [] if calls is None else [(f"{percent(calls)} %", "fewer calls of operators")]
    told += [] if noise is None else [(f"± {percent(noise)} %", "is noise: the baseline against itself")]
    tiles = "".join(f'<div class="tile"><b>{escape(b)}</b><span>{escape(text)}</span></div>' for b, text in told)
    return f'<div class="tiles">{tiles}</div>'


def _section(title: str, text: str, inner: str) -> str:
    told = f"<p>{escape(text)}</p>" if text else ""
    return f"<section><h2>{escape(title)}</h2>{told}{inner}</section>"


def _adapting(comparison: Comparison) -> list[str]:
    """What adapting has cost and saved, and the last decisions, behind a click; nothing where nobody tells of it."""
    told, why = accounts(comparison.traced), reasons(comparison.traced)
    shown = f"<details><summary>The last decisions, with their reasons</summary>{why}</details>" if why else ""
    if not told and not shown:
        return []
    title, text = ("What adapting cost and saved", ADAPTING) if told else ("Decisions", "")
    return [_section(title, text, f'<div class="card">{told}{shown}</div>')]


def _regret_by_pattern(comparison: Comparison) -> list[str]:
    """Write what designs of indexes cost after a change, behind a click; nothing where no workload changes."""
    if not comparison.patterns:
        return []
    inner = f"<details><summary>A line for each access pattern</summary>{patterns(comparison.patterns)}</details>"
    return [_section("Regret, pattern by pattern", BY_PATTERN, f'<div class="card">{inner}</div>')]


def _list_skipped(comparison: Comparison) -> list[str]:
    if not comparison.skipped:
        return []
    items = "".join(f"<li>{escape(skip)}</li>" for skip in comparison.skipped)
    return [_section("Who did not apply", "", f'<div class="card"><ul>{items}</ul></div>')]


def _runs(runs: Sequence[Mapping[str, Any]]) -> str:
    """Write the rows, behind a click."""
    names = list(dict.fromkeys(name for row in runs for name in row if name not in ("experiment", "runner")))
    lines = [Line(cells=[_cell(row.get(name)) for name in names]) for row in runs[:MOST_RUNS_SHOWN]]
    left = f"; the first {MOST_RUNS_SHOWN} of {len(runs):,}" if len(runs) > MOST_RUNS_SHOWN else ""
    title = f"One row for each run{left}"
    return (
        f'<div class="card"><details><summary>{escape(title)}</summary>{table(names, lines, texts=2)}</details></div>'
    )


def _cell(value: object) -> TableCell:
    if isinstance(value, float):
        return TableCell(text=f"{value:.4g}", value=value)
    return TableCell(text="" if value is None else str(value))


def _command(command: str) -> str:
    """Without the password of an address in it."""
    return display(("command",), command)[1:-1]


def _picture(comparison: Comparison, name: str, plot: Plot) -> str:
    """Write an image with its drawing in its address.

    Nothing in it can act, and nothing is fetched.
    """
    figure, drawing = plot.draw(comparison), io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": name}):  # the same figures make the same bytes
        figure.savefig(drawing, format="svg", metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
    encoded = base64.b64encode(drawing.getvalue()).decode("ascii")
    width, height = (round(inches * SCALE * 1.32) for inches in figure.get_size_inches())
    source = f"data:image/svg+xml;base64,{encoded}"
    image = f'<img alt="{escape(plot.title)}" width="{width}" height="{height}" src="{source}">'
    text = f"<h3>{escape(plot.title)}</h3><figcaption>{escape(plot.caption)}</figcaption>"
    return f'<div class="card"><figure id="plot-{escape(name)}">{text}{image}</figure></div>'


def settings(values: Mapping[str, Any]) -> str:
    """Write a line for each setting."""
    lines = [
        Line(cells=[TableCell(text=" / ".join(path)), TableCell(text=display(path, value))])
        for path, value in flat(values)
    ]
    return table(["setting", "value"], lines, texts=2)


def flat(values: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Give the settings inside of settings.

    >>> list(flat({"a": {"b": 1}, "c": []}))
    [(('a', 'b'), 1), (('c',), [])]
    """
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, (*path, str(name)))
        else:
            yield (*path, str(name)), value
