"""Durations as Spark writes them, in microseconds."""

from __future__ import annotations

import re

from eddy.errors import QueryError

MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
"""The units of fixed length; a month or a year has none, so it is refused, as Spark refuses it for a watermark."""

LARGEST = 2**62
"""Durations are added to event times in 64 bits; one that alone nearly fills them is a slip, not a window."""

_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-z]+)")


def duration(text: str, *, where: str) -> int:
    """Read a duration.

    >>> duration("30 seconds", where="window")
    30000000
    >>> duration("interval 1 hour 30 minutes", where="window")
    5400000000
    """
    body = text.strip().lower().removeprefix("interval ").strip()
    parts = _PART.findall(body)
    if not parts or _PART.sub("", body).strip():
        raise QueryError(f'{where}: expected a duration such as "30 seconds" or "1 hour 30 minutes", got "{text}"')
    total = sum(_part(number, unit, text, where) for number, unit in parts)
    if not 0 <= total <= LARGEST:
        raise QueryError(f'{where}: expected a duration of 0 or more and below 146,000 years, got "{text}"')
    return total


def _part(number: str, unit: str, text: str, where: str) -> int:
    scale = MICROSECONDS.get(unit.removesuffix("s"))
    if scale is None:
        units = ", ".join(f"{name}s" for name in MICROSECONDS)
        raise QueryError(f'{where}: "{text}" has the unit "{unit}"; expected one of {units}')
    whole, _, fraction = number.partition(".")
    sign = -1 if whole.startswith("-") else 1
    micros = abs(int(whole)) * scale
    if fraction:
        part, rest = divmod(int(fraction) * scale, 10 ** len(fraction))
        if rest:
            raise QueryError(f'{where}: "{text}" is finer than a microsecond, which is the finest that Spark keeps')
        micros += part
    return sign * micros
