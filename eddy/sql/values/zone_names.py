"""Names of time zones that may stand behind a time of day."""

from __future__ import annotations

import re
import zoneinfo

from eddy.sql.values.faults import zone_of_java

_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d))?", re.ASCII)
_MINUTE = 60_000_000
_MOST_MINUTES = 18 * 60
# What Java's `String.trim` cuts off.
JAVA_BLANKS = "".join(map(chr, range(33)))
# What may mean something to Java alone: its three letters, and offsets such as UTC+2 or +01:02:03.
_OF_JAVA = re.compile(r"[A-Z]{3}|(?:UTC|GMT|UT)?[+-][\d:]+", re.ASCII)
# Java has offsets by these names, and `zoneinfo` places, which had other offsets before 1912.
_OTHERWISE = frozenset({"EST", "HST", "MST"})


def zone_of(text: str) -> str | None:
    """Write a zone as Arrow knows it; none if it is no zone.

    One that Java alone may know is a fault.

    >>> zone_of("Z"), zone_of("+0230"), zone_of("Europe/Oslo"), zone_of("nowhere")
    ('UTC', '+02:30', 'Europe/Oslo', None)
    """
    name = text.strip(JAVA_BLANKS)
    if name in ("", "Z", "UTC", "GMT", "UT"):
        return name and "UTC"
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign, hours, minutes = offset[1], int(offset[2]), int(offset[3] or 0)
        return f"{sign}{hours:02d}:{minutes:02d}" if minutes < 60 and hours * 60 + minutes <= _MOST_MINUTES else None
    if name not in _OTHERWISE:
        try:
            return zoneinfo.ZoneInfo(name).key
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            pass
    if _OF_JAVA.fullmatch(name):
        raise zone_of_java(name)
    return None


def offset_of(zone: str) -> int | None:
    """Give the microseconds of a zone that is an offset.

    >>> offset_of("-01:30"), offset_of("Europe/Oslo")
    (-5400000000, None)
    """
    match = _OFFSET.fullmatch(zone)
    return match and int(f"{match[1]}1") * (int(match[2]) * 60 + int(match[3] or 0)) * _MINUTE
