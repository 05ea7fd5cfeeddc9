"""Codes of values: equal values have equal codes, and exact codes sort as the values do."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.tuples.codes import encode, is_exact
from tests.reference import before, same
from tests.tries import fewer

STRATEGIES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1) | st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.float64(): st.floats() | st.sampled_from([0.0, -0.0, float("nan"), -float("nan")]),
    pa.float32(): st.floats(width=32) | st.sampled_from([0.0, -0.0]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.decimal128(18, 3): st.decimals(-(10**15) + 1, 10**15 - 1, places=3),
    pa.decimal128(38, 3): st.integers(-(10**27), 10**27).map(lambda n: Decimal(n).scaleb(-3)),
    pa.string(): st.text(max_size=9),
    pa.binary(): st.binary(max_size=9),
}


@pytest.mark.parametrize("data_type", STRATEGIES, ids=str)
@fewer(2)
@given(data=st.data())
def test_codes_agree_with_values(data_type: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | STRATEGIES[data_type], min_size=1, max_size=8))
    values += values[::2]
    array = pa.array([None, *values], data_type).slice(1)
    codes, valid = encode(array)
    present = np.ones(len(values), np.bool_) if valid is None else valid
    assert present.tolist() == [value is not None for value in values]
    plain = array.to_pylist()
    pairs = [(i, j) for i in range(len(plain)) for j in range(len(plain)) if present[i] and present[j]]
    for i, j in pairs:
        if same(plain[i], plain[j]):
            assert codes[i] == codes[j]
        elif is_exact(data_type):
            assert (codes[i] < codes[j]) == before(plain[i], plain[j])


def test_hashes_of_short_texts_differ() -> None:
    texts = pa.array([f"{prefix}{n}" for prefix in ("", "a", "key-") for n in range(20_000)])
    codes, _ = encode(texts)
    assert len(set(codes.tolist())) == len(texts)
