"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eddy.operators.tuning.select.registry import SELECTIONS
from eddy.operators.tuning.settings import KINDS
from tests.operators.tuning.select.checks import CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(SELECTIONS))
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


def test_a_user_can_name_each() -> None:
    assert tuple(SELECTIONS) == tuple(name for name, kind in KINDS.items() if kind.chooses)
