"""All contenders find the same results, and what they cost is told."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import caches, joins
from benchmarks.measure import Ratio
from eddy.jobs.experiments.workloads.joins.chain import chain


@pytest.mark.parametrize("multiplicity", [1, 20])
def test_all_contenders_find_the_same_results(multiplicity: int) -> None:
    made = chain(rows=2_000, window=400, multiplicity=multiplicity, rates="1 1 5")
    parts = caches.cut(made, 20)
    assert sum(part.num_rows for batch in parts for part in batch.values()) == made.tuples
    contenders = {label: caches.contender(made.query, parts[0], *told) for label, told in caches.CONTENDERS.items()}
    found = 0
    for batch in parts:
        answers: dict[str, Any] = {label: run(batch) for label, run in contenders.items()}
        joins.agree(answers)
        found += answers[caches.WITHOUT].num_rows
    assert found > 100


def test_a_comparison_tells_a_ratio_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caches, "BATCH_ROWS", 70)
    said = list(caches.twenty(batches=2))
    assert [line.name for line in said if isinstance(line, Ratio)] == list(caches.CONTENDERS)
