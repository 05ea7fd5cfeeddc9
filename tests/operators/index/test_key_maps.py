"""Whatever key maps parts have, the same rows come out, in the same order."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.operators import matching
from eddy.operators.index.catalog import Catalog
from eddy.operators.index.structures.key_map import Field, KeyMap
from tests import tiny

JOINS: Sequence[Sequence[str]] = (
    ["a.k = b.k", "a.x = b.x", "b.k = c.k", "c.x = a.x"],
    ["a.k = b.k", "a.s = b.s", "a.t > b.t", "b.x = c.x", "b.k = c.k", "a.s = c.s"],
    ["a.k = b.k", "a.t <= b.t + 2", "a.t >= b.t - 2", "c.k = b.k", "c.t < b.t", "c.x = b.x"],
    ["a.k + 1 = b.k", "a.x = b.x", "a.s = b.s", "c.k = a.k", "c.x = b.x", "c.s = b.s"],
)
"""Several keys for each pair, some of them shared, texts, expressions, and orders beside equalities."""

WINDOWS = (eddy.Range(30), eddy.Range(7.5), eddy.Rows(25), eddy.Unbounded())

ROWS = 50


def query(joins: Sequence[str], windows: Sequence[eddy.Range | eddy.Rows | eddy.Unbounded], delay: int) -> eddy.Query:
    return eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=w, delay=delay) for s, w in zip("abc", windows, strict=True)],
        joins=joins,
        filters=[eddy.Filter("few", on="a", where="x < 2 or t > 1")],
        select=[f"{s}.{column} as {s}_{column}" for s in "abc" for column in ("ts", "n")],
    )


def rows(rng: np.random.Generator, late: int) -> pa.Table:
    def some(values: Sequence[object], share: float = 0.15) -> list[object]:
        return [None if rng.random() < share else values[int(rng.integers(len(values)))] for _ in range(ROWS)]

    ts = np.maximum(np.sort(rng.integers(0, ROWS, ROWS)) - rng.integers(0, late + 1, ROWS), 0)
    return pa.table(
        {
            "ts": ts,
            "n": np.arange(ROWS),
            "k": pa.array(some([0, 1, 2]), pa.int32()),
            "x": pa.array(some([0, 1, 2, 3]), pa.int64()),
            "s": pa.array(some(["", "a", "b"]), pa.string()),
            "t": pa.array(some([0, 1, 2, 3, 4, 5]), pa.int64()),
        }
    )


@pytest.mark.parametrize("seed", range(16))
def test_any_key_maps_give_the_same_rows_in_the_same_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    late = chance.choice([0, 0, 9])
    asked = query(JOINS[seed % len(JOINS)], [chance.choice(WINDOWS) for _ in "abc"], late)
    data = {s: rows(rng, late) for s in "abc"}
    policy = {"name": "fixed", "order": [f"probe_{s}" for s in chance.sample("abc", 3)] + ["few"]}
    size = chance.choice([3, 9, 20])
    before = eddy.run_local(
        asked, data, policy=policy, batch_rows=size, index={"kind": "patterns", "merge": False, "time_order": False}
    )
    tiny.parts_of(monkeypatch, 4, merged=chance.choice([6, 20, 1 << 16]))
    tiny.other_maps(monkeypatch, chance, chance.choice([1, 4, 64]))
    monkeypatch.setattr(matching, "MOST_TUPLES", chance.choice([3, 1 << 15]))
    found = eddy.run_local(asked, data, policy=policy, batch_rows=size)
    assert before.results.num_rows
    assert found.results.to_pylist() == before.results.to_pylist()


@pytest.mark.parametrize("value", range(4))
def test_a_field_that_a_search_lacks_may_have_one_value(value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of b are put in order by `k`, which has one value, and then by `x`; what c knows of is `x` alone."""
    in_order = [KeyMap(fields=(Field(keys=(0,), bits=3), Field(keys=(1,), bits=5)))]
    rest = Catalog.rest

    def rest_and_use(self: Catalog, room: int, most: int) -> None:
        rest(self, room, most)
        self.use(in_order if len(self.names) > 1 else [])

    rows = pa.table({"n": np.arange(200), "k": np.full(200, value), "x": np.arange(200) * 7 % 20})
    asked = eddy.Query(
        streams=[eddy.Stream(name, time="n", window=eddy.Range(40), delay=0) for name in "abc"],
        joins=["a.k = b.k", "a.x = b.x", "b.x = c.x"],
        select=[f"{name}.n as {name}_n" for name in "abc"],
    )
    data, policy = dict.fromkeys("abc", rows), {"name": "fixed", "order": ["probe_b", "probe_c", "probe_a"]}
    before = eddy.run_local(asked, data, policy=policy, batch_rows=50, index={"kind": "patterns"}).results
    monkeypatch.setattr(Catalog, "rest", rest_and_use)
    found = eddy.run_local(asked, data, policy=policy, batch_rows=50, index={"chains": False}).results
    assert before.num_rows
    assert found.to_pylist() == before.to_pylist()
