"""The benchmark of the joins runs, on little data, and its contenders find the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import joins, plots, windows, workloads
from benchmarks.workloads import BATCH, COMMON, COMPLETE, CONTRAST, STREAMS, Workload

LITTLE = 300
"""Rows of a micro-batch."""

SMALL = 500
"""Rows of a window, so that many leave it."""

WORKLOADS = [replace(workload, window=SMALL) for workload in (COMPLETE, CONTRAST, COMMON)]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
@pytest.mark.parametrize("order", ["abcd", "dbca"])
def test_all_contenders_find_the_same_results(workload: Workload, order: str) -> None:
    parts = workloads.batches(workload.data(5 * LITTLE), LITTLE)
    contenders = joins.contenders(workload, parts[0], order)
    found = 0
    for batch in parts:
        answers: dict[str, Any] = {name: contender(batch) for name, contender in contenders.items()}
        joins.agree(answers)
        found += len(joins.rows_of(answers[joins.BY_HAND]))
    assert found > 0


@pytest.mark.process
def test_both_kinds_of_kernels_take_turns_over_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "BASE", 500)
    told = list(windows.windows((500, 2_000), counted=1, folder=tmp_path))
    for name in windows.CONTENDERS:
        (line,) = (str(line) for line in told if str(line).startswith(name + " " * (34 - len(name))))
        assert line.endswith(" times")
    assert (tmp_path / "join_windows.svg").exists()


def test_answers_that_differ_are_found() -> None:
    results = {s: np.array([1, 2]) for s in STREAMS}
    joins.agree({"one": results, "two": [pa.table(results).slice(1), pa.table(results).slice(0, 1)]})
    with pytest.raises(AssertionError, match="do not agree: \\['two'\\]"):
        joins.agree({"one": results, "two": pa.table(results).slice(1)})


def test_correlated_keys_say_the_class_and_no_three_classes_meet() -> None:
    rows = 2_000
    data = CONTRAST.data(rows)
    classes = {(s, key): data[s][key] % 5 for key, members in CONTRAST.keys.items() for s in members}
    planted = {s: classes[s, key] == workloads.CLASSES for s, key in classes}
    for s, share in planted.items():
        assert share.mean() == 1 / workloads.PLANTED
        assert all((share == (classes[t, key] == workloads.CLASSES)).all() for t, key in classes if t == s)
    for s, share in planted.items():
        ordinary = np.stack([found[~share] for (t, _), found in classes.items() if t == s], axis=1)
        assert len(np.unique(ordinary, axis=0)) == workloads.CLASSES


def test_small_domains_between_all_but_one_stream_put_that_one_first() -> None:
    dealt = iter([[50_000, 50_000, 50_000, 50, 50, 50], [50, 50, 50_000, 50, 50_000, 50_000]])
    workload = replace(CONTRAST, domains=lambda _: next(dealt), window=200)
    looked = joins._count_candidates(workload, workloads.batches(workload.data(2 * workloads.PHASE)))
    assert [min(looked, key=lambda order: looked[order][phase])[0] for phase in range(2)] == ["a", "d"]
    assert joins._share(looked) < joins.CONTRAST_GOAL


def test_the_best_order_and_its_share() -> None:
    looked = {"ab": [1.0, 9.0], "ba": [5.0, 3.0]}
    assert (joins._best(looked), joins._share(looked)) == ("ba", 0.5)


def test_age_is_told_and_drawn(tmp_path: Path) -> None:
    lines = [str(line) for line in joins.age(20, tmp_path)]
    assert lines[1].startswith(
        f"{float(lines[1].split()[0]):.3f} times that of the second 2, in turns (goal: at most 1.10): "
    )
    assert {file.name for file in tmp_path.iterdir()} == {"joins_age.svg"}


def test_a_figure_is_the_same_when_its_numbers_are(tmp_path: Path) -> None:
    for name in ("one", "two"):
        plots.age(tmp_path / name / "age.svg", [1.0, 2.0, 3.0], {"early": 1.0, "late": 2.0})
    one, two = ((tmp_path / name / "age.svg").read_bytes() for name in ("one", "two"))
    assert one == two
    assert b"<svg" in one


def test_memory_is_told_for_more_policies_than_one() -> None:
    lines = [str(line) for line in joins.memory(5 * BATCH)]
    assert [("policy random" in line, line.endswith((": met", ": missed"))) for line in lines[1:]] == [
        (False, True),
        (True, True),
    ] * 2
