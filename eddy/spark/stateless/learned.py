"""Where a worker keeps what was learned of a query: in its memory, then in files.

No answer depends on any of it, so what is lost costs time and nothing else. Memory comes first: a worker goes on with
the engine that it has used last for the query, whichever partition's rows come. Spark ends a worker that was idle for
a minute; a new one begins with the file of the partition whose rows it is given, if there is one on its machine, or
else with the sum of what is in the folder that the user names, which outlives the application.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark import SparkFiles

from eddy.engine import Engine
from eddy.engine.remembered import DIGITS, Remembered
from eddy.engine.snapshot_file import resume, write_file
from eddy.spark.shipped import Shipped

MOST_QUERIES = 4
"""Queries of which a worker keeps an engine: it may serve several, and a restarted one is the same."""

SECONDS_BETWEEN_FILES = 10
"""Seconds from one file to the next: writing one takes milliseconds, and a worker that ends has been idle for sixty."""

FOLDER = "eddy-learned"
"""The folder in that of the application on this machine, which Spark removes when the application ends."""


@dataclass
class Kept:
    """An engine, the number by which reports tell it from others, and the time of the last writing.

    The number is that of the partition whose rows it was made for, and so are its files; it stays with them. `begun`
    are files in the folder that is remembered which it has in it.
    """

    engine: Engine
    cell: int
    remembered: Remembered | None
    begun: Sequence[Path] = ()
    written: float = 0.0


ENGINES: OrderedDict[str, Kept] = OrderedDict()


def find(shipped: Shipped, partition: int, remembered: Remembered | None = None) -> Kept:
    """Find what was learned of a query; it is not kept until `keep` is called."""
    # Taken out of the cache: an engine that fails is of no use any more, and must not be found again.
    known = ENGINES.pop(shipped.token, None)
    if known is not None:
        known.remembered = remembered
        return known
    make = partial(shipped.engine, partition)
    engine = resume(make, _find_file(shipped.token, partition))
    if engine is not None or remembered is None:
        return Kept(engine or make(), partition, remembered)
    engine, begun = remembered.begin(make)
    return Kept(engine, partition, remembered, begun)


def keep(shipped: Shipped, kept: Kept) -> None:
    """Keep an engine between two tasks, and now and then write what it has learned."""
    now = time.monotonic()
    if not kept.written or now - kept.written > SECONDS_BETWEEN_FILES:
        kept.written = now
        snapshot = kept.engine.snapshot()
        write_file(_find_file(shipped.token, kept.cell), snapshot)
        if kept.remembered is not None:
            kept.remembered.leave(f"{shipped.token[:DIGITS]}-{kept.cell}", snapshot, kept.begun)
            kept.begun = ()
    ENGINES[shipped.token] = kept
    while len(ENGINES) > MOST_QUERIES:
        ENGINES.popitem(last=False)


def _find_file(token: str, partition: int) -> Path:
    return Path(SparkFiles.getRootDirectory()) / FOLDER / token / f"{partition}.learned"
