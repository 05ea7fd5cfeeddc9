"""Frames of pandas, which is imported when the first of them is made.

Importing pandas takes longer than all of ours, and hardly anything needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from eddy.tuples.arrays import Numbers

if TYPE_CHECKING:
    import pandas as pd


def make_frame(
    rows: Sequence[Any] | Mapping[str, Any], columns: Sequence[str] | None = None, *, as_objects: bool = False
) -> pd.DataFrame:
    """Make a frame of rows, or of columns by name.

    Values stay the Python objects that they are if that is asked for.

    >>> make_frame([[1, "a"]], ["number", "text"]).to_dict("list")
    {'number': [1], 'text': ['a']}
    """
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.DataFrame(rows, columns=None if columns is None else list(columns), dtype=object if as_objects else None)


def put_beside(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames of one index side by side."""
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.concat(list(frames), axis=1)


def make_series(values: Sequence[Any]) -> pd.Series[Any]:
    """Make a Series of Python objects."""
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.Series(values, dtype=object)


def wrap_numbers(numbers: Numbers) -> pd.Series[Any]:
    """Make a Series over an array of numbers, without a copy."""
    import pandas as pd  # noqa: PLC0415  putting this off is what the module is for

    return pd.Series(numbers, copy=False)


def is_frame(value: object) -> TypeGuard[pd.DataFrame]:
    """Tell whether a value is a DataFrame."""
    kind = _find("DataFrame")
    return kind is not None and isinstance(value, kind)


def is_series(value: object) -> TypeGuard[pd.Series[Any]]:
    """Tell whether a value is a Series."""
    kind = _find("Series")
    return kind is not None and isinstance(value, kind)


def is_series_type(kind: object) -> bool:
    """Tell whether an annotation is Series."""
    return kind is not None and kind is _find("Series")


def _find(name: str) -> type | None:
    # None stands for a pandas that was not imported: then nobody can have made or named what it has.
    return getattr(sys.modules.get("pandas"), name, None)
