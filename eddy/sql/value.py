"""What steps hand each other.

A value is an Arrow array, or a scalar that stands for the same value in every row; constants stay scalars to the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Value = Any  # pa.Array | pa.Scalar
Kernel = Callable[..., Value]
