"""State that is damaged, foreign or forged: refused, in our words, at little cost."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import eddy
from eddy.engine.snapshot import FORMAT, UNPACKED, Snapshot, guard_restore, pack, unpack
from eddy.policies.registry import POLICIES
from eddy.tuples.packed import MOST_EXPANSION, pack_rows, pack_stream, spread_bits
from tests import damage
from tests.damage import Damaged, engine, first_format, saved, sealed, second_format, written_in

WHOLE = "fixed"


@given(damaged=damage.states())
def test_damaged_state_is_refused(damaged: Damaged) -> None:
    damage.read_state(damaged)


@settings(max_examples=150)
@given(payload=damage.payloads())
def test_a_damaged_parcel_is_refused(payload: bytes) -> None:
    damage.read_payload(payload)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_bit_counts(policy: str) -> None:
    """A bit that is wrong is noticed, wherever it is: here in every hundredth byte."""
    for whole in (saved(policy), first_format(saved(policy))):
        for place in range(0, len(whole.blob), 100):
            bad = bytearray(whole.blob)
            bad[place] ^= 1 << place % 8
            with pytest.raises(eddy.CheckpointError, match="the checksum does not match"):
                unpack(replace(whole, blob=bytes(bad)))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_what_is_whole_is_read(policy: str) -> None:
    newest = saved(policy)
    for whole in (newest, first_format(newest), second_format(newest)):
        assert damage.read_state(Damaged(policy=policy, snapshot=whole, sealed=False)) == "unharmed"


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("older", [first_format, second_format])
def test_an_older_format_goes_on_as_the_newest(policy: str, older: Callable[[Snapshot], Snapshot]) -> None:
    goes_on = []
    for whole in (saved(policy), older(saved(policy))):
        running = engine(policy)
        running.restore(whole)
        rows = [part.to_pylist() for part in running.run({"a": damage.batch(5), "b": damage.batch(5)})]
        goes_on.append((rows, running.read_counters().operators, running.snapshot()))
    (new, new_calls, new_state), (old, old_calls, old_state) = goes_on
    assert (new, new_calls) == (old, old_calls)
    assert sum(map(len, new)) > 0
    assert old_state.format == new_state.format == FORMAT
    assert first_format(old_state) == first_format(new_state)


@pytest.mark.parametrize(
    ("number", "writer"),
    [
        (UNPACKED - 1, "an older version of the project wrote"),
        (FORMAT + 1, "no version of the project up to this one"),
        (None, "no version"),
        (-1, "an older version"),
    ],
)
def test_another_format_is_refused_by_name(number: int, writer: str) -> None:
    with pytest.raises(eddy.CheckpointError, match=f"expected state of format 1 to 3, got format {number}.*{writer}"):
        unpack(replace(saved(WHOLE), format=number))


def stream(rows: pa.RecordBatch, compression: str | None = None, times: int = 1) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for _ in range(times):
            writer.write_batch(rows)
    return sink.getvalue().to_pybytes()


def section(blob: bytes, place: list[int] | None = None) -> Snapshot:
    """A state of the first format with one table, whose checksum is right."""
    return sealed(json.dumps({"sections": {"rows": place or [0, len(blob)]}}), blob, UNPACKED)


def part(data: bytes, size: Any = None, length: Any = None) -> Snapshot:
    """A state with one part, whose checksums are right; `data` is an Arrow stream unless it has a size."""
    made = pack_stream(pa.py_buffer(data)) if size is None else None
    data, size = (made.data, made.size) if made else (data, size)
    place = [len(data) if length is None else length, size, zlib.crc32(data)]
    return sealed(json.dumps({"sections": {"rows": [place]}}), data)


class Reader:
    """Reads every table, as an engine does."""

    tables: dict[str, list[pa.RecordBatch]]

    @guard_restore
    def restore(self, snapshot: Snapshot) -> None:
        _, found = unpack(snapshot)
        self.tables = {name: [one.read() for one in parts] for name, parts in found.items()}


ZEROS = pa.record_batch({"v": [0] * 100_000})
CODED = pa.record_batch({"v": pa.array(["a"] * 100).dictionary_encode()})
OFFSETS = pa.py_buffer(b"\0\0\0\0\x7f\0\0\0\2\0\0\0")
TEXT = pa.Array.from_buffers(pa.string(), 2, [None, OFFSETS, pa.py_buffer(b"ab")])
MANY = 123_457
ENDLESS = stream(pa.RecordBatch.from_arrays([pa.nulls(MANY)], names=["v"])).replace(
    MANY.to_bytes(8, "little"), (2**40).to_bytes(8, "little")
)


BAD_STREAMS = [
    (stream(ZEROS, "zstd"), "expected rows that are not compressed"),
    (stream(ZEROS, "lz4"), "expected rows that are not compressed"),
    (stream(CODED, "zstd"), "expected rows that are not compressed"),
    (stream(ZEROS, times=0), "expected one batch of rows, got 0"),
    (stream(CODED, times=2), "expected one batch of rows, got 2"),
    (stream(pa.record_batch({"v": TEXT})), "ArrowInvalid"),
    (ENDLESS, "expected rows of a bit or more, got 1099511627776 in"),
    (stream(pa.record_batch({"é": [1]})).replace("é".encode(), b"\xd4v"), "UnicodeDecodeError"),
]
"""Arrow streams that are not one batch of rows, and what is said of each."""

BOMB = spread_bits(pa.Codec("zstd").compress(bytes(1 << 30), asbytes=True))
"""A gigabyte of zeros, in 38 KB."""

WHOLE_PART = pack_rows(ZEROS).data


@pytest.mark.parametrize(
    ("found", "message"),
    [
        *((part(data), message) for data, message in BAD_STREAMS),
        *((section(data), message) for data, message in BAD_STREAMS),
        (part(BOMB, 1 << 30), "expected at most 32 bytes for each of [0-9]+, got 1073741824"),
        (part(BOMB, 1 << 50), "a state of 1073741824 MB of rows, more than 4096 MB"),
        (part(BOMB, len(BOMB) * MOST_EXPANSION), "ZSTD"),
        (part(WHOLE_PART, -1), "expected at most 32 bytes"),
        (part(WHOLE_PART, 1), "ZSTD"),
        (part(WHOLE_PART[:50], 100), "ZSTD"),
        (part(WHOLE_PART, "7"), "TypeError"),
        (part(WHOLE_PART, 7, len(WHOLE_PART) - 1), "expected [0-9]+ bytes of rows, got [0-9]+"),
        (part(WHOLE_PART, 7, 2**40), "expected 1099511627776 bytes of rows"),
        (sealed('{"sections": {"rows": [[2, 9, 0]]}}', b"ab"), "the checksum does not match"),
        (sealed('{"sections": {"rows": [[-2, 9, 0], [4, 9, 0]]}}', b"ab"), "the checksum does not match"),
        (section(b"", [0, 2**40]), "expected a place within 0 bytes"),
        (section(b"abc", [-1, 2]), "expected a place within 3 bytes"),
        (section(b"abc", [2, -1]), "expected a place within 3 bytes"),
        (section(b"abc"), "the state cannot be read"),
        (sealed("[" * 100_000, b""), "RecursionError"),
        (sealed("[]", b""), "TypeError"),
        (sealed('{"sections": {"rows": [0]}}', b""), "the state cannot be read"),
    ],
)
def test_what_is_forged_is_refused(found: Snapshot, message: str) -> None:
    with damage.little_memory(), pytest.raises(eddy.CheckpointError, match=message):
        Reader().restore(found)


def test_values_that_are_coded_are_read() -> None:
    reader = Reader()
    for whole in (section(stream(CODED)), part(stream(CODED))):
        reader.restore(whole)
        assert reader.tables["rows"][0].equals(CODED)


def test_state_of_something_else_is_refused() -> None:
    with pytest.raises(eddy.CheckpointError, match="the state cannot be read, KeyError: 'query'"):
        engine(WHOLE).restore(pack({"something": "else"}, {}))


def tuned(**learned: Any) -> Snapshot:
    """A state in which something else was learned of the searches of one input."""
    whole = saved(WHOLE)
    meta = json.loads(written_in(whole))
    assert meta["tuning"]["inputs"]["a"]["learned"]["maps"]
    meta["tuning"]["inputs"]["a"]["learned"] |= learned
    return sealed(json.dumps(meta), whole.blob)


FIELD = [[0], 8]


@pytest.mark.parametrize(
    ("learned", "message"),
    [
        ({"maps": [[FIELD]] * 10_000}, "expected a list of up to 256"),
        ({"maps": [[[[0], 63]]]}, "expected 1 to 32 bits, got 63"),
        ({"maps": [[FIELD] * 5]}, "expected a code of up to 32 bits"),
        ({"maps": [[[[7], 8]]]}, "expected one of 1 keys, got 7"),
        ({"shares": [[1 << 40, 1.0]]}, "expected a pattern of 1 keys"),
        ({"wait": 10**9}, "expected a wait from 1 to"),
        ({"batches": -1}, "expected"),
        ({"maps": 3}, "expected a list"),
    ],
)
def test_what_nobody_can_have_learned_of_searches_is_refused(learned: dict[str, Any], message: str) -> None:
    with damage.little_memory(), pytest.raises(eddy.CheckpointError, match=f"{message}.*learns anew"):
        engine(WHOLE).restore(tuned(**learned))
    engine(WHOLE, {"kind": "hash"}).restore(tuned(**learned))


def test_what_was_learned_of_other_keys_or_by_another_version_is_learned_anew() -> None:
    whole = saved(WHOLE)
    meta = json.loads(written_in(whole))
    for change in ({"version": 99}, {"index": {"kind": "chosen"}}):
        other = {**meta, "tuning": {**meta["tuning"], **change}}
        found = engine(WHOLE)
        found.restore(sealed(json.dumps(other), whole.blob))
        assert json.loads(written_in(found.snapshot()))["tuning"]["inputs"]["a"]["learned"]["maps"] is None
    text = json.dumps(meta["tuning"]).replace('"a.k"', '"a.z"')
    found = engine(WHOLE)
    found.restore(sealed(json.dumps({**meta, "tuning": json.loads(text)}), whole.blob))
    assert json.loads(written_in(found.snapshot()))["tuning"]["inputs"]["a"]["learned"]["maps"] is None


def _renamed(name: str) -> str:
    return f"{name}s"


def _emptied(name: str) -> str:
    return ""


@pytest.mark.parametrize("change", [_renamed, _emptied])
@pytest.mark.parametrize("policy", ["content", "query_mesh", "lottery"])
def test_what_another_version_of_a_policy_learned_is_refused_by_its_name(
    policy: str, change: Callable[[str], str]
) -> None:
    whole = saved(policy)
    meta = json.loads(written_in(whole))
    assert meta["state"] or meta["shapes"]
    old = {**meta, "state": {change(name): value for name, value in meta["state"].items()}, "shapes": {}}
    with pytest.raises(eddy.CheckpointError, match=f'policy .*"{policy}".*: it cannot go on .* learns anew'):
        engine(policy).restore(sealed(json.dumps(old), whole.blob))
    engine("random").restore(sealed(json.dumps(old), whole.blob))
