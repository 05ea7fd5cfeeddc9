"""A cell's whole state as three plain values: a format number, JSON, and Arrow IPC.

Nothing in it is code, and nothing of it is evaluated. The blob is a sequence of Arrow streams; the JSON says where each
begins, and a checksum of both stands in front of it. Tables read from it are views of the blob: nothing is copied until
it changes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from eddy.errors import CheckpointError, EddyError, describe_error
from eddy.tuples import arrow_ipc

FORMAT = 1
"""The version of what follows; a change that an older reader would misread needs a new one."""

Restorer = TypeVar("Restorer")


class Learner(Protocol):
    """A policy: it goes on from plain values and arrays."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from them."""


@dataclass(frozen=True)
class Snapshot:
    """A cell's state, as it is kept in a checkpoint."""

    format: int
    meta: str
    blob: bytes


def pack(meta: Mapping[str, Any], tables: Mapping[str, pa.RecordBatch]) -> Snapshot:
    """Write plain values and tables.

    >>> unpack(pack({"batch": 3}, {"rows": pa.record_batch({"v": [1, 2]})}))[0]["batch"]
    3
    """
    sections: dict[str, list[int]] = {}
    sink = pa.BufferOutputStream()
    for name, table in tables.items():
        # All tables stand in one blob, each a whole Arrow stream; the JSON notes where:
        #
        #     meta   "checksum {..., sections: {rows: [0, 640], policy x: [640, 192]}}"
        #     blob   [ rows ........ | policy x .... ]
        start = sink.tell()
        arrow_ipc.write(table, sink)
        sections[name] = [start, sink.tell() - start]
    blob = sink.getvalue().to_pybytes()
    written = json.dumps({**meta, "sections": sections})
    return Snapshot(FORMAT, f"{_checksum(written, blob)} {written}", blob)


def unpack(snapshot: Snapshot) -> tuple[dict[str, Any], dict[str, pa.RecordBatch]]:
    """Read what `pack` wrote."""
    if snapshot.format != FORMAT:
        raise CheckpointError(_format_text(snapshot.format))
    try:
        checksum, _, written = snapshot.meta.partition(" ")
        intact = checksum == _checksum(written, snapshot.blob)
    except Exception as error:  # what a store gives back in place of texts and bytes may be anything
        raise CheckpointError(_damage_text(snapshot, describe_error(error))) from error
    if not intact:
        raise CheckpointError(_damage_text(snapshot, "the checksum does not match"))
    try:
        meta = json.loads(written)
        whole = pa.py_buffer(snapshot.blob)
        return meta, {name: _read(name, whole, *place) for name, place in meta["sections"].items()}
    except Exception as error:  # the bytes may be anybody's, so anything may be wrong with them
        raise CheckpointError(_damage_text(snapshot, describe_error(error))) from error


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


def restore_policy(policy: Learner, name: str, state: Mapping[str, Any]) -> None:
    """Let a policy go on from what it had learned."""
    try:
        policy.restore(state)
    except Exception as error:  # a policy is a plug-in, and may have been another one when it wrote this
        raise CheckpointError(
            f"checkpoint: policy {name}: it cannot go on from what it had learned, {describe_error(error)}; "
            "restart with the version of it that wrote the checkpoint, or with another policy, or with other "
            "parameters: then it keeps the rows, and learns anew"
        ) from error


def to_table(values: np.ndarray[Any, Any]) -> pa.RecordBatch:
    """Write a numpy array as a table of one column.

    Its shape is kept beside it.
    """
    return pa.record_batch({"values": pa.array(values.ravel())})


def from_table(table: pa.RecordBatch, shape: list[int]) -> np.ndarray[Any, Any]:
    """Read the array that `to_table` wrote.

    It is a copy, since a policy goes on changing it.
    """
    return table.column("values").to_numpy(zero_copy_only=False).reshape(shape).copy()


def _checksum(written: str, blob: bytes) -> str:
    """Sum up both parts, so that a change of either is noticed."""
    return f"{zlib.crc32(blob, zlib.crc32(written.encode())):08x}"


def _read(name: str, whole: pa.Buffer, start: int, size: int) -> pa.RecordBatch:
    if not 0 <= start <= start + size <= whole.size:
        raise ValueError(f'"{name}": expected a place within {whole.size} bytes, got {size} bytes from {start}')
    rows = arrow_ipc.read(whole.slice(start, size))
    # Columns of nulls take no bytes, so a damaged count of rows may be huge and valid all the same.
    if rows.num_rows > size * 8:
        raise ValueError(f'"{name}": expected rows of a bit or more, got {rows.num_rows} in {size} bytes')
    return rows


def _format_text(found: Any) -> str:
    older = isinstance(found, int) and found < FORMAT
    return (
        f"checkpoint: expected state of format {FORMAT}, got format {found!r}, which "
        + ("an older version of the project wrote" if older else "no version of the project up to this one has written")
        + "; restart with the version that wrote it, or begin a new checkpoint"
    )


def _damage_text(snapshot: Snapshot, detail: str) -> str:
    sizes = [len(part) if isinstance(part, str | bytes) else 0 for part in (snapshot.meta, snapshot.blob)]
    return (
        f"checkpoint: the state cannot be read, {detail} ({sizes[0]} characters of JSON, {sizes[1]} bytes of rows); "
        "restore the checkpoint from a copy, or begin a new one"
    )
