"""A user's Python function as a predicate over Arrow columns.

The function is handed what its annotations ask for: `pd.Series` (as for a pandas_udf, and when it says nothing),
`np.ndarray` or `pa.Array`; with `rowwise` it is called with plain Python values, one row at a time. It must judge each
row by itself: rows come in whatever company the routing gives them.

What it sees of a row does not depend on the rows beside it either. numpy's integers and booleans have no null, and
pandas would turn a whole column into floats or objects for the sake of one; so a row with a null in such a column is
not shown to the function and does not pass, like a row that a strict SQL function answers with null. An `np.ndarray` of
any type is strict in this way. Nested values arrive as Python lists and dicts. Arrow arrays and Python values have
nulls of their own.
"""

from __future__ import annotations

import inspect
import traceback
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from eddy.errors import QueryError, quoted
from eddy.sql import Column

Mask = np.ndarray[Any, np.dtype[np.bool_]]

SERIES, NUMPY, ARROW = "pd.Series", "np.ndarray", "pa.Array"


@dataclass(frozen=True)
class Function:
    """A vectorised or row function, checked against its columns."""

    name: str
    function: Callable[..., Any]
    columns: tuple[Column, ...]
    forms: tuple[str, ...]
    rowwise: bool
    where: str

    @staticmethod
    def of(function: Callable[..., Any], columns: Sequence[str] | None, *, rowwise: bool, where: str) -> Function:
        """Check a function's signature against the columns it is to be called with."""
        if not callable(function):
            raise QueryError(f"{where}: expected a function, got {function!r}")
        name = getattr(getattr(function, "func", function), "__qualname__", type(function).__name__)
        parameters = _parameters(function, where, name)
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = columns if columns is not None else [p.name for p in positional if p.default is p.empty]
        if not names:
            raise QueryError(f'{where}: function "{name}" has no parameter to hand a column to; name them in columns')
        _check_call(function, names, where, name)
        forms = ("python",) * len(names) if rowwise else _forms(function, parameters, len(names), where)
        return Function(name, function, tuple(map(_column, names)), forms, rowwise, where)

    def qualified(self, resolve: Callable[[Column], Column]) -> Function:
        """The same function with each column's stream spelled out."""
        return replace(self, columns=tuple(map(resolve, self.columns)))

    def mask(self, columns: Mapping[Column, pa.Array], rows: int) -> Mask:
        """Call the function; true where a row passes."""
        arrays = [columns[column] for column in self.columns]
        shown = self._shown(arrays, rows)
        if shown is None:
            return self._call(arrays, rows)
        passed = np.zeros(rows, np.bool_)
        if len(shown):
            passed[shown] = self._call([array.take(pa.array(shown)) for array in arrays], len(shown))
        return passed

    def _shown(self, arrays: list[pa.Array], rows: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """The rows without a null that could not be shown as it is; None for all of them."""
        strict = [a for a, form in zip(arrays, self.forms, strict=True) if a.null_count and _is_strict(form, a.type)]
        if not strict:
            return None
        valid = [array.is_valid().to_numpy(zero_copy_only=False) for array in strict]
        return np.flatnonzero(np.logical_and.reduce(valid))

    def _call(self, arrays: list[pa.Array], rows: int) -> Mask:
        try:
            arguments = [FORMS[form](array) for array, form in zip(arrays, self.forms, strict=True)]
            if self.rowwise:
                result: Any = [self.function(*row) for row in zip(*arguments, strict=True)]
            else:
                result = self.function(*arguments)
        except Exception as error:
            raise QueryError(self._failure(error, arrays, rows)) from error
        return self._checked(result, rows)

    def _failure(self, error: Exception, arrays: list[pa.Array], rows: int) -> str:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        own = [f for f in frames if f.filename == getattr(self._code(), "co_filename", None)] or frames
        place = f", at line {own[-1].lineno} of {own[-1].filename}: {own[-1].line}" if own else ""
        types = ", ".join(f"{column} {array.type}" for column, array in zip(self.columns, arrays, strict=True))
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return f'{self.where}: function "{self.name}" raised {text}{place}; it was called with {rows} rows of {types}'

    def _code(self) -> object:
        return getattr(inspect.unwrap(self.function), "__code__", None)

    def _checked(self, result: Any, rows: int) -> Mask:
        """The result as a mask of our own: the function may use its array again."""
        if type(result) is np.ndarray and result.dtype == np.bool_ and result.shape == (rows,):
            return result.copy()
        expected = f'{self.where}: function "{self.name}": expected one boolean for each of {rows} rows'
        if not isinstance(result, pd.Series | np.ndarray | pa.Array | pa.ChunkedArray | list | tuple):
            hint = (
                "return a mask, not a scalar" if np.isscalar(result) or result is None else "return a Series or array"
            )
            raise QueryError(f"{expected}, got {type(result).__name__}; {hint}")
        if len(result) != rows:
            raise QueryError(f"{expected}, got {len(result)}")
        try:
            array = _arrow(result)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise QueryError(f"{expected}, got {_kind(result)}: {error}; make each of them a bool") from error
        if not (pa.types.is_boolean(array.type) or pa.types.is_null(array.type)):
            raise QueryError(f"{expected}, got values of type {array.type}; compare them with something, or use bool()")
        return np.array(array.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _parameters(function: Callable[..., Any], where: str, name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise QueryError(
            f'{where}: function "{name}" does not tell its parameters; wrap it in a Python function'
        ) from None


def _check_call(function: Callable[..., Any], names: Sequence[str], where: str, name: str) -> None:
    try:
        inspect.signature(function).bind(*names)
    except TypeError as error:
        raise QueryError(
            f'{where}: function "{name}" cannot be called with {len(names)} column(s) {quoted(names)}: {error}'
        ) from None


def _forms(
    function: Callable[..., Any], parameters: list[inspect.Parameter], count: int, where: str
) -> tuple[str, ...]:
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


def _column(name: str) -> Column:
    """A column as `name`, `stream.name` or, where the name has a dot itself, stream.`na.me`."""
    stream, dot, column = name.partition(".") if not name.startswith("`") else ("", "", name)
    return Column(stream if dot else None, (column if dot else name).strip("`"))


def _is_strict(form: str, data_type: pa.DataType) -> bool:
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


def _arrow(result: Any) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        return result.combine_chunks()
    return result if isinstance(result, pa.Array) else pa.array(result, from_pandas=True)


def _kind(result: Any) -> str:
    return f"{type(result).__name__} of {result.dtype}" if hasattr(result, "dtype") else type(result).__name__
