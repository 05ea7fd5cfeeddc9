"""Schedules of change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eddy.errors import QueryError
from eddy.jobs.experiments.workloads.drift import drift


@pytest.mark.parametrize(
    ("choice", "weights", "points"),
    [
        ({"kind": "sudden", "at": 2}, [0, 0, 1, 1, 1, 1], (2,)),
        ({"kind": "sudden", "at": 9}, [0, 0, 0, 0, 0, 0], ()),
        ({"kind": "gradual", "start": 1, "end": 5}, [0, 0, 0.25, 0.5, 0.75, 1], (1,)),
        ({"kind": "recurring", "period": 2}, [0, 0, 1, 1, 0, 0], (2, 4)),
    ],
)
def test_a_schedule(choice: dict[str, Any], weights: list[float], points: tuple[int, ...]) -> None:
    schedule = drift(choice, 1, seed=0)
    nothing, everything = np.zeros((1, 1)), np.ones((1, 1))
    assert schedule.mix(nothing, everything, np.zeros(6, np.int64), np.arange(6)).ravel().tolist() == weights
    assert schedule.points(6) == points


def test_permuted_columns_are_the_same_ones_in_another_order() -> None:
    table, zeros = np.array([[0.1, 0.2, 0.3, 0.4]]), np.zeros(6, np.int64)
    schedule, same, other = (drift({"kind": "permuted", "period": 2}, 4, seed=seed) for seed in (7, 7, 8))
    found = schedule.mix(table, table, zeros, np.arange(6))
    assert found[0].tolist() == found[1].tolist() == table[0].tolist()
    assert all(sorted(row) == [0.1, 0.2, 0.3, 0.4] for row in found.tolist())
    assert len({tuple(row) for row in found.tolist()}) == 3
    assert (found == same.mix(table, table, zeros, np.arange(6))).all()
    assert (found[2:] != other.mix(table, table, zeros, np.arange(6))[2:]).any()
    assert (schedule.points(6), schedule.steps(6)) == ((2, 4), (2, 4))


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        ({"kind": "suden", "at": 2}, 'drift: unknown kind "suden"; did you mean "sudden"?'),
        ({"kind": "sudden", "at": -1}, "drift sudden: at: expected a whole number of 0 or more, got -1"),
        ({"kind": "sudden"}, 'drift sudden: expected the parameter "at", got none'),
        ({"kind": "gradual", "start": 5, "end": 5}, "end: expected a whole number of 6 or more, got 5"),
        ({"kind": "gradual", "start": "5", "end": 6}, "start: expected a whole number of 0 or more, got '5'"),
        ({"kind": "recurring", "period": 0}, "period: expected a whole number of 1 or more, got 0"),
        ({"kind": "permuted", "period": 0}, "period: expected a whole number of 1 or more, got 0"),
        ({"kind": "permuted"}, 'drift permuted: expected the parameter "period", got none'),
        ({"kind": "recurring", "periode": 3}, 'unknown parameter "periode"; did you mean "period"?'),
    ],
)
def test_a_wrong_schedule_is_one_clear_error(choice: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError) as raised:
        drift(choice, 3, seed=0)
    assert says in str(raised.value)
