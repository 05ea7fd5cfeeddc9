"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eddy.operators.tuning.migrate.registry import MIGRATIONS
from eddy.operators.tuning.settings import MIGRATIONS as NAMES
from tests.operators.tuning.migrate.checks import CHECKS, PARTS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(MIGRATIONS))
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


def test_a_user_can_name_each() -> None:
    assert tuple(MIGRATIONS) == NAMES


@pytest.mark.parametrize(("name", "numbers"), [("none", []), ("all", [9, 7, 4]), ("partial", [9, 4])])
def test_which_parts_are_migrated(name: str, numbers: list[int]) -> None:
    assert [part.number for part in MIGRATIONS[name]().choose(PARTS)] == numbers
