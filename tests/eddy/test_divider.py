"""Values in buckets, and what the buckets are called."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.classes.divider import Attribute, Divider
from eddy.classes.value_names import LONGEST_VALUE
from eddy.sql import Column

ROWS = 300
RNG = np.random.default_rng(0)


def divider(data_type: pa.DataType, buckets: int = 4, values: tuple[Any, ...] = (), ranges: int = 0) -> Divider:
    return Divider(Attribute(Column("s", "c"), values), data_type, buckets, ranges or buckets)


def teach(one: Divider, array: pa.Array, begun: int = 0) -> Divider:
    """Let it learn from some rows, and none of them is left out."""
    one.learn(len(array), begun, lambda count: array)
    return one


def shuffled(values: list[Any], data_type: pa.DataType | None = None) -> pa.Array:
    """Each of the values as often as the others, in no order."""
    return pa.array([values[i] for i in RNG.permutation(np.arange(ROWS) % len(values))], data_type)


def named(array: pa.Array, buckets: int = 4) -> dict[Any, str]:
    """What the bucket of each value is called."""
    one = teach(divider(array.type, buckets), array)
    found = one.divide(array).tolist()
    return {value: one.name(bucket)[1] for value, bucket in zip(array.to_pylist(), found, strict=True)}


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["Paris", "Rome", None], ["c=Paris", "c=Rome", "c=null"]),
        ([7, -1, None], ["c=7", "c=-1", "c=null"]),
        ([True, False, None], ["c=true", "c=false", "c=null"]),
        ([b"\x00\xff", b""], ["c=0x00ff", "c=0x"]),
        (["", "null", " a", "two\nlines"], ['c=""', 'c="null"', 'c=" a"', "c=two\\nlines"]),
    ],
)
def test_a_discrete_value_is_named_by_itself(values: list[Any], names: list[str]) -> None:
    assert named(shuffled(values)) == dict(zip(values, names, strict=True))


def test_long_values_are_cut() -> None:
    names = named(shuffled(["x" * 50, "y" * LONGEST_VALUE, "z"]))
    assert sorted(map(len, names.values())) == [len("c=z"), len("c=") + LONGEST_VALUE, len("c=") + LONGEST_VALUE]


def test_values_beyond_the_known_ones_are_named_with_whom_they_share() -> None:
    names = named(shuffled([f"v{n}" for n in range(40)]))
    assert set(names.values()) == {"c=others", "c=others 2", "c=others 3", "c=others 4"}
    heavy = named(shuffled(["a", "b", *["c"] * 38, *(f"v{n}" for n in range(40))]), 16)
    assert heavy["c"] == "c=c"
    assert all(name.startswith("c=others") for value, name in heavy.items() if value != "c")


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([0.0, 12.5, 49.0, 50.0, None], ["..0", "0..49", "49..50", "50..", "null"]),
        ([*range(101)], [*["..24"] * 25, *["25..49"] * 25, *["50..74"] * 25, *["75.."] * 26]),
        ([Decimal("0.00"), Decimal("1.00")], ["..0", "1.."]),
        (
            [date(2024, 1, day) for day in (1, 5, 9)],
            ["..2024-01-01", "2024-01-05..2024-01-08", "2024-01-09.."],
        ),
        ([np.timedelta64(second, "s") for second in (0, 100)], ["..1 s", "100.. s"]),
    ],
)
def test_a_range_is_named_by_its_ends(values: list[Any], names: list[str]) -> None:
    array = shuffled(values)
    found = named(array)
    assert [found[value].removeprefix("c=") for value in pa.array(values).to_pylist()] == names


def test_moments_are_named_as_finely_as_the_range_is_wide() -> None:
    for seconds, name in (
        (1, "1970-01-01T00:00:25..1970-01-01T00:00:50"),
        (3600, "1970-01-02T01:00..1970-01-03T02:00"),
    ):
        values = [datetime(1970, 1, 1) + timedelta(seconds=n * seconds) for n in range(101)]
        assert f"c={name}" in named(shuffled(values, pa.timestamp("us"))).values()


def test_ends_follow_the_values() -> None:
    """The identity of a range is its number, though its ends move."""
    one, begun, names = divider(pa.float64()), 0, []
    for scale in (1, 100):
        array = pa.array(RNG.permutation(2_000) / 1_000 * scale)
        for _ in range(8):
            teach(one, array, begun)
            begun += 100_000
        names.append(one.name(1))
        assert np.bincount(one.divide(array)).max() < 0.6 * len(array)
    assert names[0][1] != names[1][1]
    assert {key for key, _ in names} == {"c#1"}


def test_values_that_are_known_beforehand_are_named_and_the_others_are_others() -> None:
    one = divider(pa.decimal128(4, 1), 2, (Decimal("1.5"), Decimal(2)))
    found = one.divide(pa.array([Decimal(2), Decimal("1.5"), Decimal(3), None], pa.decimal128(4, 1)))
    assert [one.name(bucket)[1] for bucket in found.tolist()] == ["c=2", "c=1.5", "c=others", "c=others"]


def test_what_tells_nothing_is_one_bucket_and_null() -> None:
    assert set(named(pa.array([None, *range(ROWS)])).values()) == {"c=any", "c=null"}
    assert named(pa.nulls(ROWS, pa.float64())) == {None: "c=null"}


ARRAYS = [
    shuffled([f"v{n}" for n in range(3)] + [None]),
    shuffled([f"v{n}" for n in range(40)]),
    shuffled([b"a", b"\xff"]),
    shuffled([*range(5)]),
    pa.array(RNG.integers(0, 1000, ROWS)),
    pa.array(RNG.random(ROWS)),
    shuffled([np.datetime64(n, "us") for n in (3, 1, 2)]),
    shuffled([1.5, None]),
    shuffled([Decimal("1.5"), Decimal("2.5")]),
    pa.array(range(ROWS)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: str(array.type))
def test_a_divider_that_is_restored_goes_on_as_it_was(array: pa.Array) -> None:
    for stop in (30, 120, 240):
        first, second = divider(array.type, 8), divider(array.type, 8)
        for start in range(0, stop, 30):
            teach(first, array.slice(start, 30), start)
            first.divide(array.slice(start, 30))
        second.restore(json.loads(json.dumps(first.snapshot())))
        for one in (first, second):
            for start in range(stop, ROWS, 30):
                teach(one, array.slice(start, 30), start)
        assert first.divide(array.slice(stop)).tolist() == second.divide(array.slice(stop)).tolist()
        assert [first.name(n) for n in range(9)] == [second.name(n) for n in range(9)]
        assert first.snapshot() == second.snapshot()


def test_what_is_kept_does_not_grow() -> None:
    one, sizes = divider(pa.string(), 8), []
    for begun in range(20):
        array = pa.array([f"v{n}" * 20 for n in RNG.integers(0, 50, ROWS)])
        teach(one, array, begun * 10_000)
        one.divide(array)
        sizes.append(len(json.dumps(one.snapshot())))
    assert max(sizes[-8:]) <= 1.1 * max(sizes[:8])


@pytest.mark.parametrize("policy", ["content", "query_mesh"])
def test_numbers_of_64_bits_without_a_sign_tell_rows_apart(policy: str) -> None:
    size = 600
    numbers = [[0, 5, 2**63 - 1, 2**63, 2**64 - 1, None][n * 7 % 6] for n in range(size)]
    spread = [n * 0x9E3779B97F4A7C15 % 2**64 for n in range(size)]
    table = pa.table(
        {
            "ts": range(size),
            "v": [n * 7 % 6 for n in range(size)],
            "few": pa.array(numbers, pa.uint64()),
            "many": pa.array(spread, pa.uint64()),
        }
    )
    filters = [eddy.Filter("low", on="a", where="v > 1"), eddy.Filter("high", on="a", where="v < 4")]
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.few", "a.many"])
    found = eddy.run_local(asked, {"a": table}, policy=policy, batch_rows=100).results
    kept = [n for n in range(size) if 1 < n * 7 % 6 < 4]
    assert sorted(found.column("many").to_pylist()) == sorted(spread[n] for n in kept)


def test_ranges_of_numbers_without_a_sign() -> None:
    values = pa.array([n * 2**62 + 2**61 for n in range(4)] * 50, pa.uint64())
    one = teach(divider(pa.uint64()), pa.array([n * 0x9E3779B97F4A7C15 % 2**64 for n in range(200)], pa.uint64()))
    assert one.divide(values)[:4].tolist() == [0, 1, 2, 3]
    assert float(one.name(2)[1].removeprefix("c=").split("..")[0]) == pytest.approx(2**63, rel=0.1)


def test_known_values_without_a_sign() -> None:
    one = divider(pa.uint64(), 4, (2**64 - 1, 0))
    assert one.divide(pa.array([0, 2**64 - 1, 7, None], pa.uint64())).tolist() == [1, 0, 4, 4]


@pytest.mark.parametrize(
    ("heavy", "name"),
    [(0.0, "c=..0"), (0.5, "c=0.5"), (float(2**40), "c=1.09951e+12"), (7, "c=..7"), (-1, "c=..-1"), (2**40, None)],
)
def test_a_heavy_value_is_a_range_of_its_own(heavy: float, name: str | None) -> None:
    """A default or a sentinel is not like the values beside it, and one outlier moves no edge."""
    others = RNG.random(ROWS) if isinstance(heavy, float) else RNG.integers(0, 10**6, ROWS)
    array = pa.array(np.where(np.arange(ROWS) % 5 == 0, heavy, others).astype(others.dtype))
    array = pa.concat_arrays([array, pa.array([2.0**60]).cast(array.type)])
    one = teach(divider(array.type, 250, ranges=24), array)
    found = one.divide(array)
    own = int(found[0])
    assert set(array.take(pa.array(np.flatnonzero(found == own))).to_pylist()) - {2.0**60} == {heavy}
    assert name is None or one.name(own)[1].startswith(name)
    assert np.bincount(np.delete(found, np.flatnonzero(found == own))).max() < ROWS / 8
