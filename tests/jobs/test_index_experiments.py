"""The experiments of indexes run, and contenders that differ in their indexes only find the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eddy.comparison.compare import run_comparison
from eddy.comparison.runner import Local
from eddy.jobs.experiments.experiment import load

FEW = "index_hash"
"""The one that is run every time; all are in `make soak`."""

FILES = sorted((Path(__file__).resolve().parents[2] / "conf" / "experiments").glob("index_*.toml"))
ROWS = 600


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[] if path.stem == FEW else [pytest.mark.long]) for path in FILES],
)
def test_contenders_find_the_same_by_other_indexes(path: Path) -> None:
    experiment = load(path).shrink()
    found = run_comparison(
        replace(experiment, points=experiment.points[:1], rows=ROWS), Local(), command="", quiet=True
    )
    assert not found.skipped
    labels = {contender.label for contender in experiment.contenders}
    assert {row["policy"] for row in found.runs} == labels | {f"{experiment.baseline.label} (again)"}
    assert len({(row["results"], row["routing_calls"]) for row in found.runs}) == 1
