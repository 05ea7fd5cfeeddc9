"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eddy.contracts import Outcome
from eddy.operators.registry import OPERATORS
from tests.operators.checks import CHECKS, SAMPLES, Sample, a_filter_with_a_memory, a_probe_of_a_crowd

MAKERS = [make for makers in SAMPLES.values() for make in makers]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_contract(make: Callable[[], Sample], check: Callable[[Sample], None]) -> None:
    check(make())


def test_every_operator_has_a_sample() -> None:
    assert set(SAMPLES) == set(OPERATORS)
    assert all(SAMPLES.values())


def _run(sample: Sample) -> Outcome:
    return sample.operator.run(sample.tuples)


def test_a_filter_with_a_memory_evaluates_new_rows_only() -> None:
    sample = a_filter_with_a_memory()
    new = len({row for row in sample.tuples.ids["a"].tolist() if row >= 10})
    assert [_run(sample).evaluated, _run(sample).evaluated] == [new, 0]


def test_a_probe_of_a_crowd_acts_on_some() -> None:
    sample = a_probe_of_a_crowd()
    assert 0 < len(_run(sample).counts) < len(sample.tuples)
