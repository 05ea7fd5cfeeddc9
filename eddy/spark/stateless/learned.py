"""Where a worker keeps what was learned of a query: in its memory, then in a file.

No answer depends on any of it, so what is lost costs time and nothing else. Memory comes first: a worker goes on with
the engine that it has used last for the query, whichever partition's rows come. Spark ends a worker that was idle for
a minute; a new one begins with the file of the partition whose rows it is given, if there is one on its machine.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkFiles

from eddy.engine import Engine
from eddy.engine.snapshot import FORMAT, Snapshot
from eddy.errors import CheckpointError, read_message, warn
from eddy.spark.shipped import Shipped

MOST_QUERIES = 4
"""Queries of which a worker keeps an engine: it may serve several, and a restarted one is the same."""

SECONDS_BETWEEN_FILES = 10
"""Seconds from one file to the next: writing one takes milliseconds, and a worker that ends has been idle for sixty."""

FOLDER = "eddy-learned"
"""The folder in that of the application on this machine, which Spark removes when the application ends."""

MARK = b"edl1"
"""The first bytes of a file, with the number of its format; Snapshot has a checksum of the rest."""

LENGTH_BYTES = 8


@dataclass
class Kept:
    """An engine, the number by which reports tell it from others, and when its file was written."""

    engine: Engine
    cell: int
    written: float


ENGINES: OrderedDict[str, Kept] = OrderedDict()


def find(shipped: Shipped, partition: int) -> Kept:
    """Find what was learned of a query; it is not kept until `keep` is called."""
    # Taken out of the cache: an engine that fails is of no use any more, and must not be found again.
    known = ENGINES.pop(shipped.token, None)
    if known is not None:
        return known
    engine = shipped.engine(partition, time.perf_counter)
    file = _find_file(shipped.token, partition)
    try:
        if (saved := read_file(file)) is not None:
            engine.restore(saved)
    except CheckpointError as error:
        warn(f"where: what was learned cannot be read from {file}, and is learned anew: {read_message(error)}")
        engine = shipped.engine(partition, time.perf_counter)
    return Kept(engine, partition, 0.0)


def keep(shipped: Shipped, partition: int, kept: Kept) -> None:
    """Keep an engine between two tasks, and now and then write what it has learned."""
    now = time.monotonic()
    if not kept.written or now - kept.written > SECONDS_BETWEEN_FILES:
        kept.written = now
        write_file(_find_file(shipped.token, partition), kept.engine.snapshot())
    ENGINES[shipped.token] = kept
    while len(ENGINES) > MOST_QUERIES:
        ENGINES.popitem(last=False)


def write_file(file: Path, snapshot: Snapshot) -> None:
    """Write a snapshot under another name, and give it its own at once: nobody ever reads half of it."""
    meta = snapshot.meta.encode()
    body = b"".join((MARK, len(meta).to_bytes(LENGTH_BYTES, "big"), meta, snapshot.blob))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as new:
            new.write(body)
        os.replace(new.name, file)
    except OSError as error:
        warn(f"where: what was learned cannot be written to {file}: {read_message(error)}; a new worker learns anew")


def read_file(file: Path) -> Snapshot | None:
    """Read what `write_file` wrote, if anything; who restores it checks its sum."""
    try:
        body = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"file: {read_message(error)}") from error
    begin = len(MARK) + LENGTH_BYTES
    if not body.startswith(MARK) or len(body) < begin:
        raise CheckpointError(f"file: expected {MARK!r} and a length in front, got {body[:begin]!r}")
    end = begin + int.from_bytes(body[len(MARK) : begin], "big")
    return Snapshot(FORMAT, body[begin:end].decode(errors="replace"), body[end:])


def _find_file(token: str, partition: int) -> Path:
    return Path(SparkFiles.getRootDirectory()) / FOLDER / token / f"{partition}.learned"
