"""Columns that workloads have in common: keys, draws, noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from eddy.jobs.experiments.workloads.burn import MaskFunction, burn
from eddy.tuples.arrays import Floats, Integers, Mask

KEYS = 10_000
"""Rows of a lookup table, as in the paper."""

DOMAIN = 2 * KEYS
"""A foreign key is any of these numbers. Which of them a table has is drawn anew for each table, so that neither the
order nor a hash of the keys says anything about the outcome: only the attributes that tell classes apart do."""

DEAR = KEYS // 2
"""Of the keys that a table has, and of those that it has not, so many are dear to look up where any are."""

KINDS = np.array("order refund cancel query update audit login logout ping trace backup sync".split())


def draw_numbers(rng: np.random.Generator, rows: int, operators: int, correlation: float) -> Floats:
    """Draw numbers from 0 to 1 for each tuple and operator.

    A tuple in lockstep has one for all operators.
    """
    numbers = rng.random((rows, operators))
    lockstep = rng.random(rows) < correlation
    numbers[lockstep] = numbers[lockstep, :1]
    return numbers


def draw_keys(rng: np.random.Generator, numbers: Integers, passed: Mask, dear: Mask | None = None) -> Integers:
    """Draw foreign keys.

    A tuple that is to pass gets a key that the lookup has, the others one that it has not. With `dear`, whether its
    judgement is dear is in the key too.
    """
    if dear is None:
        return numbers[np.where(passed, 0, KEYS) + rng.integers(KEYS, size=len(passed))]
    return numbers[np.where(passed, 0, KEYS) + np.where(dear, 0, DEAR) + rng.integers(DEAR, size=len(passed))]


def make_noise(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Make the eight other attributes.

    They are constants, sequences, foreign keys, numbers, texts.
    """
    return {
        "version": np.full(rows, 7),
        "region": pa.array(["north"]).take(pa.array(np.zeros(rows, np.int64))),
        "serial": np.arange(rows) * 3 + 1_000_000,
        "offset": np.cumsum(rng.integers(1, 9, rows)),
        "fk_customer": rng.integers(0, 1_000, rows),
        "fk_product": rng.integers(0, 50, rows),
        "amount": rng.integers(0, 1_000_000, rows),
        "kind": pa.array(KINDS).take(pa.array(rng.integers(0, len(KINDS), rows))),
    }


def build_member(numbers: Integers) -> MaskFunction:
    """Build the test for a key in the lookup.

    It is an array with a place for every number.
    """
    known = _places(numbers[:KEYS])

    def member(keys: np.ndarray[Any, Any]) -> Mask:
        return np.take(known, keys)

    return member


def build_uneven_member(numbers: Integers, microseconds: float, times: float) -> MaskFunction:
    """Build the same test where some keys are dear.

    A key takes so many microseconds, and a dear one so many times as long.
    """
    known = _places(numbers[:KEYS])
    dear = _places(np.concatenate((numbers[:DEAR], numbers[KEYS : KEYS + DEAR])))

    def member(keys: np.ndarray[Any, Any]) -> Mask:
        burn(microseconds * (len(keys) + (times - 1) * np.count_nonzero(np.take(dear, keys))))
        return np.take(known, keys)

    return member


def _places(numbers: Integers) -> Mask:
    places: Mask = np.zeros(DOMAIN, np.bool_)
    places[numbers] = True
    return places
