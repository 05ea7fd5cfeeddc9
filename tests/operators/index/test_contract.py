"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eddy.operators.index.registry import INDEXES
from tests.operators.index.checks import ASKED, CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(INDEXES))
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


def test_every_index_says_what_it_can_be_asked() -> None:
    assert set(ASKED) == set(INDEXES)
