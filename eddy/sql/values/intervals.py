"""Texts of day-time intervals to microseconds.

Only day-time intervals exist here: a month has no fixed length, so a window or a difference can never be one.
Each function raises `ValueError` with the reason.
"""

from __future__ import annotations

import re

from eddy.sql.values.calendar import BLANKS

_SECOND = 1_000_000
UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND,
    "MINUTE": 60 * _SECOND,
    "HOUR": 3_600 * _SECOND,
    "DAY": 86_400 * _SECOND,
    "WEEK": 7 * 86_400 * _SECOND,
}
_AMOUNT = re.compile(r"([+-]?)(\d*)(?:\.(\d{0,9}))?", re.ASCII)
_PART = re.compile(r"([+-]?)\s*([\d.]+)\s+([a-z]+)(?:\s+|$)", re.ASCII | re.IGNORECASE)
# So many digits has the largest number of 64 bits.
_MOST_DIGITS = 19
_PREFIX = re.compile(r"interval\s+", re.ASCII | re.IGNORECASE)


def unit(word: str) -> str | None:
    """Find the unit that a word names, in singular or plural.

    >>> unit("seconds"), unit("parsecs")
    ('SECOND', None)
    """
    name = word.upper().removesuffix("S")
    if name in ("MONTH", "YEAR", "QUARTER"):
        raise ValueError(f'intervals of "{word.lower()}" are not supported: they have no fixed length; use days')
    return name if name in UNITS else None


def amount(text: str, name: str) -> int:
    """Give the microseconds in so many of a unit.

    >>> amount("-1.5", "SECOND")
    -1500000
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or not (match[2] or match[3]):
        raise ValueError(f"'{text}' is not a number of {name.lower()}s")
    if match[3] is not None and name != "SECOND":
        raise ValueError(f"only seconds may have a fraction, not {name.lower()}s")
    whole = match[2].lstrip("0")
    if len(whole) > _MOST_DIGITS:
        raise ValueError("the interval does not fit 64 bits of microseconds")
    micros = int(whole or 0) * UNITS[name] + int((match[3] or "").ljust(6, "0")[:6])
    return -micros if match[1] == "-" else micros


def read_units(text: str) -> tuple[int, bool]:
    """Read `5 minutes 3 seconds`: microseconds, and "only days".

    >>> read_units("1 minute 3 seconds"), read_units("2 days")
    ((63000000, False), (172800000000, True))
    """
    body = text.strip(BLANKS)
    prefix = _PREFIX.match(body)
    at, total, whole = prefix.end() if prefix else 0, 0, True
    while at < len(body) or at == 0:
        match = _PART.match(body, at)
        if match is None:
            raise ValueError(f"'{text}' is not an interval; expected a text such as '5 minutes 3 seconds'")
        name = unit(match[3])
        if name is None:
            known = ", ".join(f"{name.lower()}s" for name in UNITS)
            raise ValueError(f'the interval has the unit "{match[3]}"; expected one of {known}')
        total, at = total + amount(match[1] + match[2], name), match.end()
        whole = whole and name in ("DAY", "WEEK")
    return total, whole
