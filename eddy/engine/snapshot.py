"""A cell's whole state as three plain values: a format number, JSON, and Arrow IPC.

Nothing in it is code, and nothing of it is evaluated. The blob is a sequence of compressed Arrow streams; the JSON says
how long each is, and has its checksum, and a checksum of the JSON stands in front of it. What is written down once is
taken over by the next state as it is (`eddy.operators.stored.pages`). Long lists are no JSON (`long_lists`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from eddy.contracts import Policy
from eddy.engine.long_lists import put_back, take_out
from eddy.errors import CheckpointError, EddyError, describe_error
from eddy.tuples.packed import Packed, pack_rows

FORMAT = 3
"""The version of what follows; a change that an older reader would misread needs a new one."""

UNPACKED, ALL_JSON = 1, 2
"""The formats before, which are still read: tables are Arrow streams, and not compressed; long lists are JSON."""

LISTS = "lists"
"""The table of long lists: no other has this name."""

LARGEST_EXPANDED = 4 << 30
"""Bytes of rows in a state: what it says of itself is believed up to here, and no room is made for more."""

CHANGED = "the checksum does not match"

Restorer = TypeVar("Restorer")


@dataclass(frozen=True)
class Snapshot:
    """A cell's state, as it is kept in a checkpoint."""

    format: int
    meta: str
    blob: bytes


def pack(meta: Mapping[str, Any], tables: Mapping[str, Sequence[Packed]]) -> Snapshot:
    """Write plain values and tables, each of which has any number of parts.

    >>> unpack(pack({"batch": 3}, {"rows": [pack_rows(pa.record_batch({"v": [1, 2]}))]}))[0]["batch"]
    3
    """
    # All parts stand in one blob, behind each other; the JSON notes the bytes, the size and the checksum of each:
    #
    #     meta   "checksum {..., sections: {rows: [[640, 9000, 77], [512, 8100, 42]], policy x: [[192, 400, 5]]}}"
    #     blob   [ rows .... | rows .... | policy x .. ]
    left, lists = take_out(dict(meta))
    tables = {**tables, LISTS: [lists]} if lists is not None else tables
    sections = {name: [[len(p.data), p.size, p.checksum] for p in parts] for name, parts in tables.items()}
    _check_expanded(sections)
    blob = b"".join(part.data for parts in tables.values() for part in parts)
    written = json.dumps({**left, "sections": sections})
    return Snapshot(FORMAT, f"{_checksum(written)} {written}", blob)


def unpack(snapshot: Snapshot) -> tuple[dict[str, Any], dict[str, list[Packed]]]:
    """Read what `pack` wrote; the rows of the parts are still to be read."""
    if snapshot.format not in READERS:
        raise CheckpointError(_format_text(snapshot.format))
    try:
        checksum, _, written = snapshot.meta.partition(" ")
        blob = snapshot.blob if snapshot.format == UNPACKED else b""
        intact = checksum == _checksum(written, blob)
    except Exception as error:  # what a store gives back in place of texts and bytes may be anything
        raise CheckpointError(_damage_text(snapshot, describe_error(error))) from error
    if not intact:
        raise CheckpointError(_damage_text(snapshot, CHANGED))
    try:
        meta = json.loads(written)
        tables = READERS[snapshot.format](meta.pop("sections"), snapshot.blob)
        if snapshot.format == FORMAT:
            (lists,) = tables.pop(LISTS, [None])
            meta = put_back(meta, lists)
        return meta, tables
    except EddyError:
        raise
    except Exception as error:  # the bytes may be anybody's, so anything may be wrong with them
        raise CheckpointError(_damage_text(snapshot, describe_error(error))) from error


def _read_parts(sections: Mapping[str, Any], blob: bytes) -> dict[str, list[Packed]]:
    """Divide a blob into the parts of each table."""
    expected = sum(length for parts in sections.values() for length, _, _ in parts)
    if expected != len(blob):
        raise ValueError(f"expected {expected} bytes of rows, got {len(blob)}")
    _check_expanded(sections)
    found: dict[str, list[Packed]] = {}
    start = 0
    for name, parts in sections.items():
        found[name] = []
        for length, size, checksum in parts:
            part = Packed(blob[start : start + length], int(size))
            if part.checksum != checksum:
                raise ValueError(f'"{name}": {CHANGED}')
            found[name].append(part)
            start += length
    return found


def _read_streams(sections: Mapping[str, Any], blob: bytes) -> dict[str, list[Packed]]:
    """Find the tables of format 1, Arrow streams one behind the other."""
    found = {}
    for name, (start, size) in sections.items():
        if not 0 <= start <= start + size <= len(blob):
            raise ValueError(f'"{name}": expected a place within {len(blob)} bytes, got {size} bytes from {start}')
        found[name] = [Packed(blob[start : start + size], None)]
    return found


READERS: Mapping[int, Callable[[Mapping[str, Any], bytes], dict[str, list[Packed]]]] = {
    UNPACKED: _read_streams,
    ALL_JSON: _read_parts,
    FORMAT: _read_parts,
}
"""The formats that are read."""


def guard_restore(restore: Callable[[Restorer, Snapshot], None]) -> Callable[[Restorer, Snapshot], None]:
    """Make a method that restores report a snapshot that does not fit."""

    @wraps(restore)
    def checked(self: Restorer, snapshot: Snapshot) -> None:
        try:
            restore(self, snapshot)
        except EddyError:
            raise
        except Exception as error:  # it can be read, and was written by something else: anything may be missing
            raise CheckpointError(_damage_text(snapshot, describe_error(error))) from error

    return checked


def restore_policy(policy: Policy, name: str, state: Mapping[str, Any]) -> None:
    """Let a policy go on from what it had learned."""
    try:
        policy.restore(state)
    except Exception as error:  # a policy is a plug-in, and may have been another one when it wrote this
        raise CheckpointError(
            f"checkpoint: policy {name}: it cannot go on from what it had learned, {describe_error(error)}; "
            "restart with the version of it that wrote the checkpoint, or with another policy, or with other "
            "parameters: then it keeps the rows, and learns anew"
        ) from error


def pack_array(values: np.ndarray[Any, Any]) -> Packed:
    """Write a numpy array as a table of one column.

    Its shape is kept beside it.
    """
    return pack_rows(pa.record_batch({"values": pa.array(values.ravel())}))


def read_array(parts: Sequence[Packed], shape: list[int]) -> np.ndarray[Any, Any]:
    """Read the array that `pack_array` wrote.

    It is a copy, since a policy goes on changing it.
    """
    (part,) = parts
    return part.read().column("values").to_numpy(zero_copy_only=False).reshape(shape).copy()


def _checksum(written: str, blob: bytes = b"") -> str:
    """Sum up the JSON, which has the checksums of all parts; in format 1 the blob with it."""
    return f"{zlib.crc32(blob, zlib.crc32(written.encode())):08x}"


def _check_expanded(sections: Mapping[str, Any]) -> None:
    """Refuse more rows than a worker can hold, before there is any."""
    size = sum(size for parts in sections.values() for _, size, _ in parts)
    if size > LARGEST_EXPANDED:
        raise CheckpointError(
            f"checkpoint: a state of {size >> 20} MB of rows, more than {LARGEST_EXPANDED >> 20} MB, which is about "
            "what a worker can hold; begin a new checkpoint with more cells, or with shorter windows"
        )


def _format_text(found: Any) -> str:
    older = isinstance(found, int) and found < UNPACKED
    return (
        f"checkpoint: expected state of format {UNPACKED} to {FORMAT}, got format {found!r}, which "
        + ("an older version of the project wrote" if older else "no version of the project up to this one has written")
        + "; restart with the version that wrote it, or begin a new checkpoint"
    )


def _damage_text(snapshot: Snapshot, detail: str) -> str:
    sizes = [len(part) if isinstance(part, str | bytes) else 0 for part in (snapshot.meta, snapshot.blob)]
    return (
        f"checkpoint: the state cannot be read, {detail} ({sizes[0]} characters of JSON, {sizes[1]} bytes of rows); "
        "restore the checkpoint from a copy, or begin a new one"
    )
