"""Every index there is."""

from __future__ import annotations

from collections.abc import Callable

from eddy.operators.index.structures.contracts import Index, PartRows
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.index.structures.mapped import MappedIndex
from eddy.operators.index.structures.ordered import OrderedIndex
from eddy.operators.index.structures.sorted import SortedIndex

INDEXES: dict[str, Callable[[KeyMap, PartRows], Index]] = {
    "mapped": MappedIndex,
    "ordered": OrderedIndex,
    "sorted": SortedIndex,
}
