"""Attributes as people have them, each of which tells classes.

A shape draws the values of a column, and says to which class each row belongs by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.errors import QueryError, check_choice, check_whole
from eddy.jobs.workloads.parameters import call
from eddy.tuples.arrays import Floats, Integers

USUAL = 1_000.0
"""Numbers go up to here, but for the one or the few that do not."""

OUTLIER = 1e9
SENTINEL = 2**40
"""Written for "unknown" where a number is needed."""

UNKNOWN_SHARE = 0.05
"""The share of the rows with a sentinel. They are of the first class."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A column, and the class of each row that it tells.

    `by_time` are columns that tell nothing about the rows that come next: they go on as time does.
    """

    column: pa.Array
    classes: Integers
    by_time: bool = False


Draw = Callable[[np.random.Generator, int, int], Told]


def plain() -> Draw:
    """Draw numbers that are equally likely up to 1,000."""
    return lambda rng, rows, classes: _numbers(rng.random(rows), classes)


def outlier() -> Draw:
    """Draw the same numbers, and one of a thousand million."""

    def draw(rng: np.random.Generator, rows: int, classes: int) -> Told:
        told = _numbers(rng.random(rows), classes)
        values = told.column.to_numpy().copy()
        values[rows // 3] = OUTLIER
        return Told(column=pa.array(values), classes=told.classes)

    return draw


def sentinel() -> Draw:
    """Draw whole numbers up to 1,000; every twentieth is 2^40."""

    def draw(rng: np.random.Generator, rows: int, classes: int) -> Told:
        shares = rng.random(rows)
        unknown = rng.random(rows) < UNKNOWN_SHARE
        values = np.where(unknown, SENTINEL, (shares * USUAL).astype(np.int64))
        return Told(column=pa.array(values), classes=np.where(unknown, 0, (shares * classes).astype(np.int64)))

    return draw


def lognormal(*, sigma: float = 1.0) -> Draw:
    """Draw prices or sizes: many small ones, few large ones."""
    if not isinstance(sigma, int | float) or sigma <= 0:
        raise QueryError(f"shape lognormal: expected sigma above 0, got {sigma!r}")

    def draw(rng: np.random.Generator, rows: int, classes: int) -> Told:
        logs = rng.normal(0, 1, rows)
        edges = [NormalDist().inv_cdf(number / classes) for number in range(1, classes)]
        return Told(column=pa.array(np.exp(sigma * logs)), classes=np.searchsorted(edges, logs))

    return draw


def codes(*, values: int = 60) -> Draw:
    """Draw codes, which are numbers in no order that means anything."""
    check_whole(values, "values", where="shape codes")
    return lambda rng, rows, classes: _discrete(rng, rows, classes, np.full(values, 1.0), np.arange(values))


def text(*, values: int = 50, zipf: bool = False) -> Draw:
    """Draw texts: all equally often, or the n-th one n-th as often as the first."""
    check_whole(values, "values", where="shape text")
    weights = 1 / np.arange(1, values + 1) if zipf else np.full(values, 1.0)
    names = np.array([f"place-{number:04}" for number in range(values)])
    return lambda rng, rows, classes: _discrete(rng, rows, classes, weights, names)


def ids(*, apart: int = 50) -> Draw:
    """Draw ids in the order in which rows were made.

    Rows come as many as `apart` places out of order. A class is a stretch of time.
    """
    check_whole(apart, "apart", 0, where="shape ids")

    def draw(rng: np.random.Generator, rows: int, classes: int) -> Told:
        places = np.argsort(np.arange(rows) + rng.integers(0, apart + 1, rows), kind="stable")
        return Told(column=pa.array(places), classes=np.arange(rows) * classes // rows, by_time=True)

    return draw


def _numbers(shares: Floats, classes: int) -> Told:
    return Told(column=pa.array(shares * USUAL), classes=(shares * classes).astype(np.int64))


def _discrete(rng: np.random.Generator, rows: int, classes: int, weights: Floats, names: np.ndarray[Any, Any]) -> Told:
    """Deal the values out to classes at random, as many to each."""
    of_value = rng.permutation(np.arange(len(names)) % classes)
    drawn = rng.choice(len(names), rows, p=weights / weights.sum())
    return Told(column=pa.array(names[drawn]), classes=of_value[drawn])


SHAPES: dict[str, Callable[..., Draw]] = {
    "plain": plain,
    "outlier": outlier,
    "sentinel": sentinel,
    "lognormal": lognormal,
    "codes": codes,
    "text": text,
    "ids": ids,
}
"""The shapes there are."""


def shape(choice: str | Mapping[str, Any]) -> Draw:
    """Make a shape by its name, or by its kind and parameters.

    They are such as {"kind": "text", "values": 50}.

    >>> shape("plain")(np.random.default_rng(0), 3, 2).classes.tolist()
    [1, 0, 0]
    """
    parameters = {"kind": choice} if isinstance(choice, str) else dict(choice)
    kind = check_choice(parameters.pop("kind", None), SHAPES, "kind", where="shape")
    return call(SHAPES[kind], parameters, where=f"shape {kind}", more=("kind",))
