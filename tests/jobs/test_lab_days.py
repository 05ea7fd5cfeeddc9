"""Figure 8: what is learned of a single operator, and the figure of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eddy.jobs.experiments import lab_days
from eddy.jobs.experiments.figures import TABLES, mark
from tests.house import ROOT


def test_the_light_is_foretold_by_day_and_by_other_columns_than_itself() -> None:
    found = lab_days.follow(30_000, batch_rows=500)
    assert len(found) == 60
    assert "light" not in set(found["best"])
    bright = found[found["selectivity"] > 0.3]
    assert (bright["gain ratio"] > 0).mean() > 0.5
    assert found["at"].is_monotonic_increasing
    assert lab_days.shares(found).sum() == pytest.approx(1)


def test_the_published_figure_is_of_the_published_table(tmp_path: Path) -> None:
    shown = ROOT / "docs" / "figures" / "experiment_lab_days.svg"
    assert mark(lab_days.NAME) in shown.read_text("utf-8")
    drawn = lab_days.draw(TABLES, tmp_path).read_text("utf-8")
    assert mark(lab_days.NAME) in drawn
    assert "sensorid" in drawn
