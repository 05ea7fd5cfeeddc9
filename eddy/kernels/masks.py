"""What pairs of a tuple and a stored row agree in, as masks."""

from __future__ import annotations

import numpy as np

from eddy.kernels.arguments import Term
from eddy.tuples.arrays import Mask, RowIds

COMPARE = {"=": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}


def mask_term(term: Term, at: RowIds, rows: RowIds) -> Mask:
    """Mask the pairs of a tuple and a row whose codes compare as asked."""
    mask: Mask = COMPARE[term.op](term.own.take(rows), term.wanted.take(at))
    if term.valid is not None:
        mask &= term.valid.take(rows)
    if term.known is not None:
        mask &= term.known.take(at)
    return mask
