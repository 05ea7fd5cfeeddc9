"""Values with numbers of their own, where there are more of them than buckets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eddy.classes.classifier import Classifier, Features
from eddy.classes.divider import Attribute
from eddy.classes.single_values import FIRST_VALUE, MOST_BUCKETS, MOST_NUMBERS, MOST_VALUES
from eddy.sql import Column

RNG = np.random.default_rng(0)
BATCHES, ROWS = 10, 900
EVERY = BATCHES * ROWS


def texts(codes: Any) -> pa.Array:
    return pa.array([None if code < 0 else f"value {code}" for code in codes])


COLUMNS = {
    "even": texts(RNG.integers(0, 1_000, EVERY)),
    "zipf": texts(np.minimum(RNG.zipf(1.2, EVERY), 9_000) - 2),
    "bytes": pa.array([b"%d" % code for code in RNG.integers(0, 400, EVERY)]),
    "few": texts(RNG.integers(0, 20, EVERY)),
    "numbers": pa.array(RNG.random(EVERY)),
    "later": texts(np.where(np.arange(EVERY) < EVERY // 2, 0, 1) * 1_000 + RNG.integers(0, 1_000, EVERY)),
}
TABLE = pa.record_batch(list(COLUMNS.values()), names=list(COLUMNS))
ALL = range(len(COLUMNS))
MANY = [0, 1, 2, 5]


def classifier(d: int = MOST_BUCKETS) -> Classifier:
    attributes = tuple(Attribute(Column("s", name)) for name in COLUMNS)
    return Classifier(Features(attributes=attributes, buckets=d), {"s": TABLE.schema})


def arrive(one: Classifier, number: int, rows: int = ROWS) -> Any:
    one.arrive("s", TABLE.slice(number * rows, rows), 0)
    return one.buckets("s", np.arange(rows))


def restarted(one: Classifier) -> Classifier:
    other = classifier()
    other.restore(json.loads(json.dumps(one.snapshot())))
    return other


def whole() -> list[tuple[Any, ...]]:
    one, found = classifier(), []
    for number in range(BATCHES):
        look = arrive(one, number)
        refined = look.refine(ALL)
        found.append((look.numbers(ALL, ALL), look(), refined, look.editions()))
    return found


WHOLE = whole()


@settings(max_examples=12)
@given(st.data())
def test_it_does_not_matter_who_looks_at_which_rows_and_when(data: st.DataObject) -> None:
    """Rounds, samples, retries and restarts: a number is the same, and so is its bucket."""
    one = classifier()
    for number, (expected, buckets, refined, editions) in enumerate(WHOLE[: data.draw(st.integers(1, BATCHES))]):
        if data.draw(st.booleans()):
            # The first try fails halfway; the second begins with the state from before.
            before = json.loads(json.dumps(one.snapshot()))
            again = arrive(restarted(one), number)
            again.refine(MANY)
            again.numbers([0, 1], ALL, np.arange(5))
            assert json.loads(json.dumps(one.snapshot())) == before
        look = arrive(one, number)
        if data.draw(st.booleans()):
            assert (look() == buckets).all()
        told = look.refine(data.draw(st.permutations(ALL)))
        for _ in range(data.draw(st.integers(0, 3))):
            rows = np.array(data.draw(st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=5)))
            attributes = data.draw(st.lists(st.sampled_from(ALL), min_size=1, unique=True))
            assert (look.numbers(attributes, ALL, rows) == expected[rows][:, attributes]).all()
            assert (look.take(rows)(attributes) == buckets[rows][:, attributes]).all()
        assert {a: found.tolist() for a, found in told.items()} == {a: b.tolist() for a, b in refined.items()}
        assert look.editions() == editions
        assert (look.numbers(ALL, ALL) == expected).all()
        one = restarted(one) if data.draw(st.booleans()) else one


def test_a_number_of_one_edition_stands_for_one_value() -> None:
    known: dict[tuple[int, int, int], Any] = {}
    for batch, (numbers, _, _, editions) in enumerate(WHOLE):
        for attribute, name in enumerate(COLUMNS):
            values = TABLE[name].slice(batch * ROWS, ROWS).to_pylist()
            for number, value in zip(numbers[:, attribute].tolist(), values, strict=True):
                if number >= FIRST_VALUE:
                    assert known.setdefault((attribute, editions[attribute], number), value) == value


def test_numbers_lie_in_the_buckets_that_rows_have() -> None:
    for numbers, buckets, refined, _ in WHOLE:
        assert numbers.max() < MOST_NUMBERS
        for attribute in ALL:
            own = refined.get(attribute, np.arange(FIRST_VALUE))
            assert (own.take(numbers[:, attribute]) == buckets[:, attribute]).all()


def test_nulls_go_by_their_bucket() -> None:
    is_null = ~np.array(TABLE["zipf"].is_valid())[-ROWS:]
    assert is_null.any()
    assert ((WHOLE[-1][0][:, 1] == MOST_BUCKETS) == is_null).all()


def test_only_what_has_more_values_than_buckets_is_refined() -> None:
    assert sorted(WHOLE[-1][2]) == MANY
    assert WHOLE[-1][0][:, [3, 4]].max() <= MOST_BUCKETS


@pytest.mark.parametrize(("attribute", "share"), [(0, 0.99), (1, 0.8), (2, 1.0)])
def test_nearly_all_rows_have_a_number(attribute: int, share: float) -> None:
    numbers = WHOLE[-1][0][:, attribute]
    assert (numbers[numbers != MOST_BUCKETS] >= FIRST_VALUE).mean() >= share


def test_a_number_of_buckets_that_was_asked_for_is_kept() -> None:
    one = classifier(24)
    for number in range(BATCHES):
        look = arrive(one, number)
        assert not look.refine(ALL)
        assert look.numbers(ALL, ALL).max() <= 24


def test_values_that_nobody_asks_for_cost_nothing() -> None:
    one = classifier()
    for number in range(BATCHES):
        arrive(one, number)()
    states = one.snapshot()["learned"]["s"]
    assert all(state["single"] is None for state in states.values())
    assert all(len(state["counts"][1]) < 3 * MOST_BUCKETS for state in states.values())


def test_other_values_get_the_numbers_when_many_rows_have_none() -> None:
    """Values that come no more make room; buckets then mean something else as well, and the edition says so."""
    one, numbered, editions = classifier(), [], []
    for batch in range(140):
        # Of a thousand values four hundred go every ten micro-batches, five times.
        codes = RNG.integers(0, 1_000, ROWS) + min(batch // 10, 5) * 400
        one.arrive("s", pa.record_batch([texts(codes), *TABLE.slice(0, ROWS).columns[1:]], list(COLUMNS)), 0)
        look = one.buckets("s", np.arange(ROWS))
        look.refine([0])
        numbered.append(float((look.numbers([0], [0]) >= FIRST_VALUE).mean()))
        editions.append(look.editions([0])[0])
    assert len(json.dumps(one.snapshot())) < 40 * (MOST_VALUES + 10_000)
    assert np.mean(numbered[-8:]) > 0.9
    assert 1 <= editions[-1] - editions[10] <= 4
