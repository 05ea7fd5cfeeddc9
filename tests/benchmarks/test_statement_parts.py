"""What benchmarks of statements measure, on few rows."""

from __future__ import annotations

from benchmarks import statement_parts
from benchmarks.measure import Ratio


def test_windows_that_follow_from_conditions_hold_as_much_as_those_by_hand() -> None:
    lines = list(statement_parts.horizons(rows=4_000, batch=500))
    assert [line.name for line in lines if isinstance(line, Ratio)] == list(statement_parts.WINDOWS)
    assert [str(line).split("  ")[0] for line in lines[-4:]] == list(statement_parts.WINDOWS)
    assert all(str(line).endswith("met") for line in lines[-4:])


def test_one_store_has_fewer_bytes_than_two() -> None:
    lines = list(statement_parts.shared(rows=6_000, batch=500))
    assert [line.name for line in lines if isinstance(line, Ratio)] == list(statement_parts.STORES)
    goals = [str(line) for line in lines if "goal" in str(line)]
    assert len(goals) == 2
    assert all(line.endswith(": met") for line in goals)


def test_the_newest_report_of_each_car_is_stored() -> None:
    _, stored, each = statement_parts.newest(reports=20_000, cars=2_000, batch=200)
    assert str(stored).endswith(": met")
    assert str(each).endswith("microseconds a report")
