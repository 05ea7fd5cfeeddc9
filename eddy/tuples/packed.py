"""Rows in few bytes: compressed, and without bytes above 127.

Spark hands a cell's state from Java to Python as text, in which a byte above 127 becomes two, and takes twice as long
for a state of such bytes. So what is compressed is written in 7 bits of each byte.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from eddy.tuples import arrow_ipc

LEVEL = 1
"""Of zstd's levels. The third makes one of ten streams smaller, in twice the time; lz4 leaves 1.4 to 2.5 times as many
bytes."""

MOST_EXPANSION = 32
"""Bytes that one byte may stand for. What compresses better is padded: so nothing that says that it does is expanded.

Columns of most streams compress to a half to a tenth.
"""

PADDING = 0x184D2A50
"""The number with which a frame begins that zstd passes over."""

BITS = 7
"""The bits of a byte that are used."""


@dataclass(frozen=True)
class Packed:
    """Rows as they are written down.

    `size` is the bytes of their Arrow stream; None stands for the stream itself, as states were written before.
    """

    data: bytes
    size: int | None

    @cached_property
    def checksum(self) -> int:
        """A number that changes with the data; it is worked out once, as the data are written once."""
        return zlib.crc32(self.data)

    def read(self) -> pa.RecordBatch:
        """Read the rows.

        Raises an error of Arrow's or a ValueError if they are damaged, or claim to be more than so few bytes can be.
        """
        stream = self.expand()
        rows = arrow_ipc.read(stream)
        # Columns of nulls take no bytes, so a damaged count of rows may be huge and valid all the same.
        if rows.num_rows > stream.size * 8:
            raise ValueError(f"expected rows of a bit or more, got {rows.num_rows} in {stream.size} bytes")
        return rows

    def expand(self) -> pa.Buffer:
        """Give the Arrow stream."""
        if self.size is None:
            return pa.py_buffer(self.data)
        if not 0 <= self.size <= len(self.data) * MOST_EXPANSION:
            raise ValueError(f"expected at most {MOST_EXPANSION} bytes for each of {len(self.data)}, got {self.size}")
        # Exactly so many bytes are made room for, and zstd gives an error if there are more or fewer.
        return pa.Codec("zstd").decompress(gather_bits(self.data), self.size)


def pack_rows(rows: pa.RecordBatch) -> Packed:
    """Write rows down.

    >>> pack_rows(pa.record_batch({"v": [1, 2]})).read().num_rows
    2
    """
    sink = pa.BufferOutputStream()
    arrow_ipc.write(rows, sink)
    return pack_stream(sink.getvalue())


def pack_stream(stream: pa.Buffer) -> Packed:
    """Write an Arrow stream down."""
    data = pa.Codec("zstd", compression_level=LEVEL).compress(stream, asbytes=True)
    lacking = stream.size // MOST_EXPANSION - len(data)
    return Packed(spread_bits(data + _pad(lacking) if lacking > 0 else data), stream.size)


def spread_bits(data: bytes) -> bytes:
    r"""Write bytes in seven bits each.

    >>> spread_bits(b"\x01\x80\xff")
    b'\x01\x00\x7f\x06'
    """
    # The low bits of all bytes come first. The highest bits follow, of seven runs of bytes in one run:
    #
    #     bytes  A A A B B B C C C ...  G G     ->   low bits of all of them, and   0GFEDCBA 0GFEDCBA 0.FEDCBA
    whole = np.frombuffer(data, np.uint8)
    run = -(-len(whole) // BITS)
    highest = np.zeros(run, np.uint8)
    for bit in range(BITS):
        some = whole[bit * run : (bit + 1) * run]
        highest[: len(some)] |= some >> BITS << bit
    return (whole & 0x7F).tobytes() + highest.tobytes()


def gather_bits(data: bytes) -> pa.Buffer:
    """Read what `spread_bits` has written."""
    spread = np.frombuffer(data, np.uint8)
    count = len(spread) * BITS // (BITS + 1)
    highest, whole = spread[count:], spread[:count].copy()
    for bit in range(BITS):
        some = whole[bit * len(highest) : (bit + 1) * len(highest)]
        some |= highest[: len(some)] >> bit << BITS
    return pa.py_buffer(whole)


def _pad(count: int) -> bytes:
    return struct.pack("<II", PADDING, count) + bytes(count)
