"""A snapshot as a file of its own, beside any checkpoint."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from eddy.engine.engine import Engine
from eddy.engine.snapshot import Snapshot
from eddy.errors import CheckpointError, QueryError, read_message, warn, write_repr

MARK = b"edl1"
"""The first bytes of a file, with the number of its format; the snapshot has a checksum of the rest."""

NUMBER_BYTES = 8
"""Bytes of each of the two numbers behind the mark: the snapshot's format, and the length of its JSON."""


def check_path(path: object, where: str) -> str | None:
    """Check where to remember what was learned; workers may be in another folder than this process."""
    if path is None:
        return None
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    # An address such as "hdfs://a/b" would be taken for a folder of this machine.
    if not isinstance(text, str) or not text or "\0" in text or "://" in text:
        raise QueryError(f"{where}: remember: expected the path of a file, got {write_repr(path)}")
    return os.path.abspath(text)


def resume(make: Callable[[], Engine], files: Sequence[Path]) -> tuple[Engine, Sequence[Path]]:
    """Make an engine that goes on from the first of some files that is there, or begins anew.

    Gives it with the files that it may write: one that cannot be read may be somebody else's, and is told and left
    alone.
    """
    engine, own = make(), list(files)
    for file in files:
        try:
            if (saved := read_file(file)) is not None:
                engine.restore(saved)
                break
        except CheckpointError as error:
            warn(f"what was learned cannot be read from {file}, and is learned anew: {read_message(error)}")
            # A half of it may have been taken.
            engine = make()
            own.remove(file)
    return engine, own


def write_file(file: Path, snapshot: Snapshot) -> None:
    """Write a snapshot, and only warn where it cannot be: no answer depends on it."""
    try:
        replace_file(file, snapshot)
    except OSError as error:
        warn(f"what was learned cannot be written to {file}: {read_message(error)}; the next run learns anew")


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
