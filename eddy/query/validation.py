"""Checks of names, texts, lists and durations in a query."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from eddy import sql
from eddy.errors import LONGEST_NAME, QueryError, read_message, shorten
from eddy.sql.values import intervals


def fill(value: object, name: str, content: object) -> None:
    """Fill a field of a frozen value while it is being built."""
    object.__setattr__(value, name, content)


def check_name(kind: str, name: object) -> str:
    """Check a name, and give the place that errors speak of."""
    if not isinstance(name, str) or not name.isidentifier():
        raise QueryError(f"{kind}: expected a name of letters, digits and underscores, got {name!r}")
    return f'{kind} "{name}"'


def read_length(length: object, where: str) -> int | float:
    """Read a length of time.

    It is a duration, in microseconds, or a plain number.
    """
    if isinstance(length, str):
        return duration(length, where=where)
    if (
        isinstance(length, int | float)
        and not isinstance(length, bool)
        and 0 <= length <= LONGEST_DURATION
        and math.isfinite(length)
    ):
        return length
    raise QueryError(f'{where}: expected a duration such as "30 seconds", or a number of 0 or more, got {length!r}')


def texts(value: object, where: str) -> tuple[str, ...]:
    """Check one text or a list of them."""
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Iterable):
        raise QueryError(f"{where}: expected a text or a list of texts, got {value!r}")
    found = tuple(names)
    wrong = [name for name in found if not isinstance(name, str) or not name]
    if wrong or not found:
        raise QueryError(f"{where}: expected one text or more, got {wrong[0] if wrong else value!r}")
    distinct("entry", found, where)
    return found


def members(value: object, member: type, where: str) -> tuple[Any, ...]:
    """Check a list of parts of one kind."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise QueryError(f"{where}: expected a list of {member.__name__}(...), got {value!r}")
    found = tuple(value)
    for one in found:
        if not isinstance(one, member):
            raise QueryError(f"{where}: expected {member.__name__}(...), got {one!r}")
    return found


def distinct(kind: str, names: Iterable[str], where: str) -> None:
    """Check that no name stands twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise QueryError(f'{where}: {kind} "{name}" stands twice; every {kind} needs a name of its own')
        seen.add(name)


LONGEST_DURATION = 2**62
"""Durations are added to event times in 64 bits; one that alone nearly fills them is a slip, not a window."""

_DAY = 86_400_000_000


def duration(text: str, *, where: str) -> int:
    """Read what Spark takes as the delay of a watermark.

    After the word INTERVAL that is any interval of its SQL. A month or a year has no fixed length: Spark counts 31 days
    for a month, here both are refused.

    >>> duration("30 seconds", where="window")
    30000000
    >>> duration("interval 1 hour 30 minutes", where="window")
    5400000000
    """
    micros = _read_units(text, where)
    if not 0 <= micros <= LONGEST_DURATION:
        raise QueryError(f'{where}: expected a duration from 0 to {LONGEST_DURATION // _DAY} days, got "{text}"')
    return micros


def _read_units(text: str, where: str) -> int:
    try:
        if text.strip().lower().startswith("interval"):
            return sql.parse_interval(text, where=where)
        return intervals.read_units(text)[0]
    except ValueError as reason:
        expected = 'expected a duration such as "30 seconds" or "1 hour 30 minutes"'
        got = f'got "{shorten(text, LONGEST_NAME)}"; {read_message(reason)}'
        raise QueryError(f"{where}: {expected}, {got}") from None
