"""Durations as Spark writes them, in microseconds."""

from __future__ import annotations

from eddy import sql
from eddy.errors import QueryError
from eddy.sql import intervals

LARGEST = 2**62
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
    micros = _listed(text, where)
    if not 0 <= micros <= LARGEST:
        raise QueryError(f'{where}: expected a duration from 0 to {LARGEST // _DAY} days, got "{text}"')
    return micros


def _listed(text: str, where: str) -> int:
    try:
        if text.strip().lower().startswith("interval"):
            return sql.parse_interval(text, where=where)
        return intervals.listed(text)[0]
    except ValueError as reason:
        expected = 'expected a duration such as "30 seconds" or "1 hour 30 minutes"'
        raise QueryError(f'{where}: {expected}, got "{text}"; {reason}') from None
