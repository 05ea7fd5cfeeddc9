"""Rows come out of parcels as they went in; test_types.py has them go through Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.errors import EngineError, QueryError
from eddy.query.binding import bind
from eddy.spark import parcels
from eddy.spark.cell import unpack_arrivals
from eddy.spark.layout.hashing import label
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import plan_layout
from eddy.spark.parcels import PARCEL_SCHEMA, find_latest, pack, payloads, report_text, rows_of, write
from tests.tries import fewer

if TYPE_CHECKING:
    pass

MOMENT = datetime(2024, 1, 1, 12, 0, 0, 123_457, tzinfo=UTC)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=5)

TYPES: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "long": (pa.int64(), INTEGERS),
    "tiny": (pa.int8(), st.integers(-128, 127)),
    "real": (pa.float64(), st.floats()),
    "flag": (pa.bool_(), st.booleans()),
    "text": (pa.string(), TEXTS),
    "bytes": (pa.binary(), st.binary(max_size=5)),
    "day": (pa.date32(), st.dates()),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), st.datetimes(timezones=st.just(UTC))),
    "unzoned": (pa.timestamp("us"), st.datetimes()),
    "span": (pa.duration("us"), st.timedeltas(timedelta(-1000), timedelta(1000))),
    "money": (pa.decimal128(38, 18), st.decimals(-(10**19), 10**19, places=18)),
    "none": (pa.null(), st.none()),
    "list": (pa.list_(pa.int64()), st.lists(st.none() | INTEGERS, max_size=3)),
    "map": (pa.map_(pa.string(), pa.int64()), st.lists(st.tuples(TEXTS, st.none() | INTEGERS), max_size=3)),
    "struct": (
        pa.struct({"x": pa.int64(), "y": pa.list_(pa.struct({"z": pa.string()}))}),
        st.fixed_dictionaries(
            {"x": st.none() | INTEGERS, "y": st.none() | st.lists(st.none() | st.fixed_dictionaries({"z": TEXTS}))}
        ),
    ),
}
"""A column of every type that a stream may have, and its values."""

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("ts", pa.timestamp("us", "UTC")),
        *(pa.field(name, kind) for name, (kind, _) in TYPES.items()),
    ]
)
STREAM = eddy.Stream("a", time="ts")


def laid_out(cells: int, schema: pa.Schema = SCHEMA) -> Layout:
    """Two streams by their ids."""
    streams = [STREAM, eddy.Stream("b", time="ts")]
    query = eddy.Query(streams=streams, joins=["a.id = b.id"], select=["a.id"])
    return plan_layout(bind(query, {"a": schema, "b": schema}), cells)


@st.composite
def batches(draw: st.DrawFn) -> list[pa.RecordBatch]:
    """A stream's rows in several batches; ids are numbers in order."""
    values = {name: st.none() | kind for name, (_, kind) in TYPES.items()}
    records = st.fixed_dictionaries({"ts": st.none() | st.just(MOMENT), **values})
    found, number = [], 0
    for rows in draw(st.lists(st.lists(records, max_size=8), max_size=4)):
        numbered = [{"id": number + n, **row} for n, row in enumerate(rows)]
        found.append(pa.RecordBatch.from_pylist(numbered, schema=SCHEMA))
        number += len(rows)
    return found


def same(left: pa.RecordBatch, right: pa.RecordBatch) -> None:
    """Equal to the last bit; NaN is NaN."""
    assert left.schema.equals(right.schema, check_metadata=True)
    for name in left.schema.names:
        one, other = left.column(name), right.column(name)
        if name == "real":
            one, other = (np.nan_to_num(a.fill_null(0.5).to_numpy(), nan=7.25) for a in (one, other))
            assert (one == other).all()
            assert left.column(name).is_null().equals(right.column(name).is_null())
        else:
            assert one.equals(other), name


def sent(found: Iterable[pa.RecordBatch], cell: int) -> pd.DataFrame:
    """What pandas hands to a cell."""
    rows = pa.Table.from_batches(found, PARCEL_SCHEMA).to_pandas()
    return rows[rows["cell"] == label(cell)]


# --- every type, there and back


@fewer(2)
@given(given=batches(), cells=st.integers(1, 5))
def test_rows_come_out_as_they_went_in(given: list[pa.RecordBatch], cells: int) -> None:
    layout = laid_out(cells)
    packed = list(pack(given, STREAM, layout))
    assert all(batch.schema == PARCEL_SCHEMA for batch in packed)
    schemas = {"a": SCHEMA, "b": SCHEMA}
    came = [unpack_arrivals([sent(packed, cell)], schemas).rows for cell in range(cells)]
    assert all(rows["b"].num_rows == 0 for rows in came)
    out = pa.concat_tables([pa.Table.from_batches([rows["a"]]) for rows in came])
    whole = pa.Table.from_batches(given, SCHEMA).combine_chunks()
    by_id = out.combine_chunks().take(pa.array(np.argsort(out.column("id").to_numpy())))
    for left, right in zip(whole.to_batches(), by_id.combine_chunks().to_batches(), strict=True):
        same(left, right)
    assert by_id.num_rows == whole.num_rows


@fewer(2)
@given(given=batches())
def test_a_payload_is_its_rows(given: list[pa.RecordBatch]) -> None:
    for batch in given:
        same(rows_of(write(batch)), batch)
        same(rows_of(write(batch.slice(1, 3))), batch.slice(1, 3))


def test_small_batches_share_a_parcel() -> None:
    rows = pa.RecordBatch.from_pylist([{"id": 1, "ts": MOMENT}], schema=SCHEMA)
    (batch,) = pack([rows] * 50, STREAM, laid_out(4))
    assert batch.num_rows == 1
    assert rows_of(batch.column("payload")[0].as_py()).num_rows == 50


def test_no_rows_are_no_parcels() -> None:
    assert list(pack([], STREAM, laid_out(4))) == []
    assert list(pack([pa.RecordBatch.from_pylist([], schema=SCHEMA)], STREAM, laid_out(4))) == []
    assert {name: rows.schema for name, rows in unpack_arrivals([], {"a": SCHEMA}).rows.items()} == {"a": SCHEMA}


# --- sizes


TEXT_SCHEMA = pa.schema({"id": pa.int64(), "ts": pa.int64(), "text": pa.string()})


def texts(sizes: list[int]) -> pa.RecordBatch:
    rows = [{"id": n, "ts": n, "text": "x" * size} for n, size in enumerate(sizes)]
    return pa.RecordBatch.from_pylist(rows, schema=TEXT_SCHEMA)


@given(sizes=st.lists(st.sampled_from([0, 10, 100, 3_000]), min_size=1, max_size=40))
def test_no_payload_is_larger_than_its_limit_but_of_a_single_row(sizes: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parcels, "PAYLOAD_BYTES", 2_000)
        patch.setattr(parcels, "GATHERED_BYTES", 4_000)
        packed = list(pack([texts(sizes)], STREAM, laid_out(2, TEXT_SCHEMA)))
        results = list(payloads([texts(sizes), texts(sizes)]))
    found = [payload for batch in packed for payload in batch.column("payload").to_pylist()]
    for payload in (*found, *results):
        assert len(payload) < 3_000 or rows_of(payload).num_rows == 1
    assert sum(rows_of(payload).num_rows for payload in found) == len(sizes)
    assert [n for payload in results for n in rows_of(payload).column("id").to_pylist()] == [*range(len(sizes))] * 2
    assert all(len(batch) == 1 or sum(map(len, batch.column("payload").to_pylist())) <= 2_000 for batch in packed)


def test_a_report_stays_small_and_says_what_it_leaves_out() -> None:
    assert json.loads(report_text({"cell": 1, "rows": {"a": 2}})) == {"cell": 1, "rows": {"a": 2}}
    long = {"cell": 1, "routes": ["x" * 100] * 5_000, "rows": 3}
    assert json.loads(report_text(long)) == {"cell": 1, "rows": 3, "left_out": ["routes"]}


# --- times


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.timestamp("us", "Europe/Berlin"), [MOMENT, None], 1_704_110_400_123_457),
        (pa.timestamp("ns"), [1_999, 2_999], 2),
        (pa.timestamp("s"), [datetime(1970, 1, 1, 0, 1)], 60_000_000),
        (pa.timestamp("us"), [datetime(9999, 12, 31)], parcels.LATEST),
        (pa.timestamp("us"), [datetime(1066, 10, 14)], 0),
        (pa.int32(), [3, 7, None], 7_000),
        (pa.int64(), [2**63 - 1], parcels.LATEST),
        (pa.int64(), [-5], 0),
        (pa.float64(), [1.5, float("nan"), None], 1_000),
        (pa.float64(), [float("inf")], parcels.LATEST),
        (pa.float64(), [float("nan")], 0),
        (pa.int64(), [None], 0),
    ],
)
def test_a_parcel_s_time_is_the_largest(kind: pa.DataType, values: list[Any], expected: int) -> None:
    assert find_latest(pa.record_batch({"ts": pa.array(values, kind)}), STREAM) == expected


def test_a_time_that_does_not_fit_is_the_user_s_error() -> None:
    with pytest.raises(QueryError) as caught:
        find_latest(pa.record_batch({"ts": pa.array([2**62], pa.timestamp("s"))}), STREAM)
    assert 'stream "a": time "ts": expected times that fit into 64 bits' in str(caught.value)


def test_rows_without_a_time_arrive() -> None:
    rows = pa.RecordBatch.from_pylist([{"id": 1}, {"id": 2}], schema=SCHEMA)
    (batch,) = pack([rows], STREAM, laid_out(1))
    assert batch.column("time").to_pylist() == [datetime(1970, 1, 1, tzinfo=UTC)]
    assert rows_of(batch.column("payload")[0].as_py()).num_rows == 2


# --- damage


@given(at=st.integers(0, 2_000), bit=st.integers(0, 7))
def test_a_damaged_payload_is_refused(at: int, bit: int) -> None:
    payload = bytearray(write(texts([10, 20])))
    payload[at % len(payload)] ^= 1 << bit
    with pytest.raises(EngineError, match=r"parcel: its .* bytes cannot be read"):
        rows_of(bytes(payload))


@pytest.mark.parametrize("length", [0, 3, 4, 7, 8, 100])
def test_a_payload_that_was_cut_off_is_refused(length: int) -> None:
    with pytest.raises(EngineError, match=f"parcel: its {length} bytes cannot be read"):
        rows_of(write(texts([10, 20]))[:length])
