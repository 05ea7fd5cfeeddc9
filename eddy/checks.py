"""Checks that the parts of a query share while they are being built."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from eddy.duration import LARGEST, duration
from eddy.errors import QueryError


def fill(value: object, name: str, content: object) -> None:
    """Fill a field of a frozen value while it is being built."""
    object.__setattr__(value, name, content)


def named(kind: str, name: object) -> str:
    """Check a name, and give the place that errors speak of."""
    if not isinstance(name, str) or not name.isidentifier():
        raise QueryError(f"{kind}: expected a name of letters, digits and underscores, got {name!r}")
    return f'{kind} "{name}"'


def ticks(length: object, where: str) -> int | float:
    """Read a length of time: microseconds of a duration, or a plain number."""
    if isinstance(length, str):
        return duration(length, where=where)
    if (
        isinstance(length, int | float)
        and not isinstance(length, bool)
        and 0 <= length <= LARGEST
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
