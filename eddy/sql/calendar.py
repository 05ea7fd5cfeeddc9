"""One text to one date, timestamp or interval, by Spark's rules.

Spark accepts shortened forms (`2024`, `2024-1`, `2024-1-5 7:30`), a `T` or a blank before the time, up to nine
digits of a fraction of which six count, and a zone at the end.
"""

from __future__ import annotations

import datetime
import re
import zoneinfo

DAY = 86_400_000_000
_FOUR_CENTURIES = 146_097
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DATE = re.compile(r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII)
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?(.*))?)?"
_TIMESTAMP = re.compile(
    rf"([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T](?:{_CLOCK})?)?)?)?",
    re.DOTALL | re.ASCII,
)
_LOWEST = (0, 1, 1, 0, 0, 0)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?", re.ASCII)
# What Spark cuts off both ends of a text.
BLANKS = "".join(map(chr, range(33)))


def days_of(text: str) -> int | None:
    """Read a date as days since 1970; none if it is no date.

    >>> days_of("1970-1-02"), days_of("1970-13-01")
    (1, None)
    """
    match = _DATE.fullmatch(text.strip(BLANKS))
    return None if match is None else _days(*(int(part or 1) for part in match.groups()))


def _days(year: int, month: int, day: int) -> int | None:
    # Four centuries always have the same number of days, so that any year has a twin that `datetime` knows.
    centuries, twin = divmod(year, 400)
    try:
        return datetime.date(2000 + twin, month, day).toordinal() - _EPOCH + (centuries - 5) * _FOUR_CENTURIES
    except ValueError:
        return None


def micros_of(text: str) -> tuple[int, str | None] | None:
    """Read a timestamp as local microseconds and its zone.

    >>> micros_of("1970-01-01 00:00:01.5+02:00"), micros_of("soon")
    ((1500000, '+02:00'), None)
    """
    match = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    *numbers, fraction, zone = match.groups()
    year, month, day, hour, minute, second = (int(part or low) for part, low in zip(numbers, _LOWEST, strict=True))
    days, named = _days(year, month, day), zone_of(zone or "")
    if days is None or named is None or hour > 23 or minute > 59 or second > 59:
        return None
    micros = ((hour * 60 + minute) * 60 + second) * 1_000_000 + int((fraction or "").ljust(6, "0")[:6])
    return days * DAY + micros, named or None


def zone_of(text: str) -> str | None:
    """Write a zone as Arrow knows it; none if it is no zone.

    >>> zone_of("Z"), zone_of("+2"), zone_of("Europe/Oslo"), zone_of("nowhere")
    ('UTC', '+02:00', 'Europe/Oslo', None)
    """
    name = text.strip()
    if name in ("", "Z", "UTC", "GMT", "UT"):
        return name and "UTC"
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign, hours, minutes, _ = offset.groups()
        return f"{sign}{int(hours):02d}:{minutes or '00'}" if int(hours) <= 18 and int(minutes or 0) < 60 else None
    try:
        return zoneinfo.ZoneInfo(name).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None
