"""Searches by comparisons among sorted keys, by halves.

keys   [1 3 7]   begins [0 2 3 4]   order [2 0 1 3]      rows 2 and 0 have the key 1
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from eddy.contracts import Runs
from eddy.kernels.arguments import CodeTable
from eddy.operators.index.structures.contracts import PartRows
from eddy.operators.index.structures.key_map import KeyMap
from eddy.tuples.arrays import Integers, Numbers
from eddy.tuples.request import Request

SIDES: dict[str, Literal["left", "right"]] = {"<": "left", "<=": "right", ">": "right", ">=": "left"}
"""On which side of equal keys a bound falls."""


class OrderedIndex:
    """Finds rows whose key is below, above or between bounds."""

    bits: tuple[int, ...] = ()

    def __init__(self, key_map: KeyMap, part: PartRows) -> None:
        (codes,) = part.codes
        self._keys, self._begins, self.order = sort_rows(codes, part)

    @property
    def nbytes(self) -> int:
        """The bytes that it occupies."""
        return self._keys.nbytes + self._begins.nbytes + self.order.nbytes

    def runs(self, pattern: int) -> Runs:
        """One for each probe."""
        return Runs(1, exact=False)

    def table(self, pattern: int) -> CodeTable | None:
        """Has none."""
        return None

    def search(self, request: Request, probes: slice | Integers) -> tuple[Integers, Integers]:
        """Find the rows whose key is within each probe's bounds."""
        first: Integers = np.zeros(len(request), np.int64)[probes]
        last: Integers = np.full(len(first), len(self.order))
        for op, codes in request.orders:
            wanted = np.searchsorted(self._keys, codes[probes], side=SIDES[op])
            edge = self._begins.take(wanted).astype(np.int64)
            # Several bounds on one key are one run:   keys [1 3 5 7], `> 1` and `<= 5`  ->  [1, 3)
            first, last = (np.maximum(first, edge), last) if op in (">", ">=") else (first, np.minimum(last, edge))
        return first, np.maximum(last - first, 0)

    def trim(self, rows: int) -> bool:
        """Cannot let go of rows: it is as quick to put the others in order."""
        return False

    def extend(self, index: OrderedIndex, first: int) -> bool:
        """Cannot take in another."""
        return False


def sort_rows(codes: Numbers, part: PartRows) -> tuple[Numbers, Numbers, Numbers]:
    """Put the rows of a part that have keys in the order of their codes.

    Gives the codes, each once, where each begins, with one place more than there are codes, and the rows.
    """
    order = np.argsort(codes, kind="stable")
    if part.valid is not None:
        order = order[part.valid.take(order)]
    ordered = codes.take(order)
    new = np.concatenate((np.ones(min(len(ordered), 1), np.bool_), ordered[1:] != ordered[:-1]))
    first = np.flatnonzero(new)
    narrow = np.min_scalar_type(part.rows)
    return ordered.take(first), np.append(first, len(ordered)).astype(narrow), order.astype(narrow)
