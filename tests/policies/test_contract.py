"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.policies.checks import CHECKS, POLICY_NAMES


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", POLICY_NAMES)
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)
