"""Caches of a worker: engines of cells, and modules.

The state row is the truth: a task that is retried, or that another worker takes over, goes on from it. A worker
keeps the engines that it has used last, and takes one of them only if the state row is the very one that this engine
has written.
"""

from __future__ import annotations

import gc
import sys
from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeVar

from eddy.engine import Engine
from eddy.engine.snapshot import Snapshot
from eddy.spark.shipped import Shipped

MOST_ENGINES = 4
"""Engines that a worker keeps. Cells move between workers, so some are outdated, and occupy memory for nothing."""

Identity = tuple[int, str, int]

ENGINES: OrderedDict[tuple[str, int], tuple[Identity, Engine]] = OrderedDict()

Batch = TypeVar("Batch")

SET_ASIDE: set[str] = set()
"""The modules that gc need not look through any more."""


def resume(shipped: Shipped, cell: int, saved: Snapshot | None) -> Engine:
    """Give the engine of a cell as its state says.

    It is not kept until `keep` is called.
    """
    # Taken out of the cache: an engine that fails is of no use any more, and must not be found again.
    identity, found = ENGINES.pop((shipped.token, cell), (None, None))
    if found is not None and saved is not None and identity == _identity(saved):
        return found
    made = shipped.engine(cell)
    if saved is not None:
        made.restore(saved)
    return made


def keep(shipped: Shipped, cell: int, engine: Engine, saved: Snapshot) -> None:
    """Keep an engine whose state has just been written."""
    ENGINES[shipped.token, cell] = (_identity(saved), engine)
    while len(ENGINES) > MOST_ENGINES:
        ENGINES.popitem(last=False)


def freeze_loaded(batches: Iterator[Batch]) -> Iterator[Batch]:
    """Give the same batches, and then freeze all that was loaded.

    Modules stay for the life of the process, so gc looks through them in vain.
    """
    yield from batches
    loaded = set(sys.modules)
    if not loaded <= SET_ASIDE:
        SET_ASIDE.update(loaded)
        # Garbage goes first: what is frozen is never looked at again.
        gc.collect()
        gc.freeze()


def _identity(saved: Snapshot) -> Identity:
    """Tell one state from another.

    The JSON begins with a checksum of everything. A store may have lost the rest.
    """
    return saved.format, saved.meta, len(saved.blob or b"")
