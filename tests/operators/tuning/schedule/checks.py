"""What every schedule must do; each check is crossed with every registered one."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest

from eddy.operators.tuning.contracts import Schedule
from eddy.operators.tuning.schedule.registry import SCHEDULES

INPUTS = ["a", "b", "c"]


def make(name: str) -> Schedule:
    return SCHEDULES[name](INPUTS, period=1_000, trigger=2_000)


def searches(rng: np.random.Generator) -> Mapping[str, int]:
    return {name: int(rng.integers(0, 900)) for name in INPUTS}


def check_it_asks(name: str) -> None:
    """Where searches change, it is not silent, and names each input once at most and with a reason."""
    schedule, rng = make(name), np.random.default_rng(1)
    asked: list[tuple[str, str]] = []
    for _ in range(60):
        schedule.note(searches(rng))
        now = schedule.ask()
        assert len({input for input, _ in now}) == len(now)
        assert all(why in SCHEDULES for _, why in now)
        asked += now
    assert {input for input, _ in asked} == set(INPUTS)
    assert 10 <= len(asked) <= 120


def check_nothing_is_asked_before_there_were_searches(name: str) -> None:
    """However often it is asked; and what it has asked is done with."""
    schedule = make(name)
    for _ in range(5):
        schedule.note(dict.fromkeys(INPUTS, 0))
        assert list(schedule.ask()) == []
    schedule.note(dict.fromkeys(INPUTS, 5_000))
    schedule.ask()
    assert list(schedule.ask()) == []


def check_it_goes_on_from_a_snapshot(name: str) -> None:
    """Restored anywhere, it asks as the one that was not stopped."""
    whole, rng = make(name), np.random.default_rng(2)
    for _ in range(30):
        other = make(name)
        other.restore(json.loads(json.dumps(whole.snapshot())))
        noted = searches(rng)
        for one in (whole, other):
            one.note(noted)
        assert list(whole.ask()) == list(other.ask())
        assert whole.snapshot() == other.snapshot()


def check_a_forged_snapshot_is_refused(name: str) -> None:
    """Of other inputs, or of no numbers."""
    for forged in ({}, {"searches": -1}, {"searches": {"a": 1}}, {"searches": 5, "order": ["a", "x", "c"]}):
        with pytest.raises((KeyError, ValueError)):
            make(name).restore(forged)


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
