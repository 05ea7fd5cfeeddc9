"""`frame.eddy.where(...)`, for frames of pandas and of Spark, once this module is imported.

>>> import eddy.accessor
>>> import pandas as pd
>>> pd.DataFrame({"km": [12, 190]}).eddy.where("km > 100")
    km
1  190
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from eddy.where import where

NAME = "eddy"
"""The attribute of a frame. Columns of this name are still there in brackets."""


class Accessor:
    """What an eddy can do with a frame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def where(self, *predicates: Any, **options: Any) -> Any:
        """Give the rows for which every predicate is true, as `eddy.where` does."""
        return where(self._frame, *predicates, **options)


def register() -> None:
    """Give frames the attribute; those of Spark where there is Spark."""
    pd.api.extensions.register_dataframe_accessor(NAME)(Accessor)
    try:
        from pyspark.sql import DataFrame  # noqa: PLC0415  it need not be there
    except ImportError:
        return
    setattr(DataFrame, NAME, property(Accessor))


register()
