"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from operators.registry import OPERATORS
from tests.operators.checks import CHECKS, SAMPLES, Sample


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_contract(name: str, check: Callable[[Sample], None]) -> None:
    check(SAMPLES[name]())


def test_every_operator_has_a_sample() -> None:
    assert set(SAMPLES) == set(OPERATORS)
