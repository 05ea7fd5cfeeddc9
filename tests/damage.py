"""State and parcels as they should not be: cut off, with wrong bytes, of something else, or forged.

Damage is found by a checksum. What is forged has a right one, so everything behind it is put to the test as well.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.snapshot import ALL_JSON, FORMAT, UNPACKED, Snapshot, unpack
from eddy.operators.stored.pages import read_pages
from eddy.policies.registry import POLICIES
from eddy.spark.parcels import CHECKSUM_BYTES, MARK, rows_of, write
from eddy.tuples import arrow_ipc
from eddy.tuples.packed import Packed, pack_stream
from tests.memory import measured
from tests.policies.checks import steady_clock
from tests.policies.choices import chosen

ROWS = 60

MEMORY = 32 << 20
"""Bytes that reading may take: the states here have less than a hundred thousand."""

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int32()), ("s", pa.string()), ("f", pa.float64())])


def batch(seed: int) -> pa.RecordBatch:
    chance = np.random.default_rng(seed)
    times = np.sort(chance.integers(seed * 10, seed * 10 + 10, ROWS))
    keys = pa.array(chance.integers(0, 8, ROWS), pa.int32())
    texts = [None if k == 0 else "é" * int(k) for k in chance.integers(0, 5, ROWS)]
    columns = [pa.array(times), keys, pa.array(texts, pa.string()), pa.array(chance.random(ROWS))]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


INDEX = {"kind": "bits", "period": 50, "trigger": 50, "theta": 0.1}
"""Indexes that are chosen by the third micro-batch, so that a state has what was learned of searches."""


KEPT = "a_caching with caches that are kept"
"""Stands for a policy whose caches are in the state."""


def engine(policy: str, index: Any = None) -> Engine:
    """An engine whose state has everything: rows, verdicts, ranks, and what a policy and its indexes have learned."""
    if policy == KEPT:
        return keeping()
    filters = [
        eddy.Filter("small", on="a", where="f < 0.5e0"),
        eddy.Filter("long", on="b", where="length(s) > 1"),
        eddy.Filter("few", on="b", where="k <> 3"),
    ]
    asked = eddy.Query(
        streams=[
            eddy.Stream("a", time="ts", window=eddy.Range(20), delay=5),
            eddy.Stream("b", time="ts", window=eddy.Rows(40), delay=5),
        ],
        joins=["a.k = b.k"],
        filters=filters,
    )
    names = [*(f.name for f in filters), "probe_a", "probe_b"]
    schemas = {"a": SCHEMA, "b": SCHEMA}
    how = chosen(policy, names, "a.k")
    return wiring.engine(asked, schemas, how, tables={}, clock=steady_clock(), seed=0, index=index or INDEX)


def keeping() -> Engine:
    """An engine whose state has a cache, by two keys, of a query that has only as much else as it needs."""
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(30), delay=5) for name in "abc"]
    joins = ["a.k = b.k", "b.k = c.k", "b.s = c.s", "a.f < b.f + 0.9e0"]
    asked = eddy.Query(streams=streams, joins=joins)
    how = {"name": "a_caching", "order": "fixed", "force": ["cached_a_b"]}
    schemas = dict.fromkeys("abc", SCHEMA)
    return wiring.engine(asked, schemas, how, tables={}, clock=steady_clock(), seed=0, cache_state="keep")


@cache
def saved(policy: str) -> Snapshot:
    """The state after some micro-batches."""
    running = engine(policy)
    if policy == KEPT:
        for number in range(4):
            for _ in running.run({"a": batch(number), "b": batch(number), "c": batch(number)}):
                pass
        kept = running.snapshot()
        assert "cache 0" in unpack(kept)[1]
        return kept
    for number in range(5):
        for _ in running.run({"a": batch(number), "b": batch(100 + number).set_column(0, "ts", batch(number)["ts"])}):
            pass
    return running.snapshot()


@dataclass(frozen=True, kw_only=True)
class Damaged:
    """A state, whose it was, and whether its checksum is that of what it has."""

    policy: str
    snapshot: Snapshot
    sealed: bool


def sealed(written: str, blob: bytes, number: int = FORMAT) -> Snapshot:
    """With the checksum that belongs to it; format 1 has one of everything."""
    summed = zlib.crc32(written.encode("utf-8", "replace"))
    summed = zlib.crc32(blob, summed) if number == UNPACKED else summed
    return Snapshot(number, f"{summed:08x} {written}", blob)


def resealed(written: str, blob: bytes, number: int) -> Snapshot:
    """With the checksums that belong to it and to all parts, the last of which has whatever the others leave."""
    if number == UNPACKED:
        return sealed(written, blob, number)
    tree = json.loads(written)
    parts = [part for parts in tree["sections"].values() for part in parts]
    start = 0
    for part in parts:
        part[0] = len(blob) - start if part is parts[-1] else part[0]
        part[2] = zlib.crc32(blob[start : start + part[0]])
        start += part[0]
    return sealed(json.dumps(tree), blob, number)


@cache
def first_format(whole: Snapshot) -> Snapshot:
    """The same state in the first format: a table of all that is known of the rows that are alive, not compressed."""
    meta, tables = unpack(whole)
    sink = pa.BufferOutputStream()
    sections = {}
    for name, parts in tables.items():
        start = sink.tell()
        stream = name.removeprefix("stream ")
        rows = parts[0].read() if stream == name else _one_table(parts, meta["numbers"][stream].pop("gone"))
        arrow_ipc.write(rows, sink)
        sections[name] = [start, sink.tell() - start]
    return sealed(json.dumps({**meta, "sections": sections}), sink.getvalue().to_pybytes(), UNPACKED)


@cache
def second_format(whole: Snapshot) -> Snapshot:
    """The same state in the second format: long lists are JSON."""
    meta, tables = unpack(whole)
    sections = {name: [[len(part.data), part.size, part.checksum] for part in parts] for name, parts in tables.items()}
    blob = b"".join(part.data for parts in tables.values() for part in parts)
    return sealed(json.dumps({**meta, "sections": sections}), blob, ALL_JSON)


def _read_parts(whole: Snapshot) -> dict[str, list[Packed]]:
    """All parts of a state, the long lists too."""
    found: dict[str, list[Packed]] = {}
    start = 0
    for name, parts in json.loads(written_in(whole))["sections"].items():
        for length, size, _ in parts:
            found.setdefault(name, []).append(Packed(whole.blob[start : start + length], size))
            start += length
    return found


def _one_table(parts: list[Packed], gone: int) -> pa.RecordBatch:
    *pages, marks = (part.read() for part in parts)
    rows = read_pages(pages, SCHEMA, gone)
    columns = {f"column {name}": rows.column(name) for name in SCHEMA.names}
    columns |= {name: marks.column(name) for name in marks.schema.names}
    return pa.record_batch(columns).filter(columns.pop("alive")).select(list(columns))


def written_in(snapshot: Snapshot) -> str:
    """The JSON of a state, without its checksum."""
    return snapshot.meta.partition(" ")[2]


def _cut(whole: bytes, place: int, new: bytes) -> bytes:
    return whole[:place]


def _flip(whole: bytes, place: int, new: bytes) -> bytes:
    return whole[:place] + bytes([whole[place] ^ (1 << (len(new) % 8))]) + whole[place + 1 :]


def _over(whole: bytes, place: int, new: bytes) -> bytes:
    return whole[:place] + new + whole[place + len(new) :]


def _insert(whole: bytes, place: int, new: bytes) -> bytes:
    return whole[:place] + new + whole[place:]


def _twice(whole: bytes, place: int, new: bytes) -> bytes:
    return whole[:place] + whole


EDITS: tuple[Callable[[bytes, int, bytes], bytes], ...] = (_cut, _flip, _flip, _over, _insert, _twice)

NEW = st.binary(max_size=16) | st.sampled_from([b"\x00" * 8, b"\xff" * 8, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f"])


@st.composite
def edited(draw: st.DrawFn, whole: bytes) -> bytes:
    """Bytes, with a few edits."""
    for _ in range(draw(st.integers(1, 4))):
        edit, place = draw(st.sampled_from(EDITS)), draw(st.integers(0, max(len(whole) - 1, 0)))
        whole = edit(whole, place, draw(NEW)) if whole else draw(NEW)
    return whole


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([2**31, 2**40, 2**62, -1, "stream a", "__class__", [2**40], {}])
)
TREES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner))


@st.composite
def replaced(draw: st.DrawFn, tree: Any, depth: int = 0) -> Any:
    """A tree of JSON in which one part is another one, or is gone."""
    inner = list(tree) if isinstance(tree, dict) else list(range(len(tree))) if isinstance(tree, list) else []
    if not inner or (depth and draw(st.integers(0, 3)) == 0):
        return draw(TREES)
    key = draw(st.sampled_from(inner))
    gone = draw(st.integers(0, 5)) == 0
    if isinstance(tree, dict):
        kept = {name: value for name, value in tree.items() if name != key}
        return kept if gone else {**kept, key: draw(replaced(tree[key], depth + 1))}
    return tree[:key] + ([] if gone else [draw(replaced(tree[key], depth + 1))]) + tree[key + 1 :]


DAMAGE = ("blob", "meta", "forged blob", "forged meta", "stream", "foreign", "format")

FORGED_TREES = {"forged tree": None, "forged tuning": "tuning", "forged counts": "indexed"}
FORGED_CACHES = {"forged tree": None, "forged caches": "caches"}
"""States with another part in them, and in which part of them."""


@st.composite
def repacked(draw: st.DrawFn, whole: Snapshot) -> Snapshot:
    """A state with another stream in one of its parts, or another size; all checksums are right."""
    tree = json.loads(written_in(whole))
    tables = _read_parts(whole)
    name = draw(st.sampled_from(sorted(tables)))
    place = draw(st.integers(0, len(tables[name]) - 1))
    made = pack_stream(pa.py_buffer(draw(edited(tables[name][place].expand().to_pybytes()))))
    size = draw(st.just(made.size) | st.integers(-(2**40), 2**40) | st.integers(0, 2 * (made.size or 0)))
    tree["sections"][name][place] = [len(made.data), size, made.checksum]
    tables[name][place] = made
    return sealed(json.dumps(tree), b"".join(part.data for parts in tables.values() for part in parts))


def list_forms(policy: str) -> list[Snapshot]:
    """A state in all formats; the first ones had no caches."""
    newest = saved(policy)
    return [newest] if policy == KEPT else [newest, first_format(newest), second_format(newest)]


@st.composite
def states(draw: st.DrawFn) -> Damaged:
    """States with damage of any kind, in any format."""
    policy = draw(st.sampled_from([*sorted(POLICIES), *[KEPT] * 5]))
    whole = draw(st.sampled_from(list_forms(policy)))
    trees = FORGED_CACHES if policy == KEPT else FORGED_TREES
    kind = draw(st.sampled_from([*DAMAGE, *trees]))
    if kind == "stream":
        return Damaged(policy=policy, snapshot=draw(repacked(saved(policy))), sealed=True)
    if kind == "foreign":
        parts: Any = (whole.format, draw(st.none() | st.text()), draw(st.none() | st.binary()))
        found = Snapshot(*parts)
        return Damaged(policy=policy, snapshot=found, sealed=False)
    if kind == "format":
        number: Any = draw((st.none() | st.integers(-(2**31), 2**31)).filter(lambda n: n != whole.format))
        return Damaged(policy=policy, snapshot=replace(whole, format=number), sealed=False)
    if kind.endswith("blob"):
        blob = draw(edited(whole.blob))
        forged = resealed(written_in(whole), blob, whole.format)
        return Damaged(
            policy=policy, snapshot=forged if kind[0] == "f" else replace(whole, blob=blob), sealed=kind[0] == "f"
        )
    if kind == "meta":
        meta = draw(edited(whole.meta.encode())).decode("utf-8", "replace")
        return Damaged(policy=policy, snapshot=replace(whole, meta=meta), sealed=False)
    if kind in trees:
        tree = json.loads(written_in(whole))
        part = trees[kind]
        other = draw(replaced(tree)) if part is None else {**tree, part: draw(replaced(tree[part]))}
        return Damaged(policy=policy, snapshot=sealed(json.dumps(other), whole.blob, whole.format), sealed=True)
    text = draw(edited(written_in(whole).encode())).decode("utf-8", "replace")
    return Damaged(policy=policy, snapshot=sealed(text, whole.blob, whole.format), sealed=True)


@contextmanager
def little_memory() -> Iterator[None]:
    """What happens in here must not take much memory, of Python's, of numpy's or of Arrow's."""
    with measured() as taken:
        yield
    assert taken.most < MEMORY, f"{taken.most:,} bytes"


@contextmanager
def refusal(kind: type[eddy.EddyError], begins: str, advice: tuple[str, ...]) -> Iterator[list[str]]:
    """What happens in here may be refused; gives the texts in which it was, and they must say what to do."""
    told: list[str] = []
    try:
        yield told
    except kind as error:
        told.append(str(error))
    assert all(text.startswith(begins) and any(part in text for part in advice) for text in told), told


ADVICE = ("begin a new", "learns anew", "go back to")


def read_state(damaged: Damaged, number: int = 0) -> str:
    """Go on from it, or refuse it as it should be refused."""
    with little_memory(), refusal(eddy.CheckpointError, "checkpoint: ", ADVICE) as refused:
        engine(damaged.policy).restore(damaged.snapshot)
    if refused:
        return "refused"
    if damaged.sealed:
        return "forged well enough to be read"
    assert damaged.snapshot in list_forms(damaged.policy), "damage that nobody noticed"
    return "unharmed"


@cache
def payload() -> bytes:
    return write(batch(0))


@st.composite
def payloads(draw: st.DrawFn) -> bytes:
    """Payloads with damage of any kind, half of them with the checksum that belongs to them."""
    begin = len(MARK) + CHECKSUM_BYTES
    if draw(st.booleans()):
        return draw(st.binary() | edited(payload()))
    body = draw(edited(payload()[begin:]))
    return MARK + zlib.crc32(body).to_bytes(CHECKSUM_BYTES, "big") + body


def read_payload(found: bytes, number: int = 0) -> str:
    """Read it, or refuse it as it should be refused."""
    with little_memory(), refusal(eddy.EngineError, "parcel: ", ("run the same version",)) as refused:
        rows_of(found).to_pylist()
    if refused:
        return "refused"
    return "unharmed" if found == payload() else "forged well enough to be read"
