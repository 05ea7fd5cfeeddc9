"""What kind of attribute it is, judged from a few of its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddy.classes.cuts import encode_values
from eddy.classes.nature import MOST_CODES, ROWS_TO_JUDGE, SAMPLE_ROWS, Nature, spread_evenly

RANGES, BUCKETS = 24, 250
RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(0, 1_000_000, 400)
FEW = RNG.integers(0, 5, 400)


def judged(values: Iterable[Any], lesson: int, data_type: pa.DataType | None = None, buckets: int = BUCKETS) -> Nature:
    """A nature that has learned the values in lessons of so many rows, and went through a snapshot after each."""
    array = pa.array(values, data_type)
    nature = Nature(array.type, RANGES, buckets)
    for start in range(0, len(array), lesson):
        rows = array.slice(start, lesson).drop_null()
        nature.learn(encode_values(rows), rows.nbytes / max(len(rows), 1))
        state = json.loads(json.dumps(nature.snapshot()))
        assert len(state["sample"]) <= SAMPLE_ROWS
        nature = Nature(array.type, RANGES, buckets)
        nature.restore(state)
    return nature


LESSONS = pytest.mark.parametrize("lesson", [100, 256, 1_000])


def late(values: Any, places: int) -> Any:
    """Values that come up to so many places out of order."""
    return values[np.argsort(np.arange(len(values)) + RNG.random(len(values)) * places, kind="stable")]


ROWS = 4_000
RISING = np.arange(ROWS)
# A day of 1,000 rows: it goes up and down, or begins again.
DAY = np.sin(RISING * 2 * np.pi / 1_000)


@LESSONS
@pytest.mark.parametrize(
    "values",
    [
        RISING,
        RISING[::-1],
        RISING // 5,
        -RISING / 3,
        RISING.astype("datetime64[s]"),
        [None, *range(200), None, *range(200, ROWS)],
        [0] * 1_000 + list(range(3_000)),
        late(RISING, 50),
        late(RISING.astype("datetime64[s]"), 50),
        late(RISING * 0.5, 50),
        np.where(RNG.random(ROWS) < 0.01, -1, RISING),
        np.where(RISING == 70, 2**60, RISING),
    ],
    ids=[
        "rising",
        "falling",
        "by steps",
        "falling fractions",
        "times",
        "rising with nulls",
        "still, then rising",
        "ids out of order",
        "times out of order",
        "fractions out of order",
        "ids and a sentinel",
        "ids and an outlier",
    ],
)
def test_an_attribute_that_passes_by_tells_nothing(values: Any, lesson: int) -> None:
    assert not judged(values, lesson).tells


@LESSONS
@pytest.mark.parametrize(
    "values",
    [
        [5] * 300 + [3, 7] * 200,
        [None] * 300 + [3, 7] * 200,
        [*range(500), *range(500)],
        [*range(500), *range(500)[::-1]],
        [0] * 500 + [1] * 500,
        [False, True] * 100,
        DAY,
        DAY + RNG.normal(0, 0.1, ROWS),
        RISING % 1_000,
        (RISING % 1_000).astype("datetime64[s]"),
        np.cumsum(RNG.normal(0, 1, ROWS)) / 30 + RNG.normal(0, 1, ROWS),
        RNG.lognormal(0, 2.5, ROWS) * np.linspace(1, 2, ROWS),
    ],
    ids=[
        "still at first",
        "null at first",
        "rising twice",
        "up and down",
        "one step",
        "truths",
        "a day's temperature",
        "a day's temperature, measured",
        "time of day",
        "moment of a day",
        "a random walk, measured",
        "prices that rise",
    ],
)
def test_an_attribute_that_comes_back_tells_rows_apart(values: Any, lesson: int) -> None:
    assert judged(values, lesson).tells


def test_one_that_told_rows_apart_goes_on_through_a_rise() -> None:
    """A lesson alone may lie beyond all that came before; two in a row are a rise."""
    nature = judged(NUMBERS % 100, 100)
    assert nature.tells
    nature.learn(np.arange(1_000, 1_100), 8)
    assert nature.tells
    nature.learn(np.arange(2_000, 2_100), 8)
    assert not nature.tells
    nature.learn(np.arange(1_000, 1_100), 8)
    assert nature.tells


@LESSONS
@pytest.mark.parametrize("value", [7, "x", 0.5, None])
def test_one_that_stands_still_tells_nothing(value: Any, lesson: int) -> None:
    assert not judged([value] * 400, lesson, pa.int64() if value is None else None).tells


@LESSONS
def test_numbers_are_continuous_when_there_are_many(lesson: int) -> None:
    assert judged(NUMBERS, lesson).is_continuous
    assert not judged(FEW, lesson).is_continuous
    assert not judged(RNG.integers(0, 60, 4_000) * 1_000, lesson).is_continuous
    assert judged([7] * 200 + NUMBERS.tolist(), lesson).is_continuous
    assert judged(RNG.integers(0, 60, 1_000), lesson, buckets=24).is_continuous


def test_numbers_prove_to_be_many() -> None:
    """A judgement is revised, and does not go to and fro about the limit."""
    values = np.arange(3 * MOST_CODES)
    nature = judged(RNG.choice(values[: MOST_CODES - 10], 500), 100)
    assert not nature.is_continuous
    for _ in range(8):
        nature.learn(RNG.choice(values, 200), 8)
    assert nature.is_continuous
    for _ in range(16):
        nature.learn(RNG.choice(values[: MOST_CODES - 10], 200), 8)
    assert nature.is_continuous
    for _ in range(16):
        nature.learn(RNG.choice(values[:20], 200), 8)
    assert not nature.is_continuous


@LESSONS
def test_texts_must_come_again_and_be_short(lesson: int) -> None:
    assert judged([f"city {n}" for n in FEW], lesson).tells
    assert judged([f"city {n}" for n in RNG.integers(0, 1_000, 4_000)], lesson).tells
    assert not judged([f"token {n}" for n in NUMBERS], lesson).tells
    assert not judged([f"{n:>100}" for n in FEW], lesson).tells
    assert not judged([b"%100d" % n for n in FEW], lesson).tells


def test_too_few_rows_are_not_judged() -> None:
    assert not judged(FEW[: ROWS_TO_JUDGE - 1], 400).tells
    assert judged(FEW[:200], 400).tells


@pytest.mark.parametrize("rows", [1, 7, 200, 100_000])
def test_places_are_spread_over_all_rows(rows: int) -> None:
    places = spread_evenly(rows, 200)
    assert len(set(places.tolist())) == len(places) == min(rows, 200)
    assert 0 <= places.min() <= places.max() < rows
