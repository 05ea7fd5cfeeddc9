"""What a row of an operator costs, by class.

Samples of an operator whose rows are dear enough go to it in small parts, each timed by itself. Parts of unlike rows
that take unlike times tell what a row of each bucket takes: seconds are regressed on the shares of the buckets. An
attribute counts once it foretells the times of parts that it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Hop, Price, Prices
from eddy.observe.prices import USUAL_STEP
from eddy.policies.content.profile import AS_GOOD, NO_ATTRIBUTE
from eddy.tuples.arrays import Floats

LEAST_ROWS = 32
"""Rows of a part at least: with fewer, the time of a call as such would be most of what is measured."""

STEPS_OF_A_PART = 2.0
"""Calls whose time a part's rows must take at least, so that what a call takes as such does not hide them."""

LEAST_PARTS = 4
"""Parts that a sample makes at least, else it is not timed: so few say nothing."""

PARTS_KEPT = 48
"""Parts that are remembered: a few samples, so that a cost that changes is followed."""

PARTS_TO_JUDGE = 12
"""Parts that are judged at least: an attribute is fitted to half of them, and tried on the others."""

UNLIKE = 0.15
"""The spread of the parts' times, in parts of their mean, below which all classes are believed to cost the same."""

FORETOLD = 0.5
"""The share of the spread that an attribute must foretell."""

STIFFNESS = 0.01
"""The weight of the belief that all buckets cost the same, in squared shares of a part."""

MOST_UNLIKE = 100.0
"""Times that a class may cost the mean, or a part of it: a fit may say nothing at all, or less."""


class Part(NamedTuple):
    """The seconds of a row in a part of a sample, and the buckets of its rows."""

    seconds: float
    buckets: Buckets


class ClassCosts:
    """The timed parts of one operator, and the attribute that foretells what they take."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._parts: list[Part] = []
        self._is_new = False
        self.attribute = NO_ATTRIBUTE
        self.skill = 0.0
        self.seconds = np.zeros(cells)
        self._step: float | None = None

    def add(self, seconds: float, buckets: Buckets, step: float) -> None:
        """Keep a part that took so long; `step` is the price of a call, as it is believed."""
        # Once classes go different ways, steps are of unlike rows, and nothing can be fitted to them: so the first
        # price is kept, and what looks dear is not believed.
        self._step = min(step, USUAL_STEP) if self._step is None else self._step
        self._parts = [*self._parts, Part(max(seconds - self._step, 0.0) / len(buckets), buckets)][-PARTS_KEPT:]
        self._is_new = True

    @property
    def price(self) -> Price | None:
        """What a call costs, and a row of all, where rows cost unlike."""
        if self.attribute == NO_ATTRIBUTE and self._measure_spread() <= UNLIKE:
            return None
        return Price(self._step or 0.0, float(np.mean([part.seconds for part in self._parts])), 1.0)

    def forget(self) -> None:
        """Forget everything, since buckets mean something else now."""
        self._parts, self._step, self.attribute = [], None, NO_ATTRIBUTE

    @property
    def is_open(self) -> bool:
        """Whether rows cost unlike, and more samples may tell by which attribute."""
        is_young = len(self._parts) < PARTS_KEPT
        return is_young and self.attribute == NO_ATTRIBUTE and self._measure_spread() > UNLIKE

    def _measure_spread(self) -> float:
        if len(self._parts) < LEAST_PARTS:
            return 0.0
        seconds = np.array([part.seconds for part in self._parts])
        return float(seconds.std() / seconds.mean()) if seconds.mean() > 0 else 0.0

    def judge(self, used: Collection[int]) -> bool:
        """Find the attribute that foretells best; says if it is new.

        One that is in use is taken if it does nearly as well.
        """
        if not self._is_new or len(self._parts) < PARTS_TO_JUDGE:
            return False
        self._is_new = False
        before, self.attribute = self.attribute, NO_ATTRIBUTE
        if self._measure_spread() <= UNLIKE:
            return before != NO_ATTRIBUTE
        seconds = np.array([part.seconds for part in self._parts])
        skills = [_measure_skill(self._count_shares(a), seconds) for a in range(self._parts[0].buckets.shape[1])]
        self.skill = max(skills, default=0.0)
        if self.skill >= FORETOLD:
            good = [a for a, skill in enumerate(skills) if skill >= AS_GOOD * self.skill]
            self.attribute = max(good, key=lambda a: (a == before, a in used, skills[a], -a))
            mean = seconds.mean()
            fitted = _fit(self._count_shares(self.attribute), seconds)(np.eye(self._cells))
            self.seconds = np.clip(fitted, mean / MOST_UNLIKE, mean * MOST_UNLIKE)
        return self.attribute != before

    def _count_shares(self, attribute: int) -> Floats:
        """Count the shares of an attribute's buckets: a line for each part."""
        return np.array(
            [np.bincount(part.buckets[:, attribute], minlength=self._cells) / len(part.buckets) for part in self._parts]
        )

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        parts = [[seconds, buckets.tolist()] for seconds, buckets in self._parts]
        return {
            "parts": parts,
            "fit": [self.attribute, self.skill, self.seconds.tolist(), self._is_new, self._step],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a snapshot."""
        self._parts = [Part(seconds, np.array(buckets, np.uint8)) for seconds, buckets in state["parts"]]
        self.attribute, self.skill, seconds, self._is_new, self._step = state["fit"]
        self.seconds = np.array(seconds, np.float64)


def count_parts(rows: int, price: Price) -> int:
    """Count the parts into which rows of a sample are cut.

    Each is timed by itself. There are none where they would say nothing.
    """
    if price.row <= 0:
        return 0
    count = int(rows // max(LEAST_ROWS, STEPS_OF_A_PART * price.step / price.row))
    return count if count >= LEAST_PARTS else 0


class _Line:
    """Seconds as a sum over shares of buckets."""

    def __init__(self, shares: Floats, weights: Floats, mean: float) -> None:
        self._shares, self._weights, self._mean = shares, weights, mean

    def __call__(self, shares: Floats) -> Floats:
        foretold: Floats = self._mean + (shares - self._shares) @ self._weights
        return foretold


def _fit(shares: Floats, seconds: Floats) -> _Line:
    """Fit seconds to shares by least squares, each bucket drawn to the mean."""
    middle, mean = shares.mean(axis=0), float(seconds.mean())
    apart = shares - middle
    # There are fewer parts than buckets, so the smaller of the two systems of equations is solved.
    solved = np.linalg.solve(apart @ apart.T + STIFFNESS * np.eye(len(apart)), seconds - mean)
    return _Line(middle, apart.T @ solved, mean)


def _measure_skill(shares: Floats, seconds: Floats) -> float:
    """Measure the share of the spread that is foretold.

    It is that of parts that were not fitted, every other one in turn.
    """
    missed = spread = 0.0
    for first in (0, 1):
        seen, other = slice(first, None, 2), slice(1 - first, None, 2)
        line = _fit(shares[seen], seconds[seen])
        missed += float(((seconds[other] - line(shares[other])) ** 2).sum())
        spread += float(((seconds[other] - seconds[seen].mean()) ** 2).sum())
    return 1 - missed / spread if spread > 0 else 0.0


class PricesOfAll(Prices):
    """The price list, with the price of a row of all classes.

    It has that for operators whose classes cost unlike, and the fitted price for all others.

    The fitted price is that of the rows that have come to them, which are those for which they are cheap.
    """

    def __init__(self, prices: Prices, find: Callable[[Hop], ClassCosts | None]) -> None:
        super().__init__(prices.probes)
        self._prices, self._find = prices, find

    def __getitem__(self, hop: Hop) -> Price:
        """Give the price of a hop."""
        costs = self._find(hop)
        return (None if costs is None else costs.price) or self._prices[hop]
