"""The bytes of a state on their way through Spark.

Spark hands a state to a worker pickled, with its bytes as a text: one above 127 becomes two, and a text that has any is
converted a byte at a time, in the JVM and again in Python. A large state with many of them goes in base64 instead,
which is a third longer, and is copied.
"""

from __future__ import annotations

import binascii
from dataclasses import replace

import numpy as np

from eddy.snapshot import Snapshot

MARK = b"base64:"
"""The first bytes of a state in base64; rows begin with 0xff."""

LARGE = 2**20
"""Bytes from which on it matters: of a megabyte, some 20 ms."""

MANY = 1 / 8
"""The share of bytes above 127 from which on base64 is quicker."""


def outbound(snapshot: Snapshot) -> Snapshot:
    """The state in the form that goes through Spark quickest."""
    blob = snapshot.blob
    if len(blob) < LARGE or np.count_nonzero(np.frombuffer(blob, np.int8) < 0) < len(blob) * MANY:
        return snapshot
    return replace(snapshot, blob=MARK + binascii.b2a_base64(blob, newline=False))


def inbound(snapshot: Snapshot) -> Snapshot:
    """The state as it was before; what is damaged stays as it is, and its checksum tells.

    >>> kept = Snapshot(1, "", bytes(range(256)) * 5_000)
    >>> inbound(outbound(kept)) == kept
    True
    """
    blob = snapshot.blob
    if not isinstance(blob, bytes | bytearray) or not blob.startswith(MARK):
        return snapshot
    try:
        return replace(snapshot, blob=binascii.a2b_base64(memoryview(blob)[len(MARK) :]))
    except binascii.Error:
        return snapshot
