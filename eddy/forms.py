"""How a function is handed its columns, by what its annotations ask for."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from eddy.errors import QueryError

SERIES, NUMPY, ARROW = "pd.Series", "np.ndarray", "pa.Array"


def forms_of(
    function: Callable[..., Any], parameters: list[inspect.Parameter], count: int, where: str
) -> tuple[str, ...]:
    """The form of each of so many columns."""
    hints = _hints(function)
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    named = [positional[min(i, len(positional) - 1)].name for i in range(count)]
    return tuple(_form(hints.get(name, pd.Series), name, where) for name in named)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of the parameters; one that cannot be evaluated stays text."""
    target = inspect.unwrap(getattr(function, "func", function))
    if not inspect.isroutine(target):
        target = type(target).__call__
    hints = dict(getattr(target, "__annotations__", {}))
    hints.pop("return", None)
    return {name: _resolved(hint, target) for name, hint in hints.items()}


def _resolved(hint: Any, target: Any) -> Any:
    if not isinstance(hint, str):
        return hint
    holder = type("holder", (), {"__annotations__": {"hint": hint}})
    try:
        return typing.get_type_hints(holder, getattr(target, "__globals__", {}))["hint"]
    except Exception:  # an annotation is any text at all, and ours is only a look at it
        return hint


def _form(hint: Any, parameter: str, where: str) -> str:
    base = typing.get_origin(hint) or hint
    if base is pd.Series or base is typing.Any:
        return SERIES
    if base is np.ndarray:
        return NUMPY
    if isinstance(base, type) and issubclass(base, pa.Array):
        return ARROW
    known = {"Series": SERIES, "ndarray": NUMPY, "NDArray": NUMPY, "Array": ARROW}
    if isinstance(base, str) and base.split("[")[0].rpartition(".")[2] in known:
        return known[base.split("[")[0].rpartition(".")[2]]
    raise QueryError(
        f'{where}: parameter "{parameter}" asks for {hint!r}; expected pd.Series, np.ndarray or pa.Array, '
        "or rowwise=True for a function of plain values"
    )


def is_strict(form: str, data_type: pa.DataType) -> bool:
    """Is there no way to show a null in such a column without changing how its neighbours look."""
    if form == SERIES:
        return pa.types.is_integer(data_type) or pa.types.is_boolean(data_type)
    return form == NUMPY


def _series(array: pa.Array) -> Any:
    if pa.types.is_nested(array.type):
        return pd.Series(array.to_pylist(), dtype=object)
    return (array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array).to_pandas()


def _numpy(array: pa.Array) -> Any:
    if pa.types.is_nested(array.type):
        return np.fromiter(array.to_pylist(), object, len(array))
    return array.to_numpy(zero_copy_only=False)


FORMS: Mapping[str, Callable[[pa.Array], Any]] = {
    SERIES: _series,
    NUMPY: _numpy,
    ARROW: lambda array: array,
    "python": lambda array: array.to_pylist(),
}
"""How a column is handed over, by what was asked for."""
