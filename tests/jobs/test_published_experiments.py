"""The experiments of indexes and caches run, and all of their contenders find the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eddy.comparison.compare import run_comparison
from eddy.comparison.result import Comparison
from eddy.comparison.runner import Local
from eddy.jobs.experiments.experiment import load
from eddy.query import Range
from tests.house import ROOT

FEW = ("index_hash", "cache_hits")
"""Those that are run every time; all are in `make soak`."""

ASKING = {"a cache", "T by (R S)", "R by (S T)"}
"""Who is told to use a cache, and so asks it from the first row on; others may not come to it in so few."""


def files(pattern: str) -> list[object]:
    """The experiments whose names begin so, most of them for long runs alone."""
    found = sorted((ROOT / "conf" / "experiments").glob(pattern))
    return [pytest.param(path, id=path.stem, marks=[] if path.stem in FEW else [pytest.mark.long]) for path in found]


def run(path: Path, **sizes: Any) -> Comparison:
    """Run the first point of an experiment; every contender takes part, and so does the control."""
    experiment = load(path).shrink()
    found = run_comparison(replace(experiment, points=experiment.points[:1], **sizes), Local(), command="", quiet=True)
    assert not found.skipped
    labels = {contender.label for contender in experiment.contenders}
    assert {row["policy"] for row in found.runs} == labels | {f"{experiment.baseline.label} (again)"}
    return found


@pytest.mark.parametrize("path", files("index_*.toml"))
def test_contenders_find_the_same_by_other_indexes(path: Path) -> None:
    found = run(path, rows=600)
    assert len({(row["results"], row["routing_calls"]) for row in found.runs}) == 1


@pytest.mark.parametrize("path", files("cache_*.toml"))
def test_contenders_find_the_same_by_caches(path: Path) -> None:
    found = run(path, rows=3_000, batch_rows=[100], windows=[Range(400)])
    results: dict[tuple[str, int], set[int]] = {}
    for row in found.runs:
        results.setdefault((row["workload"], row["seed"]), set()).add(row["results"])
    assert all(len(counts) == 1 for counts in results.values())
    told = [row for row in found.runs if row["policy"] in ASKING]
    assert all(row["cache_hits"] > 0 and row["cache_bytes"] > 0 for row in told)
