"""Draw the figures of docs/experiments.md.

They come from its CSV files: python -m eddy.jobs.experiments.figures.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes

from eddy.comparison.plots.style import figure, fill, legend, line, panels, use_style
from eddy.jobs.experiments.tables import INTERVAL

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
TABLES, FIGURES = DOCS / "experiments", DOCS / "figures"

BARS = (0, 1, 3, 4)
"""The fills of bars; the one of dots between them would make a file ten times as large."""

BAR = 0.8
"""The share of a group's place that its bars take."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What is drawn of a table.

    It is one value by x and by series, or several values by x. `only` says which lines of the table count. `limits` cut
    an axis on which one bar would hide all others.
    """

    x: str
    x_label: str = ""
    values: tuple[str, ...]
    label: str
    series: str = ""
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    lines: bool = False
    limits: tuple[float, float] | None = None


CALLS = "routing calls saved, %"

CHARTS: dict[str, Chart] = {
    "skew": Chart(
        x="skew",
        x_label="skew (left of 0: A < B)",
        values=("calls %",),
        label=CALLS,
        series="operators",
        only={"policy": ["content"]},
        lines=True,
    ),
    "random": Chart(
        x="operators",
        values=("calls %", "paper: calls %"),
        label=CALLS,
        only={"policy": ["content"], "over": ["source, proportional"]},
    ),
    "aggregate": Chart(
        x="aggregate",
        x_label="share of each class that passes everything",
        values=("calls %",),
        label=CALLS,
        series="policy",
        only={"over": ["source, proportional"]},
        lines=True,
    ),
    "adaptivity": Chart(x="workload", values=("calls %",), label=CALLS, series="policy"),
    "cost": Chart(x="workload", values=("calls %", "time %"), label="saved, % (bars are cut at -50)", limits=(-50, 35)),
    "mesh_rate": Chart(
        x="workload",
        values=("rate %",),
        label="output rate gained over the single plan, %",
        series="policy",
        only={"over": ["single plan"]},
    ),
    "flights": Chart(
        x="workload",
        values=("time %",),
        label="time saved of the order as written, %",
        series="policy",
        only={"over": ["as written"]},
    ),
}


def draw(name: str, tables: Path = TABLES, figures: Path = FIGURES) -> Path:
    """Draw the figure of an experiment."""
    chart = CHARTS[name]
    table = pd.read_csv(tables / f"{name}.csv", dtype=str, keep_default_na=False)
    for column, values in chart.only.items():
        table = table[table[column].isin(values)]
    path = figures / f"experiment_{name}.svg"
    # Texts stay texts, and nothing says when it was drawn: the same table is the same file.
    with use_style(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        made = figure(1, height=2.6 if chart.lines else 0.9 + 0.16 * len(_widen(chart, table, "").stack()))
        ((axes,),) = panels(made, 1)
        (_draw_lines if chart.lines else _draw_bars)(axes, chart, table)
        if len(_widen(chart, table, "").columns) > 1:
            legend(made, axes)
        made.savefig(path, metadata={"Date": None, "Description": mark(name, tables)})
    return path


def mark(name: str, tables: Path = TABLES) -> str:
    """Write the text in a figure that tells of which table it is."""
    return f"{name}.csv, CRC-32 {zlib.crc32((tables / f'{name}.csv').read_bytes()):08x}"


def _widen(chart: Chart, table: pd.DataFrame, suffix: str) -> pd.DataFrame:
    """Give a line for each x, and a column for each series.

    NaN stands for what the table does not have.
    """
    columns = [f"{value}{suffix}" for value in chart.values]
    for column in columns:
        table = table.assign(**{column: pd.to_numeric(table.get(column, pd.Series("", table.index)).str.rstrip("%"))})
    if not chart.series:
        return table.set_index(chart.x)[columns].set_axis(list(chart.values), axis=1)
    places, names = table[chart.x].unique(), table[chart.series].unique()
    return table.pivot_table(index=chart.x, columns=chart.series, values=columns[0], dropna=False).reindex(
        index=places, columns=names
    )


def _draw_lines(axes: Axes, chart: Chart, table: pd.DataFrame) -> None:
    found, half = _widen(chart, table, ""), _widen(chart, table, INTERVAL)
    for number, name in enumerate(found.columns):
        known = found[name].dropna()
        places = [float(place) for place in known.index]
        label = f"{name} operators" if chart.series == "operators" else str(name)
        axes.errorbar(places, known, half[name][known.index].fillna(0), label=label, capsize=2, **line(number))
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.label)
    axes.axhline(0, color="#000000", linewidth=0.8)


def _draw_bars(axes: Axes, chart: Chart, table: pd.DataFrame) -> None:
    found, half = _widen(chart, table, ""), _widen(chart, table, INTERVAL)
    each = BAR / len(found.columns)
    for number, name in enumerate(found.columns):
        places = [place - BAR / 2 + each * (number + 0.5) for place in range(len(found))]
        axes.barh(places, found[name], each, xerr=half[name].fillna(0), label=str(name), **fill(BARS[number]))
    unit = f" {chart.x}" if chart.x == "operators" else ""
    axes.set_yticks(range(len(found)), [f"{place}{unit}" for place in found.index])
    axes.invert_yaxis()
    axes.set_xlabel(chart.label)
    axes.axvline(0, color="#000000", linewidth=0.8)
    if chart.limits:
        axes.set_xlim(*chart.limits)


def main() -> int:
    """Draw every figure whose table there is."""
    for name in CHARTS:
        if (TABLES / f"{name}.csv").exists():
            print(draw(name).relative_to(DOCS.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())
