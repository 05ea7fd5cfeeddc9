"""What a worker has loaded is no garbage.

After every task a Python worker of Spark looks for garbage among all objects that it has. Those of the modules alone,
80,000 with pandas and ours, take it 45 ms of a core each time, and a micro-batch of four streams has a dozen tasks. So
what is there once a step has been through is left out of that search, until more modules have been loaded.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import TypeVar

Batch = TypeVar("Batch")

SET_ASIDE: set[str] = set()
"""The modules that this process need not look through any more."""


def settled(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches; when they are over, all that was loaded for them is set aside."""
    yield from batches
    loaded = set(sys.modules)
    if not loaded <= SET_ASIDE:
        SET_ASIDE.update(loaded)
        gc.collect()
        gc.freeze()
