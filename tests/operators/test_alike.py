"""Tuples that search alike are matched once, and find what each of them finds by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.local import Run
from eddy.operators import matching
from eddy.operators.conditions import Residual
from eddy.predicates.judge import Judged
from eddy.tuples import Lineage, Tuples
from eddy.tuples.alike import FEWEST, find_alike
from tests.tries import fewer

CONDITION = "t.v + s.v < 7"
ROWS = 60


def star(
    seed: int,
    *,
    late: int = 0,
    window: eddy.Range | eddy.Rows | None = None,
    conditions: Sequence[str] = (CONDITION,),
    rows: int = 15,
) -> Run:
    """Rows of t find some of r by a key, and then some of s by the same key and a condition that r has no say in."""
    rng = np.random.default_rng(seed)

    def draw() -> pa.Table:
        ts = np.sort(rng.integers(0, 100, ROWS)) - rng.integers(0, late + 1, ROWS)
        return pa.table({"ts": ts, "k": rng.integers(0, 3, ROWS), "v": rng.integers(0, 10, ROWS)})

    query = eddy.Query(
        streams=[eddy.Stream(n, time="ts", window=window or eddy.Range(30), delay=late) for n in "trs"],
        joins=["t.k = r.k", "t.k = s.k", *conditions],
        select=["t.ts", "t.v", "r.ts as b", "r.v as bv", "s.ts as c", "s.v as cv"],
    )
    data = {name: draw() for name in "trs"}
    policy: Any = {"name": "fixed", "order": ["probe_r", "probe_s", "probe_t"]}
    return eddy.run_local(query, data, policy=policy, batch_rows=rows)


def listed(run: Run) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in run.results.to_pylist())


def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Match each tuple by itself."""
    monkeypatch.setattr(matching, "find_alike", lambda *_: None)


@fewer(4)
@given(
    seed=st.integers(0, 2**32),
    late=st.sampled_from([0, 0, 5, 60]),
    window=st.sampled_from([None, eddy.Rows(9)]),
    most=st.sampled_from([3, 50, 1 << 18]),
    rows=st.sampled_from([15, 40]),
)
def test_they_find_what_each_finds_by_itself(
    seed: int, late: int, window: eddy.Rows | None, most: int, rows: int
) -> None:
    """Also where times tell them apart, and where only so much is matched in one go."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_CANDIDATES", most)
        found = star(seed, late=late, window=window, rows=rows)
        alone(patch)
        assert listed(found) == listed(star(seed, late=late, window=window, rows=rows))


def count_asked(monkeypatch: pytest.MonkeyPatch, run: Any) -> tuple[int, Run]:
    """Count the combinations that conditions are asked about."""
    asked = []
    holds = Residual.holds

    def count(self: Residual, stems: Any, ids: Mapping[str, Any], rows: int) -> Judged:
        asked.append(rows)
        return holds(self, stems, ids, rows)

    with monkeypatch.context() as patch:
        patch.setattr(Residual, "holds", count)
        found = run()
    return sum(asked), found


@pytest.mark.parametrize("late", [0, 60])
def test_a_condition_is_asked_less_often(monkeypatch: pytest.MonkeyPatch, late: int) -> None:
    """And never more often, where times tell tuples apart."""
    once, found = count_asked(monkeypatch, lambda: star(1, late=late))
    alone(monkeypatch)
    each, plain = count_asked(monkeypatch, lambda: star(1, late=late))
    assert listed(found) == listed(plain) != []
    assert once < each
    # What a policy is told of is the same: rows that agree with each tuple.
    assert found.report.operators()["evaluated"].tolist() == plain.report.operators()["evaluated"].tolist()


def test_a_condition_with_no_answer_is_an_error_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    faulty = "10 / (t.v - s.v) < 7"
    with pytest.raises(eddy.EddyError) as together:
        star(1, conditions=[faulty])
    alone(monkeypatch)
    with pytest.raises(eddy.EddyError) as apart:
        star(1, conditions=[faulty])
    assert str(together.value) == str(apart.value)


def test_lots_are_of_rows_that_stand_side_by_side() -> None:
    lineage = Lineage("t", frozenset("tr"), frozenset())
    tuples = Tuples(lineage, {"t": np.array([7, 7, 7, 8, 9, 9]), "r": np.arange(6)})
    found = find_alike(tuples, "t")
    assert found is not None
    assert (found.begins.tolist(), found.lengths.tolist()) == ([0, 3, 4], [3, 1, 2])
    assert found.spread(2).tolist() == [0, 0, 0, 1]
    assert find_alike(tuples, "tr") is None
    assert find_alike(tuples.first(FEWEST - 1), "t") is None
    assert find_alike(tuples.rest(2), "t") is None
