"""Calls a function with parameters from a config file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from eddy.errors import QueryError, quote, unknown_name

Built = TypeVar("Built")


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
