"""How classes are spread, and that nothing else tells them."""

from __future__ import annotations

import numpy as np
import pytest

from eddy.jobs.experiments.workloads.spread import PAIR, SPREADS
from eddy.jobs.experiments.workloads.stream_star import stream_star

ROWS = 50_000


@pytest.mark.parametrize("name", SPREADS)
@pytest.mark.parametrize("classes", [1, 3, 5])
def test_classes_are_as_frequent_as_is_said(name: str, classes: int) -> None:
    spread = SPREADS[name](np.random.default_rng(0), ROWS, classes)
    found = np.bincount(spread.classes, minlength=classes) / ROWS
    assert spread.shares.sum() == pytest.approx(1)
    assert found == pytest.approx(spread.shares, abs=0.01)


def test_a_value_tells_its_class_but_for_the_rarest() -> None:
    spread = SPREADS["poisson"](np.random.default_rng(0), ROWS, 3)
    (column,) = spread.columns.values()
    assert spread.of_value is not None
    known = column < len(spread.of_value)
    assert known.mean() > 0.9999
    assert (spread.of_value[column[known]] == spread.classes[known]).all()


def test_two_attributes_tell_together_what_neither_tells_alone() -> None:
    spread = SPREADS["pair"](np.random.default_rng(0), ROWS, 3)
    one, other = (spread.columns[name] for name in PAIR)
    assert ((one + other) % 3 == spread.classes).all()
    for column in (one, other):
        for value in range(3):
            shares = np.bincount(spread.classes[column == value], minlength=3) / (column == value).sum()
            assert shares == pytest.approx(np.full(3, 1 / 3), abs=0.02)


def test_a_workload_knows_what_its_spread_leaves_to_know() -> None:
    poisson, both = (stream_star(3, {"table": "partitions"}, rows=100, spread=name) for name in ("poisson", "pair"))
    assert poisson.truth is not None
    assert poisson.truth["selectivities"]["op3"] == [0.95, 0.95, *[0.2] * 6]
    assert (both.truth, both.attribute) == (None, None)
    assert sorted(both.best or []) == ["op1", "op2", "op3"]
    assert stream_star(2, [[0.9, 0.1]], rows=10).best == ["op2", "op1"]
