"""Durations as Spark writes them."""

from __future__ import annotations

import pytest

from eddy.duration import duration
from eddy.errors import QueryError


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("0 seconds", 0),
        ("1 microsecond", 1),
        ("500 milliseconds", 500_000),
        ("1.5 seconds", 1_500_000),
        ("0.000001 seconds", 1),
        ("10 MINUTES", 600_000_000),
        ("  2 hours ", 7_200_000_000),
        ("interval 1 day 2 hours", 93_600_000_000),
        ("1 week -1 day", 6 * 86_400_000_000),
    ],
)
def test_durations(text: str, micros: int) -> None:
    assert duration(text, where="window") == micros


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seconds",
        "10",
        "1 month",
        "2 years",
        "1 second and 2",
        "-1 second",
        "0.0000001 seconds",
        "1e3 s",
        "99999999999 weeks",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(QueryError, match="window: "):
        duration(text, where="window")
