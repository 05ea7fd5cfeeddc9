"""What kind of attribute it is, judged from its first rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from eddy.classes.nature import ROWS_TO_JUDGE, Nature

BUCKETS = 24
RNG = np.random.default_rng(0)
NUMBERS = RNG.integers(0, 1_000_000, 400)
FEW = RNG.integers(0, 5, 400)


def judged(values: Iterable[Any], looks: int, data_type: pa.DataType | None = None) -> Nature:
    """A nature that has seen the values in looks of so many rows, and went through a snapshot after each."""
    array = pa.array(values, data_type)
    nature = Nature(array.type, BUCKETS)
    for start in range(0, len(array), looks):
        nature.look(array.slice(start, looks))
        state = json.loads(json.dumps(nature.snapshot()))
        assert len(state["distinct"]) <= ROWS_TO_JUDGE
        nature = Nature(array.type, BUCKETS)
        nature.restore(state)
    return nature


LOOKS = pytest.mark.parametrize("looks", [1, 7, 99, 400])


@LOOKS
@pytest.mark.parametrize(
    "values",
    [
        np.arange(400),
        np.arange(400)[::-1],
        np.arange(400) // 20,
        -np.arange(400) / 3,
        np.arange(400).astype("datetime64[s]"),
        [None, *range(200), None, *range(200, 399)],
        [0] * 200 + list(range(200)),
    ],
    ids=["rising", "falling", "by steps", "falling fractions", "times", "rising with nulls", "still, then rising"],
)
def test_a_monotone_attribute_tells_nothing(values: Any, looks: int) -> None:
    assert not judged(values, looks).tells


@LOOKS
@pytest.mark.parametrize(
    "values",
    [
        [5] * 300 + [3, 7] * 200,
        [None] * 300 + [3, 7] * 200,
        [*range(200), *range(200)],
        [*range(200), 0] + [9] * 100,
        [*range(200), *range(200)[::-1]],
        [0] * 150 + [1] * 150,
        [False, True] * 100,
    ],
    ids=["still at first", "null at first", "rising twice", "one back", "up and down", "one step", "truths"],
)
def test_an_attribute_that_moves_otherwise_tells_rows_apart(values: Any, looks: int) -> None:
    assert judged(values, looks).tells


@LOOKS
@pytest.mark.parametrize("value", [7, "x", 0.5, None])
def test_one_that_stands_still_is_not_judged(value: Any, looks: int) -> None:
    nature = judged([value] * 400, looks, pa.int64() if value is None else None)
    assert not nature.tells
    assert not nature.is_settled


@LOOKS
def test_numbers_are_continuous_when_there_are_many(looks: int) -> None:
    assert judged(NUMBERS, looks).is_continuous
    assert not judged(FEW, looks).is_continuous
    assert judged([7] * 200 + NUMBERS.tolist(), looks).is_continuous


@LOOKS
def test_texts_must_come_again_and_be_short(looks: int) -> None:
    assert judged([f"city {n}" for n in FEW], looks).tells
    assert not judged([f"token {n}" for n in NUMBERS], looks).tells
    assert not judged([f"{n:>100}" for n in FEW], looks).tells
    assert not judged([b"%100d" % n for n in FEW], looks).tells


def test_too_few_rows_are_not_judged() -> None:
    assert not judged(FEW[: ROWS_TO_JUDGE - 1], 400).tells
    assert judged(FEW[:200], 400).tells
