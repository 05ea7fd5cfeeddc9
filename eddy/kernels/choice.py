"""Which kernels a process uses: those that are compiled, where they can be; chosen once."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import NamedTuple

from eddy.errors import EngineError, QueryError
from eddy.kernels.arguments import ChainKernels, Kernels
from eddy.kernels.plain import PLAIN

VARIABLE = "EDDY_KERNELS"
"""The variable of the environment that says which."""

NAMES = ("numba", "numpy")


class Choice(NamedTuple):
    """The kernels, and why they are not those that were wanted; empty if they are."""

    kernels: Kernels
    note: str


@cache
def choose_kernels() -> Choice:
    """Choose once, and compile what there is to compile."""
    return make_choice(os.environ.get(VARIABLE, ""))


def choose_chains() -> ChainKernels:
    """Give the kernels of chains to who has chains, which nobody has without them."""
    chains = choose_kernels().kernels.chains
    if chains is None:
        raise EngineError("kernels: expected compiled kernels where there are chains, got numpy's")
    return chains


def make_choice(wanted: str) -> Choice:
    """Find the kernels of a name, or else the plain ones.

    >>> make_choice("numpy").kernels.name
    'numpy'
    """
    if wanted not in ("", *NAMES):
        raise QueryError(f'{VARIABLE}: expected "numba" or "numpy", or nothing, got "{wanted}"')
    if wanted == "numpy":
        return Choice(PLAIN, "")
    try:
        return Choice(import_module("eddy.kernels.compiled").COMPILED, "")
    except Exception as error:
        what = (
            "numba is not installed" if isinstance(error, ModuleNotFoundError) else f"{type(error).__name__}: {error}"
        )
        return Choice(PLAIN, f"kernels in numpy: {what}")
