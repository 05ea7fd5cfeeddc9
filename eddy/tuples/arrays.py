"""Names for the arrays that travel between rooms."""

from __future__ import annotations

from typing import Any

import numpy as np

Integers = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]

Numbers = np.ndarray[Any, Any]
"""Numbers of any type."""

Hashes = np.ndarray[Any, np.dtype[np.uint64]]

Tags = np.ndarray[Any, np.dtype[np.uint32]]
"""The first bits of hashes."""

RowIds = Integers
"""Rows of one STeM; they hold for one micro-batch."""

Mask = np.ndarray[Any, np.dtype[np.bool_]]

Valid = Mask | None
"""The rows that have a value; None for all of them."""

KeyCodes = np.ndarray[Any, Any]
"""Values of a key as 64-bit codes: equal values have equal codes."""

FaultCodes = np.ndarray[Any, np.dtype[np.uint8]]
"""The fault of each row, as a number of `Faults`; 0 for none."""

ROWS_PER_LOT = 1 << 13
"""Results are gathered in lots of this many: each gather has a price of its own, and each lot a size."""
