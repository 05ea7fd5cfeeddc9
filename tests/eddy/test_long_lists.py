"""Long lists of a state, which are no JSON: all that is plain comes back as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.engine.long_lists import LEAST, MARK, put_back, take_out
from eddy.engine.snapshot import pack, unpack

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3)
LONG = st.one_of(
    *(
        st.lists(values, min_size=LEAST - 2, max_size=LEAST + 9)
        for values in (
            st.booleans(),
            st.integers(-9, 9),
            st.integers(-(2**64), 2**64),
            st.floats(allow_nan=False),
            st.text(max_size=3),
            LEAVES,
        )
    )
)
KEYS = st.text(max_size=2) | st.just(MARK)
TREES = st.recursive(LEAVES | LONG, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner))


def kinds(value: Any) -> Any:
    """The type of every part: 1 and True and 1.0 are equal, and not the same."""
    if isinstance(value, list):
        return [kinds(part) for part in value]
    return {key: kinds(part) for key, part in value.items()} if isinstance(value, dict) else type(value)


@given(value=TREES)
def test_all_that_is_plain_comes_back(value: Any) -> None:
    left, lists = take_out(value)
    found = put_back(json.loads(json.dumps(left)), lists)
    assert found == value
    assert kinds(found) == kinds(value)


@pytest.mark.parametrize("size", [8, 16, 32, 64])
def test_the_ends_of_a_size_come_back(size: int) -> None:
    for ends in ([-(2 ** (size - 1)), 2 ** (size - 1) - 1], [-(2 ** (size - 1)) - 1], [2 ** (size - 1)]):
        values = [*range(LEAST), *ends]
        left, lists = take_out(values)
        assert put_back(left, lists) == values


def test_what_no_json_has_comes_back() -> None:
    values = [float("nan"), float("inf"), -0.0, 5e-324, *map(float, range(LEAST))]
    assert list(map(str, put_back(*take_out(values)))) == list(map(str, values))
    texts = ["\ud800", "é", "\0", '"', *map(str, range(LEAST))]
    assert put_back(*take_out(texts)) == texts


def test_a_mapping_with_the_mark_of_a_list_is_one() -> None:
    values = {MARK: ["<i2", 0, 4], "a": {MARK: {MARK: [*range(LEAST)]}}}
    assert put_back(*take_out(values)) == values


def test_short_lists_stay_where_they_are() -> None:
    assert take_out({"a": [1] * (LEAST - 1)}) == ({"a": [1] * (LEAST - 1)}, None)


@pytest.mark.parametrize("marked", [["<i2", 0, 10**6], ["<i2", -1, 2], ["<i2", 4, -2], ["O", 0, 1], ["<i2"] * 3])
def test_a_list_that_is_not_there_is_refused(marked: list[Any]) -> None:
    _, lists = take_out([*range(LEAST)])
    with pytest.raises((ValueError, TypeError)):
        put_back({MARK: marked}, lists)


def test_many_values_take_few_bytes() -> None:
    """A thousand hashes take no more than their own bytes and a seventh."""
    codes = [(n * 0x9E3779B97F4A7C15) % 2**63 for n in range(1_000)]
    snapshot = pack({"codes": codes}, {})
    assert len(snapshot.meta) < 200
    assert len(snapshot.blob) < 8 * len(codes) * 8 / 7 + 500
    assert unpack(snapshot)[0]["codes"] == codes
