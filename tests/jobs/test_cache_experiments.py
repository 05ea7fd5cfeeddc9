"""The experiments of caches run, and all of their contenders find the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eddy.comparison.compare import run_comparison
from eddy.comparison.runner import Local
from eddy.jobs.experiments.experiment import load
from eddy.query import Range

FEW = "cache_hits"
"""The one that is run every time; all are in `make soak`."""

FILES = sorted((Path(__file__).resolve().parents[2] / "conf" / "experiments").glob("cache_*.toml"))
ROWS, BATCH_ROWS = 3_000, 100
WINDOW = Range(400)

ASKING = {"a cache", "T by (R S)", "R by (S T)"}


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[] if path.stem == FEW else [pytest.mark.long]) for path in FILES],
)
def test_contenders_find_the_same(path: Path) -> None:
    experiment = load(path).shrink()
    few = replace(experiment, points=experiment.points[:1], rows=ROWS, batch_rows=[BATCH_ROWS], windows=[WINDOW])
    found = run_comparison(few, Local(), command="", quiet=True)
    assert not found.skipped
    labels = {contender.label for contender in experiment.contenders}
    assert {row["policy"] for row in found.runs} == labels | {f"{experiment.baseline.label} (again)"}
    results: dict[tuple[str, int], set[int]] = {}
    for row in found.runs:
        results.setdefault((row["workload"], row["seed"]), set()).add(row["results"])
    assert all(len(counts) == 1 for counts in results.values())
    # Who is told to use a cache, or a tree, asks it from the first row on; others may not come to it in so few.
    told = [row for row in found.runs if row["policy"] in ASKING]
    assert all(row["cache_hits"] > 0 and row["cache_bytes"] > 0 for row in told)
