"""Spreads classes over tuples, and over attributes' values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, factorial

import numpy as np

from eddy.tuples.arrays import Floats, Integers

CLASSIFIER = "attrC"
PAIR = ("attrA", "attrB")

MEAN = 1.0
"""Lambda of the Poisson distribution (table 2 of the Query Mesh paper)."""

VALUES = 8
"""Values of a Poisson variable with that mean that are told apart: a larger one comes once in 100,000 tuples."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The class of each tuple, and the attributes that tell it.

    It has the share of each class too. `of_value` is the class of each value of the only classifier, None where it
    takes two attributes.
    """

    classes: Integers
    columns: Mapping[str, Integers]
    shares: Floats
    of_value: Integers | None


def even(rng: np.random.Generator, rows: int, classes: int) -> Spread:
    """Equally frequent classes, each with its value."""
    drawn = rng.integers(classes, size=rows)
    shares = np.full(classes, 1 / classes)
    return Spread(classes=drawn, columns={CLASSIFIER: drawn}, shares=shares, of_value=np.arange(classes))


def poisson(rng: np.random.Generator, rows: int, classes: int) -> Spread:
    """Give the classifier the Poisson distribution.

    A class is one value of it, and the last all larger ones.
    """
    drawn = rng.poisson(MEAN, rows)
    chances = [exp(-MEAN) * MEAN**value / factorial(value) for value in range(classes - 1)]
    return Spread(
        classes=np.minimum(drawn, classes - 1),
        columns={CLASSIFIER: drawn},
        shares=np.array([*chances, 1 - sum(chances)]),
        of_value=np.minimum(np.arange(VALUES), classes - 1),
    )


def pair(rng: np.random.Generator, rows: int, classes: int) -> Spread:
    """Make classes that only two attributes together tell.

    They are equally frequent.
    """
    drawn, one = rng.integers(classes, size=rows), rng.integers(classes, size=rows)
    columns = dict(zip(PAIR, (one, (drawn - one) % classes), strict=True))
    return Spread(classes=drawn, columns=columns, shares=np.full(classes, 1 / classes), of_value=None)


SPREADS: dict[str, Callable[[np.random.Generator, int, int], Spread]] = {
    "even": even,
    "poisson": poisson,
    "pair": pair,
}
"""The ways to spread classes."""
