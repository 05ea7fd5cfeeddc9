"""Values that are given as an Arrow array, for whoever asks about the values of a store."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from eddy.predicates.arguments import has_nulls
from eddy.tuples.arrays import RowIds
from eddy.tuples.values import Values


class Given:
    """A column that is an array as it is, and always Arrow's."""

    def __init__(self, array: pa.Array) -> None:
        self.type = array.type
        self._array = array

    @property
    def has_nulls(self) -> bool:
        return has_nulls(self._array)

    def take(self, ids: RowIds) -> pa.Array:
        return self._array.take(pa.array(ids))

    def pick(self, ids: RowIds) -> None:
        """No form but Arrow's."""


def given_values(array: pa.Array) -> Values:
    """All values of an array."""
    return Values(Given(array), np.arange(len(array)))
