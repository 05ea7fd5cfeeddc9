"""Reads one date or timestamp by Spark's rules.

Spark accepts shortened forms (`2024`, `2024-1`, `2024-1-5 7:30`), a `T` or a blank before the time, up to nine
digits of a fraction of which six count, and a zone at the end.
"""

from __future__ import annotations

import datetime
import re

from eddy.sql.values.zone_names import JAVA_BLANKS, zone_of

DAY = 86_400_000_000
_FOUR_CENTURIES = 146_097
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII)
_CLOCK = r"(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d{0,9}))?(.*))?)?"
_TIMESTAMP = re.compile(
    rf"([+-]?\d{{4,6}})(?:-(\d{{1,2}})(?:-(\d{{1,2}})(?:[ T](?:{_CLOCK})?)?)?)?",
    re.DOTALL | re.ASCII,
)
_TIME = re.compile(rf"(?:T|(?=\d{{1,2}}:)){_CLOCK}", re.DOTALL | re.ASCII)
_MOMENT = re.compile(r"(epoch|now|today|tomorrow|yesterday)[ \t]*(.*)", re.DOTALL | re.ASCII | re.IGNORECASE)
_LOWEST = (0, 1, 1, 0, 0, 0)
# What Spark cuts off both ends of a text.
BLANKS = f"{JAVA_BLANKS}\x7f"


def days_of(text: str) -> int | None:
    """Read a date as days since 1970; none if it is no date.

    >>> days_of("1970-1-02"), days_of("1970-13-01")
    (1, None)
    """
    match = _DATE.fullmatch(text.strip(BLANKS))
    days = None if match is None else _days(*(int(part or 1) for part in match.groups()))
    return days if days is not None and -(1 << 31) <= days < 1 << 31 else None


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
    return (days * DAY + micros, named or None) if fits(days * DAY + micros) else None


def moment_of(text: str) -> str | None:
    """Read the name of a moment that Spark knows in constants.

    Gives None for any other text.

    >>> moment_of(" Today UTC"), moment_of("now"), moment_of("soon")
    ('today', 'now', None)
    """
    match = _MOMENT.fullmatch(text.strip(BLANKS))
    if match is None or zone_of(match[2]) is None or (match[2] and match[1].lower() == "now"):
        return None
    return match[1].lower()


def is_clock(text: str) -> bool:
    """Tell whether it is a time without a date.

    >>> is_clock("T12:00"), is_clock("7:30:00Z"), is_clock("12"), is_clock("25:00")
    (True, True, False, False)
    """
    match = _TIME.fullmatch(text.strip(BLANKS))
    if match is None:
        return False
    hour, minute, second, _, zone = match.groups()
    return int(hour) < 24 and int(minute or 0) < 60 and int(second or 0) < 60 and zone_of(zone or "") is not None


def fits(micros: int) -> bool:
    """Tell whether a timestamp can hold so many microseconds.

    >>> fits(1 << 62), fits(1 << 63)
    (True, False)
    """
    return -(1 << 63) <= micros < 1 << 63
