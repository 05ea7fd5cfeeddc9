"""Every index there is."""

from __future__ import annotations

from collections.abc import Callable

from eddy.contracts import Index
from eddy.operators.index.ordered import OrderedIndex
from eddy.operators.index.sorted import SortedIndex

INDEXES: dict[str, Callable[[], Index]] = {
    "sorted": SortedIndex,
    "ordered": OrderedIndex,
}
