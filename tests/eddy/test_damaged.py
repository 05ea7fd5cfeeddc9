"""State that is damaged, foreign or forged: refused, in our words, at little cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import eddy
from eddy.engine.snapshot import FORMAT, Snapshot, pack, unpack
from eddy.policies.registry import POLICIES
from tests import damage
from tests.damage import Damaged, engine, saved, sealed, written_in

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
    whole = saved(policy)
    for place in range(0, len(whole.blob), 100):
        bad = bytearray(whole.blob)
        bad[place] ^= 1 << place % 8
        with pytest.raises(eddy.CheckpointError, match="the checksum does not match"):
            unpack(replace(whole, blob=bytes(bad)))


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_what_is_whole_is_read(policy: str) -> None:
    assert damage.read_state(Damaged(policy=policy, snapshot=saved(policy), sealed=False)) == "unharmed"


@pytest.mark.parametrize(
    ("number", "writer"),
    [
        (FORMAT - 1, "an older version of the project wrote"),
        (FORMAT + 1, "no version of the project up to this one"),
        (None, "no version"),
        (-1, "an older version"),
    ],
)
def test_another_format_is_refused_by_name(number: int, writer: str) -> None:
    with pytest.raises(eddy.CheckpointError, match=f"expected state of format {FORMAT}, got format {number}.*{writer}"):
        unpack(replace(saved(WHOLE), format=number))


def stream(rows: pa.RecordBatch, compression: str | None = None, times: int = 1) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for _ in range(times):
            writer.write_batch(rows)
    return sink.getvalue().to_pybytes()


def section(blob: bytes, place: list[int] | None = None) -> Snapshot:
    """A state with one table, whose checksum is right."""
    return sealed(json.dumps({"sections": {"rows": place or [0, len(blob)]}}), blob)


ZEROS = pa.record_batch({"v": [0] * 100_000})
CODED = pa.record_batch({"v": pa.array(["a"] * 100).dictionary_encode()})
OFFSETS = pa.py_buffer(b"\0\0\0\0\x7f\0\0\0\2\0\0\0")
TEXT = pa.Array.from_buffers(pa.string(), 2, [None, OFFSETS, pa.py_buffer(b"ab")])
MANY = 123_457
ENDLESS = stream(pa.RecordBatch.from_arrays([pa.nulls(MANY)], names=["v"])).replace(
    MANY.to_bytes(8, "little"), (2**40).to_bytes(8, "little")
)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (section(stream(ZEROS, "zstd")), "expected rows that are not compressed"),
        (section(stream(ZEROS, "lz4")), "expected rows that are not compressed"),
        (section(stream(CODED, "zstd")), "expected rows that are not compressed"),
        (section(stream(ZEROS, times=0)), "expected one batch of rows, got 0"),
        (section(stream(CODED, times=2)), "expected one batch of rows, got 2"),
        (section(stream(pa.record_batch({"v": TEXT}))), "ArrowInvalid"),
        (section(ENDLESS), "expected rows of a bit or more, got 1099511627776 in"),
        (section(stream(pa.record_batch({"é": [1]})).replace("é".encode(), b"\xd4v")), "UnicodeDecodeError"),
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
        unpack(found)


def test_values_that_are_coded_are_read() -> None:
    assert unpack(section(stream(CODED)))[1]["rows"].equals(CODED)


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


FIELD = [[0], 8, False]


@pytest.mark.parametrize(
    ("learned", "message"),
    [
        ({"maps": [[[FIELD], None]] * 10_000}, "expected a list of up to 256"),
        ({"maps": [[[[[0], 63, False]], None]]}, "expected 1 to 32 bits, got 63"),
        ({"maps": [[[FIELD] * 5, None]]}, "expected a code of up to 32 bits"),
        ({"maps": [[[[[7], 8, False]], None]]}, "expected one of 1 keys, got 7"),
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
