"""The arguments of a user's function, and its mask.

Its annotations say in which form it gets its columns. It sees a null as a function under Spark's `pandas_udf` does
that is shown nothing but this row: NaN among floats, NaT for a point in time or a duration, None among all other
objects. numpy's integers and booleans have no null: a column with one is float64 with NaN, or object with None, and
the rows beside it change with it. So `group_by_nulls` groups rows by which of these columns are null, and each group
has a call of its own.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import LONGEST_NAME, QueryError, RowError, read_message, shorten, write_repr
from eddy.tuples.arrays import Mask, Numbers, RowIds
from eddy.tuples.pandas_frames import is_series, is_series_type, make_series, wrap_numbers
from eddy.tuples.values import Values

SERIES, NUMPY, ARROW = "pd.Series", "np.ndarray", "pa.Array"

BOOL = np.dtype(np.bool_)


def forms_of(
    function: Callable[..., Any], parameters: list[inspect.Parameter], count: int, where: str, *, unsaid: str
) -> tuple[str, ...]:
    """Find the form of each column.

    A parameter without an annotation gets the form `unsaid`.
    """
    hints = _find_hints(function)
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    named = [positional[min(i, len(positional) - 1)].name for i in range(count)]
    return tuple(_find_form(hints[name], name, where) if name in hints else unsaid for name in named)


def group_by_nulls(arrays: Sequence[pa.Array], forms: Sequence[str]) -> Sequence[RowIds] | None:
    """Group the rows by their nulls; each group has its own call.

    Only columns count that have no null of their own in numpy. None stands for a single call with all rows.

    >>> group_by_nulls([pa.array([1, None, 3])], [SERIES])
    [array([0, 2]), array([1])]
    """
    numpys = [array for array, form in zip(arrays, forms, strict=True) if form in (SERIES, NUMPY)]
    strict = [_decode(array) for array in numpys if has_nulls(array) and _has_no_null(array.type)]
    if not strict:
        return None
    nulls = np.stack([array.is_null().to_numpy(zero_copy_only=False) for array in strict], axis=1)
    # All rows are of one kind, so a single call sees what each of them would see alone.
    if (nulls == nulls[0]).all():
        return None
    # A row's nulls as bits are its kind; rows of one kind are put together, in their order:
    #
    #     nulls   a [. x . x]  b [. . . x]      kinds [0 1 0 2]   ->   [0 2] [1] [3]
    _, kinds = np.unique(np.packbits(nulls, axis=1), axis=0, return_inverse=True)
    kinds = kinds.ravel()
    order = np.argsort(kinds, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1)


def mask_complete(arrays: Sequence[pa.Array]) -> Mask | None:
    """Mask the rows without a null in any column; None for all."""
    some = [_decode(array) for array in arrays if has_nulls(array)]
    if not some:
        return None
    found: Mask = np.logical_and.reduce([array.is_valid().to_numpy(zero_copy_only=False) for array in some])
    return found


def check_mask(result: Any, rows: int, who: str) -> Mask:
    """Copy a function's result as a mask.

    The function may use its array again. Raises a `RowError` if the result is no mask.
    """
    # By far the most common result, so it is not sent through Arrow. There is one type of bools, and to compare types
    # takes as long as to copy a thousand of them.
    if type(result) is np.ndarray and result.dtype is BOOL and result.shape == (rows,):
        return result.copy()
    expected = f"{who}: expected one boolean for each of {rows} rows"
    if not (is_series(result) or isinstance(result, np.ndarray | pa.Array | pa.ChunkedArray | list | tuple)):
        hint = "return a mask, not a scalar" if np.isscalar(result) or result is None else "return a Series or array"
        raise _mask_error(f"{expected}, got {type(result).__name__}; {hint}", type(result).__name__)
    if len(result) != rows:
        raise _mask_error(f"{expected}, got {len(result)}", "another number of rows")
    try:
        array = _to_arrow(result)
    except Exception as error:  # Arrow looks into objects of the user's, which may raise anything
        told = f"{expected}, got {_type_text(result)}: {read_message(error)}; make each of them a bool"
        raise _mask_error(told, _type_text(result)) from error
    if not (pa.types.is_boolean(array.type) or pa.types.is_null(array.type)):
        hint = "compare them with something, or use bool()"
        raise _mask_error(f"{expected}, got values of type {array.type}; {hint}", f"values of type {array.type}")
    return np.array(array.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _find_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Read the annotations of the parameters.

    One that cannot be evaluated stays text.
    """
    target = inspect.unwrap(getattr(function, "func", function))
    if not inspect.isroutine(target):
        target = type(target).__call__
    hints = dict(getattr(target, "__annotations__", {}))
    hints.pop("return", None)
    return {name: _resolve(hint, target) for name, hint in hints.items()}


def _resolve(hint: Any, target: Any) -> Any:
    if not isinstance(hint, str):
        return hint
    holder = type("holder", (), {"__annotations__": {"hint": hint}})
    try:
        return typing.get_type_hints(holder, getattr(target, "__globals__", {}))["hint"]
    except Exception:  # an annotation is any text at all, and ours is only a look at it
        return hint


def _find_form(hint: Any, parameter: str, where: str) -> str:
    base = typing.get_origin(hint) or hint
    # From Python 3.12 on an alias is a name of its own, as `NDArray` is of numpy's from 2.5 on.
    meant = getattr(base, "__value__", base)
    base = typing.get_origin(meant) or meant
    if is_series_type(base) or base is typing.Any:
        return SERIES
    if base is np.ndarray:
        return NUMPY
    if isinstance(base, type) and issubclass(base, pa.Array):
        return ARROW
    known = {"Series": SERIES, "ndarray": NUMPY, "NDArray": NUMPY, "Array": ARROW}
    # An annotation that stayed text, since the module imports its names for type checkers only.
    if isinstance(base, str) and base.split("[")[0].rpartition(".")[2] in known:
        return known[base.split("[")[0].rpartition(".")[2]]
    asked = shorten(inspect.formatannotation(hint), LONGEST_NAME) if isinstance(hint, type) else write_repr(hint)
    raise QueryError(
        f'{where}: parameter "{parameter}" asks for {asked}; expected pd.Series, np.ndarray or pa.Array, '
        "or rowwise=True for a function of plain values"
    )


def has_nulls(array: pa.Array) -> bool:
    """Tell whether a value may be null.

    A null may be among the words of a dictionary as well.
    """
    return bool(array.null_count or (isinstance(array, pa.DictionaryArray) and array.dictionary.null_count))


def _has_no_null(data_type: pa.DataType) -> bool:
    """Tell whether numpy has no null for such values."""
    values = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    return pa.types.is_integer(values) or pa.types.is_boolean(values)


def _decode(array: pa.Array) -> pa.Array:
    """Give the values that a dictionary stands for."""
    return array.dictionary_decode() if isinstance(array, pa.DictionaryArray) else array


def _to_series(values: Values) -> Any:
    numbers = values.numbers()
    if numbers is not None:
        return wrap_numbers(numbers)
    array = values.arrow()
    if pa.types.is_nested(array.type):
        return make_series(array.to_pylist())
    return _decode(array).to_pandas()


def _to_numpy(values: Values) -> Any:
    numbers = values.numbers()
    if numbers is not None:
        return numbers
    array = values.arrow()
    if pa.types.is_nested(array.type):
        # numpy would make one array of two dimensions of lists that are equally long.
        return np.fromiter(array.to_pylist(), object, len(array))
    return _decode(array).to_numpy(zero_copy_only=False)


FORMS: Mapping[str, Callable[[Values], Any]] = {
    SERIES: _to_series,
    NUMPY: _to_numpy,
    ARROW: Values.arrow,
    "python": lambda values: values.arrow().to_pylist(),
}
"""The conversion of a column to each form."""

FROM_NUMBERS: Mapping[str, Callable[[Numbers], Any] | None] = {SERIES: wrap_numbers, NUMPY: None}
"""The conversion of numbers to the forms that can be made of them; None where they go as they are."""


def _mask_error(text: str, got: str) -> RowError:
    """Make the error for a wrong result.

    The function is at fault, and no row, so `on_error` does not pass over it.
    """
    return RowError(text, kind=f"gives no mask: {got}", final=True)


def _to_arrow(result: Any) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        return result.combine_chunks()
    return result if isinstance(result, pa.Array) else pa.array(result, from_pandas=True)


def _type_text(result: Any) -> str:
    kind = f"{type(result).__name__} of {result.dtype}" if hasattr(result, "dtype") else type(result).__name__
    return shorten(kind, LONGEST_NAME)
