"""The key of a run: everything that it depends on.

Runs of another setting are not mixed in.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from types import CodeType
from typing import Any

from eddy.comparison.answer import digest_in_order
from eddy.comparison.workload import Workload
from eddy.query import Filter, Query
from eddy.query.filter import SHOW, write_after

PACKAGES = ("numpy", "pandas", "pyarrow", "pyspark")

PLAIN_TYPES = (bool, int, float, str, bytes, type(None))
"""Values of which a text says all there is."""


def key(parts: Mapping[str, Any]) -> str:
    """Give a short name for everything that a run depends on."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def machine() -> dict[str, Any]:
    """Give the machine and libraries of a run.

    Seconds of another one are not comparable.
    """
    versions = {name: _version(name) for name in PACKAGES}
    return {"python": platform.python_version(), **versions, "system": platform.platform(), "cores": os.cpu_count()}


def query_text(query: Query) -> dict[str, Any]:
    """Write a query as plain values.

    Of a function it has the name and the code.
    """
    return {
        "name": query.name,
        "streams": [
            f"{s.name} by {s.time or 'no time'}, {s.window}, delay {s.delay}, ahead {s.max_ahead}"
            + ("" if s.arrived is None else f" of {s.arrived}")
            + (f", rows of {s.origin}" if len(query.list_names(s.name)) > 1 else "")
            for s in query.streams
        ],
        "tables": [table.name for table in query.tables],
        "joins": list(query.joins),
        "semi": list(query.semi),
        "anti": list(query.anti),
        "filters": {f.name: _filter(f) for f in query.filters},
        "select": None if query.select is None else list(query.select),
        "cross": query.cross,
        "max_fanout": query.max_fanout,
        **({"emit": str(query.emit)} if query.own_time is not None else {}),
    }


def data_text(workload: Workload) -> dict[str, Any]:
    """Write the inputs of a query: their columns and every value."""
    return {
        name: {"columns": dict(zip(t.schema.names, map(str, t.schema.types), strict=True)), "rows": digest_in_order(t)}
        for name, t in workload.data.items()
    }


def _filter(asked: Filter) -> str:
    on = ", ".join(asked.on) + write_after(asked)
    if asked.function is None:
        return f"on {on}: {asked.where}"
    columns = "its parameters" if asked.columns is None else ", ".join(asked.columns)
    nulls = "" if asked.nulls == SHOW else f", nulls {asked.nulls}"
    return f"on {on}: function of {columns}{nulls}, {code_text(asked.function)}"


def code_text(function: Callable[..., Any]) -> str:
    """Write a function's name and a digest of its code.

    The digest covers the plain values that it closes over. What it reads from elsewhere is not seen: a module's
    variable, a file, a model.

    >>> code_text(lambda v: v > 1) == code_text(lambda v: v > 1)
    True
    >>> code_text(lambda v: v > 1) == code_text(lambda v: v > 2)
    False
    """
    own = inspect.unwrap(getattr(function, "func", function))
    code = getattr(own, "__code__", None)
    name = getattr(own, "__qualname__", type(own).__name__)
    if code is None:
        return f"{name}"
    cells = [cell.cell_contents for cell in getattr(own, "__closure__", None) or ()]
    held = [repr(value) if isinstance(value, PLAIN_TYPES) else type(value).__name__ for value in cells]
    defaults = [repr(value) for value in getattr(own, "__defaults__", None) or () if isinstance(value, PLAIN_TYPES)]
    told = repr((_code(code), held, defaults))
    return f"{name.rpartition('<locals>.')[2]} {hashlib.sha256(told.encode()).hexdigest()[:12]}"


def class_text(kind: type) -> str:
    """Write a class's name and a digest of its methods' code.

    A class that is being written changes from run to run.
    """
    own = [getattr(value, "fget", None) or getattr(value, "__func__", value) for value in vars(kind).values()]
    told = [code_text(value) for value in own if hasattr(value, "__code__")]
    return f"{kind.__qualname__} {hashlib.sha256(repr(told).encode()).hexdigest()[:12]}"


def _code(code: CodeType) -> tuple[Any, ...]:
    """Give the code of a function, and of functions inside of it."""
    inner = [_code(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, code.co_names, tuple(inner)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
