"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eddy.operators.tuning.schedule.registry import SCHEDULES
from eddy.operators.tuning.settings import SCHEDULES as NAMES
from tests.operators.tuning.schedule.checks import CHECKS, INPUTS, make


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(SCHEDULES))
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


def test_a_user_can_name_each() -> None:
    assert tuple(SCHEDULES) == NAMES


@pytest.mark.parametrize(
    ("name", "times"), [("continuous", [12, 12, 12]), ("periodic", [12, 12, 12]), ("triggered", [0, 0, 0])]
)
def test_a_steady_stream(name: str, times: list[int]) -> None:
    schedule = make(name)
    asked = []
    for _ in range(36):
        schedule.note(dict.fromkeys(INPUTS, 334))
        asked += [input for input, _ in schedule.ask()]
    assert [asked.count(input) for input in INPUTS] == times


def test_the_input_that_has_changed_most_is_assessed() -> None:
    schedule = make("triggered")
    for noted, asked in (
        ((800, 800, 800), []),
        ((700, 800, 900), ["a"]),
        ((700, 800, 880), []),
        ((0, 800, 1_500), ["a"]),
    ):
        schedule.note(dict(zip(INPUTS, noted, strict=True)))
        assert [input for input, _ in schedule.ask()] == asked


def test_whoever_was_assessed_goes_to_the_end_of_the_list() -> None:
    schedule = make("hybrid")
    schedule.note({"a": 300, "b": 300, "c": 300})
    assert schedule.ask() == []
    schedule.note({"a": 700, "b": 700, "c": 700})
    assert schedule.ask() == [("a", "periodic"), ("b", "periodic"), ("c", "periodic")]
    schedule.note({"a": 300, "b": 850, "c": 850})
    assert schedule.ask() == [("a", "triggered"), ("b", "periodic"), ("c", "periodic")]
