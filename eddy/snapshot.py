"""A cell's whole state as three plain values: a format number, JSON, and Arrow IPC.

Nothing in it is code, and nothing of it is evaluated. The blob is a sequence of Arrow streams; the JSON says where each
begins, and a checksum of both stands in front of it. Tables read from it are views of the blob: nothing is copied until
it changes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import CheckpointError

FORMAT = 2
"""The version of what follows; a change that an older reader would misread needs a new one."""

READ = (1, FORMAT)
"""What this version can read: in format 1 no verdict was a fault, and nothing else was different."""


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
        start = sink.tell()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_batch(table)
        sections[name] = [start, sink.tell() - start]
    blob = sink.getvalue().to_pybytes()
    written = json.dumps({**meta, "sections": sections})
    return Snapshot(FORMAT, f"{_checksum(written, blob)} {written}", blob)


def unpack(snapshot: Snapshot) -> tuple[dict[str, Any], dict[str, pa.RecordBatch]]:
    """Read what `pack` wrote."""
    if snapshot.format not in READ:
        raise CheckpointError(
            f"checkpoint: expected state of format {' or '.join(map(str, READ))}, got format {snapshot.format!r}; "
            "restart with the version of the project that wrote it, or begin a new checkpoint"
        )
    try:
        checksum, _, written = snapshot.meta.partition(" ")
        if checksum != _checksum(written, snapshot.blob):
            raise CheckpointError(_damaged(snapshot, "the checksum does not match"))
        meta = json.loads(written)
        whole = pa.py_buffer(snapshot.blob)
        tables = {name: _read(whole.slice(start, size)) for name, (start, size) in meta["sections"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, pa.ArrowException) as error:
        raise CheckpointError(_damaged(snapshot, f"{type(error).__name__}: {error}")) from error
    return meta, tables


def to_table(values: np.ndarray[Any, Any]) -> pa.RecordBatch:
    """A numpy array as a table of one column; its shape is kept beside it."""
    return pa.record_batch({"values": pa.array(values.ravel())})


def from_table(table: pa.RecordBatch, shape: list[int]) -> np.ndarray[Any, Any]:
    """The array that `to_table` wrote; a copy, since a policy goes on changing it."""
    return table.column("values").to_numpy(zero_copy_only=False).reshape(shape).copy()


def _checksum(written: str, blob: bytes) -> str:
    """Of both parts: a change of either is noticed."""
    return f"{zlib.crc32(blob, zlib.crc32(written.encode())):08x}"


def _read(section: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(section) as reader:
        return reader.read_next_batch()


def _damaged(snapshot: Snapshot, detail: str) -> str:
    return (
        f"checkpoint: the state cannot be read, {detail} ({len(snapshot.meta)} characters of JSON, "
        f"{len(snapshot.blob)} bytes of rows); restore the checkpoint from a copy, or begin a new one"
    )
