"""What a function gave, as a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from eddy.errors import NAME, RowError, shortened, text_of

Mask = np.ndarray[Any, np.dtype[np.bool_]]


def checked(result: Any, rows: int, who: str) -> Mask:
    """The result as a mask of our own, since the function may use its array again; a `RowError` if it is none."""
    if type(result) is np.ndarray and result.dtype == np.bool_ and result.shape == (rows,):
        return result.copy()
    expected = f"{who}: expected one boolean for each of {rows} rows"
    if not isinstance(result, pd.Series | np.ndarray | pa.Array | pa.ChunkedArray | list | tuple):
        hint = "return a mask, not a scalar" if np.isscalar(result) or result is None else "return a Series or array"
        raise _wrong(f"{expected}, got {type(result).__name__}; {hint}", type(result).__name__)
    if len(result) != rows:
        raise _wrong(f"{expected}, got {len(result)}", "another number of rows")
    try:
        array = _arrow(result)
    except Exception as error:  # Arrow looks into objects of the user's, which may raise anything
        told = f"{expected}, got {_kind(result)}: {text_of(error)}; make each of them a bool"
        raise _wrong(told, _kind(result)) from error
    if not (pa.types.is_boolean(array.type) or pa.types.is_null(array.type)):
        hint = "compare them with something, or use bool()"
        raise _wrong(f"{expected}, got values of type {array.type}; {hint}", f"values of type {array.type}")
    return np.array(array.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False), np.bool_)


def _wrong(text: str, got: str) -> RowError:
    """It is the function that is wrong then, so nothing passes over it."""
    return RowError(text, kind=f"gives no mask: {got}", final=True)


def _arrow(result: Any) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        return result.combine_chunks()
    return result if isinstance(result, pa.Array) else pa.array(result, from_pandas=True)


def _kind(result: Any) -> str:
    kind = f"{type(result).__name__} of {result.dtype}" if hasattr(result, "dtype") else type(result).__name__
    return shortened(kind, NAME)
