"""Faults: values that a kernel must refuse.

Kernels know values, not texts: the step that runs one knows the text, and turns a fault into a `QueryError` that shows
the place. ANSI's rules make these errors of what would else be a null, so each ends with a way to get the null.
"""

from __future__ import annotations

import pyarrow as pa

_GUARD = "guard it in the same text, as in x <> 0 and ..., since filters run in any order"
_WIDER = f"cast to a wider type, use try_cast for null, or {_GUARD}"


class Fault(Exception):
    """A kernel met values it must refuse."""


class Unlike(Fault):
    """A kernel met values of which Spark makes something else.

    We cannot make the same, so the null of TRY_CAST would be wrong.
    """


# Ours, and Arrow's own for overflow.
FAULTS = (Fault, pa.ArrowInvalid)


def zero_divisor() -> Fault:
    """Build the fault of a division by zero."""
    return Fault(f"division by zero; divide by nullif(x, 0), or {_GUARD}")


def unreadable(text: str, name: str) -> Fault:
    """Build the fault of a string that is no value of a type."""
    return Fault(f"the string '{text}' cannot be cast to \"{name}\"; use try_cast for null, or {_GUARD}")


def clock_only(text: str) -> Fault:
    """Build the fault of a time without a date."""
    reason = f"the string '{text}' is a time without a date, for which Spark takes the day on which it runs"
    return Unlike(f"{reason}; put the date before it, or {_GUARD}")


def no_text() -> Fault:
    """Build the fault of bytes that are no text."""
    return Unlike(f"these bytes are no text in UTF-8; compare them as bytes, as in x = X'FF', or {_GUARD}")


def unfit(what: str, name: str) -> Fault:
    """Build the fault of a number that a type does not hold."""
    return Fault(f'{what} does not fit the type "{name}"; {_WIDER}')


def zone_of_java(name: str) -> Fault:
    """Build the fault of a zone that is none of those that have a place."""
    wanted = "write its place, as in America/Los_Angeles, or its offset, as in -08:00"
    return Unlike(f"the time zone '{name}' is Java's own, and not supported; {wanted}, or {_GUARD}")


def reason(fault: Exception) -> str:
    """Say what was wrong, and what to do, for ours and Arrow's.

    >>> reason(pa.ArrowInvalid("overflow"))
    'overflow; cast to a wider type, ...'
    """
    return str(fault) if isinstance(fault, Fault) else f"{fault}; {_WIDER}"
