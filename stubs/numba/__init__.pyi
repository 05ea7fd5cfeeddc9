from collections.abc import Callable
from typing import Any

from numba import types as types

__version__: str

def njit(
    *signature: Any, cache: bool = ..., inline: str = ...
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
