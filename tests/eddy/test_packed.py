"""Rows in few bytes come out as they were, and say no more of themselves than they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.tuples import packed
from eddy.tuples.packed import MOST_EXPANSION, Packed, gather_bits, pack_rows, spread_bits
from tests.damage import little_memory

ROWS = pa.record_batch({"v": np.arange(10_000) * 977 % 1_000, "s": ["é"] * 10_000})
ZEROS = pa.record_batch({"v": np.zeros(1 << 20, np.int64)})
NOISE = pa.record_batch({"v": np.random.default_rng(0).integers(0, 2**62, 10_000)})


@given(data=st.binary(max_size=100))
def test_bytes_in_seven_bits_come_out_as_they_were(data: bytes) -> None:
    spread = spread_bits(data)
    assert gather_bits(spread).to_pybytes() == data
    assert len(spread) == len(data) + -(-len(data) // 7)
    assert all(byte < 128 for byte in spread)


@pytest.mark.parametrize("rows", [ROWS, ZEROS, NOISE, ROWS.slice(0, 0)], ids=["rows", "zeros", "noise", "none"])
def test_rows_come_out_as_they_were(rows: pa.RecordBatch) -> None:
    made = pack_rows(rows)
    assert made.read().equals(rows)
    assert made.size is not None
    assert max(made.data) < 128
    # Noise takes an eighth more; a million zeros are padded, so that nobody has to believe in a larger factor.
    assert made.size / MOST_EXPANSION <= len(made.data) <= made.size * 8 / 7 + 200
    assert len(pack_rows(ROWS).data) * 4 < (pack_rows(ROWS).size or 0)


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (lambda p: replace(p, size=len(p.data) * MOST_EXPANSION + 1), "expected at most 32 bytes for each of"),
        (lambda p: replace(p, size=1 << 40), "expected at most 32 bytes for each of .*, got 1099511627776"),
        (lambda p: replace(p, size=-1), "expected at most 32 bytes"),
        (lambda p: replace(p, size=p.size + 1), "ZSTD"),
        (lambda p: replace(p, size=p.size - 1), "ZSTD"),
        (lambda p: replace(p, data=p.data[: len(p.data) // 2]), "ZSTD"),
        (lambda p: replace(p, data=p.data[8:]), "ZSTD"),
        (lambda p: replace(p, data=b"\x7f" * 100, size=100), "ZSTD"),
    ],
)
def test_what_is_not_so_is_refused(forged: object, message: str) -> None:
    assert callable(forged)
    with little_memory(), pytest.raises((ValueError, OSError), match=message):
        forged(pack_rows(ROWS)).read()


@pytest.mark.parametrize("size", [1 << 20, 8 << 20])
def test_a_bomb_is_refused_before_there_is_room_for_it(size: int) -> None:
    """A gigabyte of zeros takes 33 KB, and as many as it may stand for are made room for."""
    bomb = pa.Codec("zstd").compress(bytes(size * 128), asbytes=True)
    data = packed.spread_bits(bomb)
    with little_memory(), pytest.raises(ValueError, match="expected at most 32 bytes"):
        Packed(data, size * 128).read()
    with little_memory(), pytest.raises(OSError, match="ZSTD"):
        Packed(data, len(data) * MOST_EXPANSION).read()
