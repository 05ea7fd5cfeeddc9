"""Draw figure 8: query Q1 over three days of Lab.

Which attribute foretells best whether the light is above 500 lux, as time goes by: python -m
eddy.jobs.experiments.lab_days. The query has one operator, so `content` is asked to learn what it cannot use.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

import eddy
from eddy.comparison.plots.style import figure, line, panels, use_style
from eddy.jobs.experiments.figures import DOCS, FIGURES, TABLES, mark
from eddy.jobs.experiments.workloads.lab import EPOCH_SECONDS, HEARD_SHARE, SENSORS, lab

NAME = "lab_days"
DAYS = 3
DAY_SECONDS = 86_400
ROWS = round(DAYS * DAY_SECONDS / EPOCH_SECONDS * SENSORS * HEARD_SHARE)
"""As many readings as arrive in three days."""

BATCH_ROWS = 1_000
NAMED = ("sensorid", "hour")
"""The attributes that the paper's figure names; the rest are "all others"."""

OTHERS, NONE = "all others", ""
PLACES = (*NAMED, OTHERS)
HEIGHT = 1.4


def follow(rows: int = ROWS, *, batch_rows: int = BATCH_ROWS, seed: int = 0) -> pd.DataFrame:
    """Run the query, and tell of each micro-batch what was learned.

    Columns that the operator reads itself are left out, as they foretell it by being its input.
    """
    workload = lab(query="q1", rows=rows, days=DAYS, seed=seed)
    attributes = workload.list_facts()["$others"]
    policy = {"name": "content", "profile": True, "costs": "unit", "attributes": attributes}
    report = eddy.run_local(workload.query, workload.data, policy=policy, batch_rows=batch_rows, seed=seed).report
    passed = report.operators(by_batch=True).set_index("batch")["rate"]
    found = pd.DataFrame({"selectivity": passed.round(4), "best": NONE, "gain ratio": 0.0})
    learned = report.learning()
    learned = learned[learned["kind"] == "classified"].sort_values("calls").groupby("batch").tail(1).set_index("batch")
    names = learned["attribute"].str.partition(".")[2]
    found.loc[learned.index, "best"] = names
    found.loc[learned.index, "gain ratio"] = learned["gain_ratio"].round(4)
    at = workload.data["sensors"].column("at").to_numpy()
    found.insert(0, "at", at[np.minimum(found.index * batch_rows, rows - 1)])
    return found


def shares(found: pd.DataFrame) -> pd.Series[float]:
    """Tell for which share of the time each attribute was the best.

    >>> shares(pd.DataFrame({"best": ["hour", "", "voltage", "hour"]})).to_dict()
    {'sensorid': 0.0, 'hour': 0.5, 'all others': 0.25, '': 0.25}
    """
    named = found["best"].where(found["best"].isin([*NAMED, NONE]), OTHERS)
    return named.value_counts(normalize=True).reindex([*PLACES, NONE], fill_value=0.0)


def draw(tables: Path = TABLES, figures: Path = FIGURES) -> Path:
    """Draw the table: selectivity, best attribute, gain ratio."""
    found = pd.read_csv(tables / f"{NAME}.csv", parse_dates=["at"], keep_default_na=False)
    path = figures / f"experiment_{NAME}.svg"
    with use_style(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": NAME}):
        made = figure(3, height=HEIGHT)
        ((top,), (middle,), (bottom,)) = panels(made, 1, rows=3, sharex="col")
        hours = (found["at"] - found["at"].dt.normalize().iloc[0]).dt.total_seconds() / 3_600
        top.plot(hours, found["selectivity"] * 100, **line(0))
        top.set_ylabel("% above 500 lux")
        _draw_best(middle, hours, found["best"])
        bottom.plot(hours, found["gain ratio"], **line(1))
        bottom.set_ylabel("its gain ratio")
        bottom.set_xlabel("hours since midnight of the first day")
        for axes in (top, middle, bottom):
            for curve in axes.lines:
                curve.set_marker("")
        made.savefig(path, metadata={"Date": None, "Description": mark(NAME, tables)})
    return path


def _draw_best(axes: Axes, hours: pd.Series[float], best: pd.Series[str]) -> None:
    """Draw a row for each attribute, black where it is the best."""
    width = float(hours.diff().median())
    for place, name in enumerate(PLACES):
        is_best = best == name if name in NAMED else ~best.isin([*NAMED, NONE])
        axes.broken_barh([(start, width) for start in hours[is_best]], (place - 0.4, 0.8), facecolor="#000000")
    axes.set_yticks(range(len(PLACES)), list(PLACES))
    axes.set_ylim(len(PLACES) - 0.5, -0.5)


def main() -> int:
    """Run it, and write the table and the figure."""
    found = follow()
    found.to_csv(TABLES / f"{NAME}.csv", index=False, lineterminator="\n")
    print(draw().relative_to(DOCS.parent))
    for name, share in shares(found).rename({NONE: "none"}).items():
        print(f"{name}: {share:.0%} of the time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
