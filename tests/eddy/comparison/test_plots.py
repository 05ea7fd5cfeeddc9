"""Plots: all are drawn, name their axes and units, and are told apart without colour."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import eddy
from eddy.comparison.plots.registry import PLOTS
from eddy.comparison.plots.style import MOST_POINTS
from eddy.comparison.result import Comparison
from eddy.policies.registry import POLICIES as REGISTERED
from tests.accounts import Accounted, account
from tests.eddy.comparison.worlds import POLICIES, STAR, comparison, data, query
from tests.house import ROOT


@pytest.fixture(scope="module")
def sized() -> Comparison:
    policies = [*POLICIES, {"name": "source", "label": "$\\frac{$ a"}, {"name": "fixed", "order": ["op3"]}, "accounted"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(REGISTERED, "accounted", Accounted)
        return comparison(batch_rows=[100, 200], windows=[100, 1_000], policies=policies, repeats=1)


OF_JOINS = ("index_bytes", "candidates", "caches")
"""The plots of indexes and caches, which only joins have."""


@pytest.fixture(scope="module")
def joined() -> Comparison:
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(50), delay=0) for name in "stu"]
    asked = eddy.Query(streams=streams, joins=["s.v = t.v", "t.v = u.v"], select=["s.ts"])
    rows = data(1_400)["s"]
    policies: list[Any] = [
        "fixed",
        {"name": "fixed", "index": {"kind": "bits", "bits": 2}},
        "random",
        {"name": "x_join", "tree": "((s t) u)"},
    ]
    return eddy.compare(
        asked, dict.fromkeys("stu", rows), policies, repeats=1, batch_rows=20, drift_points=[1_000], quiet=True
    )


@pytest.fixture(scope="module")
def drawn(sized: Comparison) -> Callable[[str], Figure]:
    """A plot by its name, drawn once: several tests look at one."""
    return cache(sized.plot)


def axes_of(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def test_everything_that_was_measured_has_its_plot(sized: Comparison) -> None:
    assert sized.plots == [name for name in PLOTS if name not in OF_JOINS]
    plain = eddy.compare(query(), data(), ["fixed", "random"], repeats=1, quiet=True)
    assert plain.plots == ["time", "calls", "cost_over_time", "routes_over_time", "selectivity_over_time"]


@pytest.mark.parametrize("name", list(PLOTS))
def test_a_plot_is_drawn_and_says_what_it_shows(drawn: Callable[[str], Figure], joined: Comparison, name: str) -> None:
    figure = joined.plot(name) if name in OF_JOINS else drawn(name)
    figure.savefig(io.BytesIO(), format="svg")
    figures = axes_of(figure)
    assert figures
    bottom = [axes for axes in figures if axes.get_xlabel()]
    assert bottom
    assert any(axes.get_ylabel() for axes in figures) or all(
        tick.get_text() for axes in figures[:1] for tick in axes.get_yticklabels()
    )


@pytest.mark.parametrize(
    "name",
    ["cost_over_time", "regret_over_time", "selectivity_over_time", "gain_ratio_over_time", "batch_size"],
)
def test_lines_differ_by_more_than_colour(drawn: Callable[[str], Figure], name: str) -> None:
    for axes in axes_of(drawn(name)):
        lines = [line for line in axes.get_lines() if line.get_marker() not in ("None", "", "_", "|")]
        assert len({line.get_marker() for line in lines}) == len(lines) > 0


def test_caches_have_a_line_for_each_policy_that_has_some(joined: Comparison) -> None:
    for axes in axes_of(joined.plot("caches")):
        (line,) = [line for line in axes.get_lines() if line.get_marker() not in ("None", "", "_", "|")]
        assert str(line.get_label()).startswith("x_join")
        assert np.nanmax(np.asarray(line.get_ydata(), np.float64)) > 0


@pytest.mark.parametrize("name", OF_JOINS[:2])
def test_indexes_have_a_line_for_each_policy(joined: Comparison, name: str) -> None:
    (axes,) = axes_of(joined.plot(name))
    lines = [line for line in axes.get_lines() if line.get_marker() not in ("None", "", "_", "|")]
    assert [line.get_label() for line in lines] == [
        "fixed",
        "fixed by bits(bits=2)",
        "random",
        "x_join(tree=((s t) u))",
    ]
    assert len({line.get_marker() for line in lines}) == len(lines)
    assert all(len(np.asarray(line.get_xdata())) <= MOST_POINTS for line in lines)
    assert "the data changes here" in [line.get_label() for line in axes.get_lines()]


@pytest.mark.parametrize("name", ["time", "calls"])
def test_bars_differ_by_more_than_colour(drawn: Callable[[str], Figure], name: str) -> None:
    for axes in axes_of(drawn(name)):
        hatches = [str(patch.get_hatch()) for patch in axes.patches]
        assert len(set(hatches)) == len(hatches) == 6


@pytest.mark.parametrize("name", ["cost_over_time", "regret_over_time", "routes_over_time", "selectivity_over_time"])
def test_drift_is_marked(drawn: Callable[[str], Figure], name: str) -> None:
    for axes in axes_of(drawn(name)):
        marked = [line.get_xdata() for line in axes.get_lines() if line.get_label() == "the data changes here"]
        assert [np.asarray(x).tolist() for x in marked] == [[1_000, 1_000]]


def test_what_differs_in_more_than_its_size_has_a_panel_of_its_own(
    sized: Comparison, drawn: Callable[[str], Figure]
) -> None:
    """Else the spread of a size would be that of the windows."""
    titles = [axes.get_title(loc="left") for axes in drawn("batch_size").axes[::2]]
    assert titles == ["stream_star window=Range(100)", "stream_star window=Range(1000)"]
    titles = [axes.get_title(loc="left") for axes in drawn("window_size").axes[::2]]
    assert titles == ["stream_star batch_rows=100", "stream_star batch_rows=200"]
    (line,) = drawn("batch_size").axes[1].get_lines()[:1]
    calls = {
        row["batch_rows"]: row["routing_calls"] / row["tuples"]
        for row in sized.runs
        if (row["policy"], row["window_size"]) == ("fixed", 100)
    }
    assert dict(zip(np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist(), strict=True)) == calls


def test_a_policy_that_is_in_one_panel_only_is_in_the_legend() -> None:
    # Nobody can tell a policy of one attribute what it takes two to tell.
    drifting, steady = {**STAR, "label": "drifting", "spread": "pair"}, {k: v for k, v in STAR.items() if k != "drift"}
    knows = {"name": "knows", "truth": "$truth", "role": "bound", "label": "knows"}
    found = comparison(workload=[drifting, steady], policies=[*POLICIES, knows], repeats=1)
    (shown,) = found.plot("cost_over_time").legends
    assert [text.get_text() for text in shown.get_texts()] == ["fixed", "content", "the data changes here", "knows"]


def test_the_cost_over_time_adds_up_to_the_calls(sized: Comparison) -> None:
    traced = sized.traced[0]
    rows = [row for row in sized.runs if (row["workload"], row["policy"]) == (traced.workload, traced.policy)]
    assert sum(traced.trace.batches["routing_calls"]) == rows[0]["routing_calls"]
    assert sum(traced.trace.operators["rows_in"]) == rows[0]["routing_calls"]
    assert traced.trace.batches["tuples"][-1] == rows[0]["tuples"]
    assert sum(traced.trace.routes["tuples"]) == rows[0]["tuples"]


def test_spent_and_written_are_those_of_the_account(drawn: Callable[[str], Figure]) -> None:
    figure = drawn("regret_over_time")
    assert len(axes_of(figure)) == 4
    for axes, rows in zip(axes_of(figure), (100, 100, 200, 200), strict=True):
        batches = 2_000 // rows
        written, spent = (np.asarray(line.get_ydata()).tolist() for line in axes.get_lines()[:2])
        assert len(written) == batches
        assert written == pytest.approx([2.0 * (n + 1) for n in range(batches)])
        assert spent[-1] == pytest.approx(sum(account("x", n).spent for n in range(batches)))
        assert np.asarray(axes.get_lines()[0].get_xdata()).tolist() == [rows * (n + 1) for n in range(batches)]
        (band,) = axes.collections
        top = max(np.asarray(path.vertices)[:, 1].max() for path in band.get_paths())
        assert top == pytest.approx(written[-1] + 2 * 0.3 * (batches - 1) ** 0.5)


def test_many_micro_batches_are_few_points_and_the_same_sum() -> None:
    run = eddy.run_local(query(), data(), policy=Accounted, batch_rows=1)
    (axes,) = axes_of(eddy.plot_regret(run))
    written, spent = (np.asarray(line.get_ydata()) for line in axes.get_lines()[:2])
    assert len(written) <= MOST_POINTS
    assert written[-1] == pytest.approx(400.0)
    assert spent[-1] == pytest.approx(run.report.regret()["spent"].sum())
    assert axes.get_title(loc="left") == "s"


def test_a_run_without_an_account_has_nothing_to_draw() -> None:
    wrong: Any = 3
    with pytest.raises(eddy.QueryError, match="plot_regret: the policy keeps no account"):
        eddy.plot_regret(eddy.run_local(query(), data(), policy="fixed"))
    with pytest.raises(eddy.QueryError, match=r"plot_regret: expected a run or a Report, got int"):
        eddy.plot_regret(wrong)


WITHOUT = """
import sys
sys.modules["matplotlib"] = None
import eddy
from tests.house import ROOT
from tests.eddy.comparison.worlds import data, query
found = eddy.compare(query(), data(), ["fixed"], repeats=1, quiet=True)
print(found.verdict)
try:
    found.plot("time")
except eddy.QueryError as error:
    print(error)
try:
    eddy.plot_regret(eddy.run_local(query(), data()))
except eddy.QueryError as error:
    print(error)
"""
"""A program for a process in which matplotlib cannot be imported."""


@pytest.mark.process
def test_without_matplotlib_the_error_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, check=True)
    verdict, error, *same = done.stdout.splitlines()
    assert same == [error]
    assert verdict == "There is nothing to compare with."
    assert error.startswith("plots: they need matplotlib, which cannot be imported")
    assert error.endswith('pip install "eddy-spark[plots]"')
