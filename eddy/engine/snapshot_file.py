"""A snapshot as a file of its own, beside any checkpoint."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from eddy.engine.engine import Engine
from eddy.engine.snapshot import Snapshot
from eddy.errors import CheckpointError, read_message, warn

MARK = b"edl1"
"""The first bytes of a file, with the number of its format; the snapshot has a checksum of the rest."""

NUMBER_BYTES = 8
"""Bytes of each of the two numbers behind the mark: the snapshot's format, and the length of its JSON."""


def resume(make: Callable[[], Engine], file: Path) -> Engine | None:
    """Make an engine that goes on from a file; None if there is none, or none that can be read, which is told."""
    engine = make()
    try:
        saved = read_file(file)
        if saved is None:
            return None
        engine.restore(saved)
    except CheckpointError as error:
        # A half of it may have been taken.
        tell_unread(file, error)
        return None
    return engine


def tell_unread(file: Path, error: CheckpointError) -> None:
    """Warn that a file is of no use; no answer depends on it."""
    warn(f"what was learned cannot be read from {file}, and is learned anew: {describe_unread(error)}")


ADVICE = ("; restore the checkpoint", "; go back to the query", "; restart with", "; begin a new checkpoint")
"""What errors about a checkpoint advise, which is none for a file."""


def describe_unread(error: CheckpointError) -> str:
    """Say what is wrong with a file, in which a snapshot stands that speaks of a checkpoint.

    >>> describe_unread(CheckpointError("checkpoint: the state is cut; restore the checkpoint from a copy"))
    'the state is cut'
    """
    told = read_message(error).removeprefix("file: ").removeprefix("checkpoint: ")
    for advice in ADVICE:
        told = told.partition(advice)[0]
    return told.replace("the checkpoint has", "the file has")


def write_file(file: Path, snapshot: Snapshot) -> bool:
    """Write a snapshot, and only warn where it cannot be: no answer depends on it."""
    try:
        replace_file(file, snapshot)
    except OSError as error:
        warn(f"what was learned cannot be written to {file}: {read_message(error)}; the next run learns anew")
        return False
    return True


def replace_file(file: Path, snapshot: Snapshot) -> None:
    """Write a snapshot under another name, and give it its own at once: nobody ever reads half of it."""
    meta = snapshot.meta.encode()
    numbers = [number.to_bytes(NUMBER_BYTES, "big") for number in (snapshot.format, len(meta))]
    body = b"".join((MARK, *numbers, meta, snapshot.blob))
    file.parent.mkdir(parents=True, exist_ok=True)
    # Whatever fails, the folder goes with all that is in it.
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        new = Path(folder) / file.name
        new.write_bytes(body)
        os.replace(new, file)


def read_file(file: Path) -> Snapshot | None:
    """Read what `write_file` wrote, if anything; who restores it checks its sum."""
    try:
        body = file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(f"file: {read_message(error)}") from error
    begin = len(MARK) + 2 * NUMBER_BYTES
    if not body.startswith(MARK) or len(body) < begin:
        raise CheckpointError(
            f"file: expected {MARK!r} and two numbers in front, got {body[:begin]!r}; "
            "give a file that `eddy learned export` or `remember` has written"
        )
    middle = len(MARK) + NUMBER_BYTES
    kind, length = int.from_bytes(body[len(MARK) : middle], "big"), int.from_bytes(body[middle:begin], "big")
    return Snapshot(kind, body[begin : begin + length].decode(errors="replace"), body[begin + length :])
