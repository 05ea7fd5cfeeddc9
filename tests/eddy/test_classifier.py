"""Rows are told apart alike whoever looks, at which of them, in which order, and after any restart."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.classes.classifier import Classifier, Features
from eddy.classes.divider import Attribute, Buckets
from eddy.sql import Column
from tests.eddy.test_codes import STRATEGIES

RNG = np.random.default_rng(0)
BATCHES, ROWS = 12, 600
EVERY = BATCHES * ROWS


def texts(codes: Any) -> pa.Array:
    return pa.array([f"value {code}" for code in codes])


def sometimes(values: Any, other: Any, share: float) -> pa.Array:
    return pa.array([other if hit else value for hit, value in zip(RNG.random(EVERY) < share, values, strict=True)])


COLUMNS: dict[str, pa.Array] = {
    "uniform": pa.array(RNG.random(EVERY)),
    "prices": pa.array(RNG.lognormal(0, 2.5, EVERY)),
    "drift": pa.array(RNG.random(EVERY) * np.repeat([1, 100], EVERY // 2)),
    "holes": sometimes(RNG.random(EVERY), None, 0.3),
    "odd": sometimes(sometimes(RNG.random(EVERY), float("nan"), 0.1).to_pylist(), float("inf"), 0.1),
    "codes": pa.array(RNG.integers(0, 60, EVERY) * 7),
    "more": pa.array(np.where(np.arange(EVERY) < 2_000, RNG.integers(0, 50, EVERY), RNG.integers(0, 900, EVERY))),
    "times": pa.array(RNG.permutation(EVERY).astype("datetime64[s]")),
    "ids": pa.array(np.arange(EVERY)),
    "words": texts(RNG.integers(0, 200, EVERY)),
    "many": texts(np.minimum(RNG.zipf(1.2, EVERY), 2_000)),
    "names": texts(np.arange(EVERY)),
    "truths": pa.array(RNG.random(EVERY) < 0.3),
    "cents": pa.array([Decimal(int(n)).scaleb(-2) for n in RNG.integers(0, 9_999, EVERY)]),
}
TABLE = pa.record_batch(list(COLUMNS.values()), names=list(COLUMNS))
NUMBERS = {name: number for number, name in enumerate(COLUMNS)}


def classifier(d: int = 250, ranges: int = 24) -> Classifier:
    attributes = tuple(Attribute(Column("s", name)) for name in COLUMNS)
    return Classifier(Features(attributes=attributes, buckets=d, ranges=ranges), {"s": TABLE.schema})


def part(number: int) -> pa.RecordBatch:
    return TABLE.slice(number * ROWS, ROWS)


def arrive(one: Classifier, number: int) -> Any:
    one.arrive("s", part(number), 1_000)
    return one.buckets("s", np.arange(1_000, 1_000 + ROWS))


def restarted(one: Classifier) -> Classifier:
    other = classifier()
    other.restore(json.loads(json.dumps(one.snapshot())))
    return other


def whole() -> list[tuple[Buckets, tuple[int, ...]]]:
    one, found = classifier(), []
    for number in range(BATCHES):
        look = arrive(one, number)
        found.append((look(), look.editions()))
    return found


WHOLE = whole()


@settings(max_examples=12)
@given(st.data())
def test_it_does_not_matter_who_looks_at_which_rows_and_when(data: st.DataObject) -> None:
    """Rounds, samples, retries and restarts: a bucket is the same, and so is the edition."""
    one = classifier()
    for number, (expected, editions) in enumerate(WHOLE[: data.draw(st.integers(1, BATCHES))]):
        look = arrive(one, number)
        if data.draw(st.booleans()):
            # The first try fails halfway; the second begins with the state from before.
            before = json.loads(json.dumps(one.snapshot()))
            arrive(restarted(one), number)([0, 9])
            assert json.loads(json.dumps(one.snapshot())) == before
        for _ in range(data.draw(st.integers(0, 3))):
            rows = np.array(data.draw(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=5)))
            attributes = data.draw(st.lists(st.sampled_from(range(len(COLUMNS))), min_size=1, unique=True))
            assert (look(attributes, rows) == expected[rows][:, attributes]).all()
        assert look.editions() == editions
        assert (look() == expected).all()
        one = restarted(one) if data.draw(st.booleans()) else one


def test_a_bucket_of_one_edition_stands_for_the_same_values() -> None:
    """But for values that get a bucket which nobody had: they leave the others as they are."""
    one = classifier()
    known: dict[tuple[int, int], dict[Any, int]] = {}
    for number in range(BATCHES):
        look = arrive(one, number)
        buckets, editions = look(), look.editions()
        for attribute, name in enumerate(COLUMNS):
            of_edition = known.setdefault((attribute, editions[attribute]), {})
            for value, bucket in zip(part(number)[name].to_pylist(), buckets[:, attribute].tolist(), strict=True):
                before = of_edition.setdefault(str(value), bucket)
                if before != bucket:
                    assert name in ("words", "codes", "truths", "many")
                    assert one.names("s", [attribute], [(bucket,)])[0][1] == f"{name}={value}"
                of_edition[str(value)] = bucket


@pytest.mark.parametrize(
    ("name", "editions"),
    [
        ("uniform", 1),
        ("prices", 1),
        ("codes", 1),
        ("words", 1),
        ("truths", 1),
        ("times", 1),
        ("cents", 1),
        ("ids", 0),
        ("names", 0),
        ("more", 2),
    ],
)
def test_there_is_another_edition_only_where_there_is_a_reason(name: str, editions: int) -> None:
    assert WHOLE[-1][1][NUMBERS[name]] == editions


def test_what_drifts_is_cut_anew() -> None:
    found, attribute = WHOLE[-1], NUMBERS["drift"]
    assert found[1][attribute] > 1
    assert np.bincount(found[0][:, attribute]).max() < ROWS / 6


def last(name: str) -> list[tuple[Any, int]]:
    """Values and buckets of the last micro-batch."""
    values = part(BATCHES - 1)[name].to_pylist()
    return list(zip(values, WHOLE[-1][0][:, NUMBERS[name]].tolist(), strict=True))


@pytest.mark.parametrize("name", ["uniform", "prices", "times", "cents"])
def test_ranges_hold_equally_many_rows(name: str) -> None:
    rows = np.bincount([bucket for _, bucket in last(name)])
    assert np.count_nonzero(rows) >= 20
    assert rows.max() < 3 * ROWS / 24


@pytest.mark.parametrize(
    ("name", "different"), [("codes", 60), ("words", 200), ("truths", 2)], ids=["60 codes", "200 texts", "truths"]
)
def test_values_have_buckets_of_their_own(name: str, different: int) -> None:
    pairs = set(last(name))
    assert len({value for value, _ in pairs}) > different * 0.9
    assert len({bucket for _, bucket in pairs}) == len({value for value, _ in pairs})


def test_of_many_values_the_heavy_ones_have_buckets_of_their_own() -> None:
    rows: dict[int, set[str]] = {}
    for value, bucket in last("many"):
        rows.setdefault(bucket, set()).add(value)
    own = {value for values in rows.values() if len(values) == 1 for value in values}
    assert {f"value {n}" for n in range(1, 20)} & set().union(*rows.values()) <= own
    assert max(map(len, rows.values())) < ROWS / 20
    one = classifier()
    for number in range(BATCHES):
        arrive(one, number)()
    buckets = dict(last("many"))
    assert one.names("s", [NUMBERS["many"]], [(buckets["value 3"],)])[0][1] == "many=value 3"


def test_null_and_nan_have_buckets_and_infinity_has_its_own_where_it_is_heavy() -> None:
    holes = dict(last("holes"))
    assert [bucket for value, bucket in last("holes") if value is None] == [250] * sum(
        value is None for value, _ in last("holes")
    )
    assert 250 not in {bucket for value, bucket in holes.items() if value is not None}
    odd: dict[str, set[int]] = {}
    for value, bucket in last("odd"):
        odd.setdefault("number" if np.isfinite(value) else str(value), set()).add(bucket)
    assert len(odd["nan"]) == len(odd["inf"]) == 1
    assert not odd["nan"] & odd["inf"]
    assert not odd["number"] & (odd["nan"] | odd["inf"])


@pytest.mark.parametrize("name", ["ids", "names"])
def test_what_comes_once_tells_nothing(name: str) -> None:
    assert {bucket for _, bucket in last(name)} == {0}


@pytest.mark.parametrize(("d", "ranges"), [(2, 2), (3, 3), (8, 8), (24, 24), (250, 250)])
def test_there_are_no_more_buckets_than_were_asked_for(d: int, ranges: int) -> None:
    one = classifier(d, ranges)
    buckets = [arrive(one, number)() for number in range(BATCHES)][-1]
    assert buckets.max() == d  # the null's
    for attribute in range(len(COLUMNS)):
        seen = np.unique(buckets[:, attribute]).tolist()
        named = one.names("s", [attribute], [(bucket,) for bucket in seen])
        assert len({key for key, _ in named}) == len(seen)


def test_a_snapshot_does_not_grow() -> None:
    one, sizes = classifier(), []
    for number in range(4 * BATCHES):
        arrive(one, number % BATCHES)()
        sizes.append(len(json.dumps(one.snapshot())))
    assert max(sizes[-BATCHES:]) <= 1.1 * max(sizes[:BATCHES])
    assert sizes[-1] < 16_000 * len(COLUMNS)


def test_small_micro_batches_teach_as_much_as_large_ones() -> None:
    one, rows = classifier(), np.arange(25)
    for begun in range(0, EVERY, 25):
        one.arrive("s", TABLE.slice(begun, 25), 0)
        one.buckets("s", rows)()
    look = one.buckets("s", rows)
    assert [edition > 0 for edition in look.editions()] == [edition > 0 for edition in WHOLE[-1][1]]
    named = one.names("s", [NUMBERS["words"]], look([NUMBERS["words"]]).tolist())
    assert [text for _, text in named] == [f"words={value}" for value in TABLE["words"].to_pylist()[-25:]]


def test_one_that_was_divided_otherwise_begins_with_another_edition() -> None:
    first, second = classifier(), classifier(24)
    editions = arrive(first, 0).editions()
    second.restore(first.snapshot())
    second.arrive("s", TABLE.slice(0, 0), 0)
    found = second.buckets("s", np.arange(0)).editions()
    assert all(new != old for new, old in zip(found, editions, strict=True))


@pytest.mark.parametrize("data_type", STRATEGIES, ids=str)
@settings(max_examples=20)
@given(data=st.data())
def test_any_values_can_be_divided(data_type: pa.DataType, data: st.DataObject) -> None:
    """Whatever they are and whatever was learned from: equal values, equal buckets, and every bucket has a name."""
    values: Sequence[Any] = data.draw(st.lists(st.none() | STRATEGIES[data_type], min_size=1, max_size=30))
    learned = [values[i] for i in data.draw(st.lists(st.integers(0, len(values) - 1), min_size=100, max_size=200))]
    d = data.draw(st.sampled_from([2, 8, 24, 250]))
    attribute = Attribute(Column("s", "v"))
    one = Classifier(
        Features(attributes=(attribute,), buckets=d, ranges=min(d, 24)), {"s": pa.schema([("v", data_type)])}
    )
    one.arrive("s", pa.record_batch([pa.array(learned, data_type)], names=["v"]), 0)
    one.buckets("s", np.arange(1))()
    array = pa.array([*values, *values], data_type)
    one.arrive("s", pa.record_batch([array], names=["v"]), 0)
    buckets = one.buckets("s", np.arange(len(array)))()[:, 0].tolist()
    assert buckets[: len(values)] == buckets[len(values) :]
    assert all((bucket == d) == (value is None) for bucket, value in zip(buckets, values, strict=False))
    assert all(text.startswith("v=") for _, text in one.names("s", [0], [(bucket,) for bucket in range(d + 1)]))
