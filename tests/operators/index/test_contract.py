"""The checks, crossed with the registry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.operators.index import price
from eddy.operators.index.structures.contracts import Index, PartRows
from eddy.operators.index.structures.key_map import Field, KeyMap, hash_map
from eddy.operators.index.structures.registry import INDEXES
from eddy.tuples.request import Request
from tests.operators.index.checks import ASKED, CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", sorted(INDEXES))
def test_contract(name: str, check: Callable[[str], None]) -> None:
    check(name)


def test_rows_without_keys_count_where_an_index_takes_in_another() -> None:
    """Few of its rows are in the order, and their numbers are larger than those of the others."""
    made, valid = hash_map(0b1, 8), np.arange(100) >= 97
    index = INDEXES["mapped"](made, PartRows(200, [np.arange(200)], None, None, (8,)))
    more = INDEXES["mapped"](made, PartRows(100, [np.arange(200, 300)], valid, None, (8,)))
    assert index.extend(more, 200)
    starts, counts = index.search(Request({0: np.arange(297, 300)}), slice(None))
    for row, start, count in zip(range(297, 300), starts, counts, strict=True):
        assert row in index.order[start : start + count]


def test_rows_that_all_lack_a_key_are_one_run() -> None:
    """A search by another key finds them."""
    made = KeyMap(fields=(Field(keys=(0,), bits=4), Field(keys=(1,), bits=4)))
    assert price.predict(made, 0b10, 100, (4, 4), lambda _: 0.5, lambda *_: 0.0).ranges == 1


def test_every_index_says_what_it_can_be_asked() -> None:
    assert set(ASKED) == set(INDEXES)


def test_every_index_is_built_by_some_join(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is registered, and that the builder never chooses, would do nothing without a word."""
    built: set[str] = set()

    def note(name: str, make: Callable[[KeyMap, PartRows], Index], key_map: KeyMap, part: PartRows) -> Index:
        built.add(name)
        return make(key_map, part)

    for name, make in list(INDEXES.items()):
        monkeypatch.setitem(INDEXES, name, partial(note, name, make))
    rows = pa.table({"ts": np.arange(60), "k": np.arange(60) % 7})
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(50), delay=0) for name in "ab"]
    in_order, as_before = {"kind": "hash"}, {"kind": "hash", "merge": False, "time_order": False}
    for join, index in (("a.k = b.k", in_order), ("a.k = b.k", as_before), ("a.k < b.k", in_order)):
        query = eddy.Query(streams=streams, joins=[join])
        assert eddy.run_local(query, {"a": rows, "b": rows}, batch_rows=20, index=index).results.num_rows
    assert built == set(INDEXES)
