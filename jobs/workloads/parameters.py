"""Parameters from a config file: functions are called with them, and numbers among them checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard, TypeVar

from eddy.errors import QueryError, quote, unknown_name

Built = TypeVar("Built")


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number; `True` is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_number(value: Any, name: str, least: float = 0, *, where: str, most: float | None = None) -> float:
    """Check a number that a user gave.

    >>> check_number(2, "correlation", where="stream_star", most=1)
    Traceback (most recent call last):
    eddy.errors.QueryError: stream_star: correlation: expected a share from 0 to 1, got 2
    """
    if is_number(value) and value >= least and (most is None or value <= most):
        return value
    limits = f"a number of {least:g} or more" if most is None else f"a number from {least:g} to {most:g}"
    told = "a share from 0 to 1" if (least, most) == (0, 1) else limits
    raise QueryError(f"{where}: {name}: expected {told}, got {value!r}")


def call(
    build: Callable[..., Built],
    parameters: Mapping[str, Any],
    *given: object,
    where: str,
    more: tuple[str, ...] = (),
    **own: object,
) -> Built:
    """Call with parameters by name.

    One that is unknown or missing is an error that names it. What is given beside them is the caller's, and no
    parameter may be called the same.
    """
    keywords = [p for p in list(inspect.signature(build).parameters.values())[len(given) :] if p.name not in own]
    known = [p.name for p in keywords]
    for name in parameters:
        if name not in known:
            raise unknown_name("parameter", name, [*known, *more], where=where)
    missing = [p.name for p in keywords if p.default is p.empty and p.name not in parameters]
    if missing:
        raise QueryError(f"{where}: expected the parameter {quote(missing)}, got none")
    return build(*given, **own, **parameters)
