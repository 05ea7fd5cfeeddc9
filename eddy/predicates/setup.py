"""Runs the setups of filters, once in each process.

A `setup` is a function of the user's without parameters, for what is dear to make and the same for all rows: a model
that is loaded, a dictionary that is read. It leaves what it makes where the filter's function finds it, in a global of
its module. Spark keeps its Python workers from one micro-batch to the next, so in each of them it runs once.
"""

from __future__ import annotations

import inspect
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakSet

from eddy.errors import QueryError, describe_error, read_message, write_repr

SetupFunction = Callable[[], Any]

READY: WeakSet[SetupFunction] = WeakSet()
"""The setups that this process has run. A function that workers import is the same one in every query; one that is
sent to them, since it is defined in the job itself, comes with globals of its own, and is another one each time."""

LOCK = threading.Lock()


def check_setup(setup: object, where: str) -> None:
    """Refuse a setup that cannot be called without arguments."""
    if not inspect.isroutine(setup):
        raise QueryError(f"{where}: setup: expected a function, got {write_repr(setup)}")
    try:
        inspect.signature(setup).bind()
    except TypeError as error:
        raise QueryError(
            f'{where}: setup: function "{setup.__qualname__}" cannot be called without arguments: '
            f"{read_message(error)}; it takes none, and leaves what it makes in a global of its module"
        ) from None
    except ValueError:  # one in C that does not tell its parameters
        return


def prepare(setups: Iterable[tuple[str, SetupFunction | None]]) -> None:
    """Run the setups that have not run in this process.

    One that fails is tried again the next time.
    """
    for name, setup in setups:
        if setup is not None and setup not in READY:
            # Looked up again inside: another thread may have run it while this one waited.
            with LOCK:
                if setup not in READY:
                    _run(setup, name)
                    READY.add(setup)


def _run(setup: SetupFunction, filter: str) -> None:
    try:
        setup()
    except Exception as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        place = f", at line {frames[0].lineno} of {frames[0].filename}: {frames[0].line}" if frames else ""
        raise QueryError(
            f'filter "{filter}": setup "{setup.__qualname__}" raised {describe_error(error)}{place}'
        ) from error
