"""Names of time zones that may stand behind a time of day."""

from __future__ import annotations

import re
import zoneinfo

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?:(:?)(\d{1,2})(?:\3(\d{2}))?)?", re.ASCII)
_CANONICAL = re.compile(r"([+-])(\d\d):(\d\d)(?::(\d\d))?", re.ASCII)
_NAME_SECOND = 1_000_000
_MOST_SECONDS = 18 * 3_600
# What Java's `String.trim` cuts off.
_BLANKS = "".join(map(chr, range(33)))
# Java's own three letters, which Spark lets it read.
_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "MST": "-07:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


def zone_of(text: str) -> str | None:
    """Write a zone as Arrow knows it; none if it is no zone.

    Only an offset with seconds is one that Arrow does not know.

    >>> zone_of("Z"), zone_of("+2"), zone_of("PST"), zone_of("+01:02:03"), zone_of("nowhere")
    ('UTC', '+02:00', 'America/Los_Angeles', '+01:02:03', None)
    """
    name = text.strip(_BLANKS)
    if name in ("", "Z", "UTC", "GMT", "UT"):
        return name and "UTC"
    if name in _SHORT:
        return _SHORT[name]
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        return _canonical(*offset.groups())
    try:
        return zoneinfo.ZoneInfo(name).key
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _canonical(sign: str, hours: str, colon: str | None, minutes: str | None, seconds: str | None) -> str | None:
    # Without colons each field has its two digits, or one could not tell them apart; so have minutes before seconds.
    if minutes and ((not colon and len(hours) < 2) or ((seconds or not colon) and len(minutes) < 2)):
        return None
    hour, minute, second = int(hours), int(minutes or 0), int(seconds or 0)
    if minute > 59 or second > 59 or (hour * 60 + minute) * 60 + second > _MOST_SECONDS:
        return None
    return f"{sign}{hour:02d}:{minute:02d}" + (f":{second:02d}" if second else "")


def offset_of(zone: str) -> int | None:
    """Give the microseconds of a zone that is an offset.

    >>> offset_of("-01:02:03"), offset_of("Europe/Oslo")
    (-3723000000, None)
    """
    match = _CANONICAL.fullmatch(zone)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups()
    return int(f"{sign}1") * ((int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)) * _NAME_SECOND
