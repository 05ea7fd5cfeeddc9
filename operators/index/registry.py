"""Every index there is."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.index.contracts import Index, PartRows
from eddy.operators.index.key_map import KeyMap
from eddy.operators.index.mapped import MappedIndex
from eddy.operators.index.ordered import OrderedIndex
from eddy.operators.index.sorted import SortedIndex

INDEXES: dict[str, Callable[[KeyMap, PartRows], Index]] = {
    "mapped": MappedIndex,
    "ordered": OrderedIndex,
    "sorted": SortedIndex,
}
