"""Tables of the report and of notebooks.

Every text of data is escaped here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from eddy.comparison.contender import BASELINE, BOUND, CONTROL
from eddy.comparison.readable import digits, percent
from eddy.comparison.summary import SHARES, group_by_workload, summary
from eddy.comparison.turns import MeasuredRow, Traced
from eddy.comparison.verdict import judge_workloads, verdict
from eddy.observe.insight import Regret
from eddy.observe.regret import TITLES as TITLES_OF_ACCOUNTS
from eddy.observe.regret import account_cells, sum_over_time

if TYPE_CHECKING:
    from eddy.comparison.result import Comparison

TITLES = ["policy", "µs a tuple", "time saved %", "calls a tuple", "calls saved %", "one run, s"]
MORE = ["deciding %", "runs"]
MOST_DECISIONS = 8
"""Decisions that are shown of a policy on a workload: the latest."""

BADGES = {BASELINE: "baseline", CONTROL: "A/A control", BOUND: "is told the truth"}
"""The names of roles in tables."""

BOX = "border-left: 5px solid #0b6b4f; padding: 8px 14px; margin: 6px 0"
"""The only look of its own: a notebook has a style for everything else, dark or light."""


@dataclass(frozen=True, kw_only=True)
class TableCell:
    """The text of a cell, its sort key, and a note in small."""

    text: str
    value: float | str | None = None
    small: str = ""
    badge: str = ""
    look: str = ""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A row of a table; `look` says what is special about it."""

    cells: Sequence[TableCell]
    look: str = ""


def table(titles: Sequence[str], lines: Sequence[Line], *, texts: int = 1, sorts: bool = True) -> str:
    """A table whose first columns are texts; its titles sort it.

    >>> print(table(["a"], [Line(cells=[TableCell(text="<b>")])], sorts=False))
    <div class="scroll"><table><thead><tr><th class="text">a</th></tr></thead>
    <tbody><tr><td class="text">&lt;b&gt;</td></tr></tbody></table></div>
    """
    looks = ["text" if number < texts else "" for number in range(len(titles))]
    head = "".join(_head(title, look, sorts) for title, look in zip(titles, looks, strict=True))
    body = "\n".join(_line(line, looks) for line in lines)
    kind = ' class="sorts"' if sorts else ""
    return f'<div class="scroll"><table{kind}><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>'


def _head(title: str, look: str, sorts: bool) -> str:
    inner = f'<button type="button">{escape(title)}</button>' if sorts else escape(title)
    return f"<th{_class(look)}>{inner}</th>"


def _line(line: Line, looks: Sequence[str]) -> str:
    cells = "".join(_cell(cell, look) for cell, look in zip(line.cells, looks, strict=True))
    return f"<tr{_class(line.look)}>{cells}</tr>"


def _cell(cell: TableCell, look: str) -> str:
    value = "" if cell.value is None else f' data-value="{escape(str(cell.value))}"'
    badge = f' <span class="badge">{escape(cell.badge)}</span>' if cell.badge else ""
    small = f'<br><span class="small">{escape(cell.small)}</span>' if cell.small else ""
    return f"<td{_class(f'{look} {cell.look}'.strip())}{value}>{escape(cell.text)}{badge}{small}</td>"


def _class(look: str) -> str:
    return f' class="{escape(look)}"' if look else ""


def policies(rows: Sequence[MeasuredRow], choice: str, *, sorts: bool = True) -> str:
    """Write a line for each policy, on all workloads."""
    lines = [Line(cells=_policy(row), look=_look(row, choice)) for row in summary(rows)]
    return table([*TITLES, *MORE], lines, sorts=sorts)


def workloads(runs: Sequence[MeasuredRow]) -> str:
    """Write a line for each policy on each workload."""
    lines = []
    for workload, part in group_by_workload(runs).items():
        choice = judge_workloads(part)[workload].choice
        lines += [Line(cells=[TableCell(text=workload), *_policy(r)], look=_look(r, choice)) for r in summary(part)]
    return table(["workload", *TITLES, *MORE], lines, texts=2)


def choices(runs: Sequence[MeasuredRow], *, sorts: bool = True) -> str:
    """Write a line for each workload: the choice, and its gain."""
    lines = []
    for workload, part in group_by_workload(runs).items():
        verdict = judge_workloads(part)[workload]
        row = next((row for row in summary(part) if row["policy"] == verdict.choice), None)
        cells = [TableCell(text=workload), TableCell(text=verdict.choice or "not known")]
        if row is None or row["role"] == BASELINE:
            says = "no other is surely quicker" if row is not None else "too few runs"
            cells += [TableCell(text="baseline", value="", small=says), TableCell(text="", value="")]
        else:
            cells += [_write_saved(row, "time"), _write_saved(row, "calls")]
        noise = None if row is None else row["noise_percent"]
        lines.append(Line(cells=[*cells, TableCell(text="" if noise is None else percent(noise), value=noise)]))
    return table(["on this data", "choose", "time saved %", "calls saved %", "noise %"], lines, texts=2, sorts=sorts)


def accounts(traced: Sequence[Traced]) -> str:
    """A line for each stream of a policy that keeps an account; "" if none does."""
    lines = []
    for one in traced:
        columns = [name for name in one.trace.regret if name != "batch"]
        rows = zip(*(one.trace.regret[name] for name in columns), strict=True)
        told = sum_over_time(Regret(**dict(zip(columns, row, strict=True))) for row in rows)
        lines += [Line(cells=[*_name(one), *map(_text, account_cells(account))]) for account in told]
    return table(["workload", "policy", *TITLES_OF_ACCOUNTS], lines, texts=5, sorts=False) if lines else ""


def patterns(rows: Sequence[MeasuredRow]) -> str:
    """Write a line for each access pattern of each workload, with the regret of each policy's indexes."""
    names = list(dict.fromkeys(row["policy"] for row in rows))
    found: dict[tuple[str, str], dict[str, list[MeasuredRow]]] = {}
    for row in rows:
        found.setdefault((row["workload"], row["pattern"]), {}).setdefault(row["policy"], []).append(row)
    lines = []
    for (workload, pattern), by_policy in found.items():
        share = _mean([row["share"] for own in by_policy.values() for row in own])
        cells = [_text(workload), _text(pattern), TableCell(text=f"{share:.1%}", value=share)]
        lines.append(Line(cells=[*cells, *(_regret(by_policy.get(name, [])) for name in names)]))
    return table(["workload", "searched by", "share", *names], lines, texts=2)


def _regret(rows: Sequence[MeasuredRow]) -> TableCell:
    """Write a regret: that in candidates, and in small that in seconds."""
    if not rows:
        return TableCell(text="", value="")
    candidates, seconds = (_mean([row[f"regret_{name}"] for row in rows]) for name in ("candidates", "seconds"))
    return TableCell(text=f"{candidates:.2f}", value=candidates, small=f"{seconds:.2f}")


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def reasons(traced: Sequence[Traced]) -> str:
    """A line for each of the last decisions about a stream; "" if nobody has decided anything."""
    lines = []
    for one in traced:
        told = list(zip(*one.trace.decisions.values(), strict=True))[-MOST_DECISIONS:]
        lines += [
            Line(cells=[*_name(one), _text(str(batch)), *map(_text, (stream, policy or one.policy, reason))])
            for batch, stream, policy, reason in told
        ]
    titles = ["workload", "policy", "micro-batch", "stream", "decided by", "because"]
    return table(titles, lines, texts=len(titles), sorts=False) if lines else ""


def _name(one: Traced) -> list[TableCell]:
    return [_text(one.workload), _text(one.policy)]


def _text(text: str) -> TableCell:
    return TableCell(text=text)


def _look(row: MeasuredRow, choice: str) -> str:
    if row["policy"] == choice:
        return "chosen"
    return str(row["role"]) if row["role"] in (CONTROL, BOUND) else ""


def _policy(row: MeasuredRow) -> list[TableCell]:
    return [
        TableCell(text=str(row["policy"]), badge=BADGES.get(str(row["role"]), "")),
        _write_measured(row, "us_per_tuple"),
        _write_saved(row, "time"),
        _write_measured(row, "calls_per_tuple"),
        _write_saved(row, "calls"),
        _write_measured(row, "seconds"),
        _deciding(row),
        TableCell(text=str(row["runs"]), value=row["runs"]),
    ]


def _deciding(row: MeasuredRow) -> TableCell:
    """Give the part of the time that the policy takes for itself."""
    value = row["deciding_percent"]
    parts = ", ".join(f"{name} {percent(row[f'{name}_percent'])}" for name in SHARES)
    return TableCell(text=percent(value), value=value, small=parts)


def _write_measured(row: MeasuredRow, name: str) -> TableCell:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    spread = "" if low == high else f"{digits(low)} to {digits(high)}"
    return TableCell(text=digits(value), value=value, small=spread)


def _write_saved(row: MeasuredRow, what: str) -> TableCell:
    name = f"{what}_saved_percent"
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if value is None:
        return TableCell(text="", value="")
    if low is None or high is None:
        return TableCell(text=percent(value), value=value)
    noise = row["noise_percent"] if what == "time" and row["noise_percent"] is not None else 0.0
    sure = "good" if low > 0 and value > noise else "bad" if high < 0 and -value > noise else ""
    look = "" if row["role"] == CONTROL else sure
    return TableCell(text=percent(value), value=value, small=f"{percent(low)} to {percent(high)}", look=look)


def note(comparison: Comparison) -> str:
    """The verdict and the summary; the plots are one call away."""
    found = verdict(comparison.runs)
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in found.reasons)
    parts = [f'<div style="{BOX}"><b>{escape(found.headline)}</b><ul>{reasons}</ul></div>']
    if len(group_by_workload(comparison.runs)) > 1:
        parts.append(choices(comparison.runs, sorts=False))
    parts.append(policies(comparison.runs, found.choice, sorts=False))
    return "\n".join(parts)
