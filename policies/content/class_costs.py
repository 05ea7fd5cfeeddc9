"""What a row of an operator costs, by class.

Samples of an operator whose rows are dear enough go to it in small parts, each timed by itself. Parts of unlike rows
that take unlike times tell what a row of each bucket takes: seconds are regressed on the shares of the buckets. An
attribute counts once it foretells the times of parts that it was not fitted to, each part by all others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Hop, Price, Prices
from eddy.observe.prices import USUAL_STEP
from eddy.policies.content.profile import AS_GOOD, NO_ATTRIBUTE
from eddy.policies.shared.share_costs import count_shares, fit_seconds, leave_out_pauses, measure_skill, need_foretold
from eddy.tuples.arrays import Floats

LEAST_ROWS = 8
"""Rows of a part at least: the fewer, the more unlike parts are, and the more of them a sample has. With 32 the classes
of fifty values were not found before the policy gave up."""

STEPS_OF_A_PART = 2.0
"""Calls whose time a part's rows must take at least, so that what a call takes as such does not hide them."""

LEAST_PARTS = 4
"""Parts that a sample makes at least, else it is not timed: so few say nothing."""

PARTS_KEPT = 64
"""Parts that are remembered: a few samples, so that a cost that changes is followed."""

PARTS_TO_JUDGE = 12
"""Parts that are judged at least."""

UNLIKE = 0.15
"""The spread of the parts' times, in parts of their mean, below which all classes are believed to cost the same."""

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
        self._spread: float | None = None

    def add(self, seconds: float, buckets: Buckets, step: float) -> None:
        """Keep a part that took so long; `step` is the price of a call, as it is believed."""
        # Once classes go different ways, steps are of unlike rows, and nothing can be fitted to them: so the first
        # price is kept, and what looks dear is not believed.
        self._step = min(step, USUAL_STEP) if self._step is None else self._step
        self._parts = [*self._parts, Part(max(seconds - self._step, 0.0) / len(buckets), buckets)][-PARTS_KEPT:]
        self._is_new, self._spread = True, None

    @property
    def price(self) -> Price | None:
        """What a call costs, and a row of all, where rows cost unlike."""
        if self.attribute == NO_ATTRIBUTE and self._measure_spread() <= UNLIKE:
            return None
        return Price(self._step or 0.0, float(np.mean([part.seconds for part in self._parts])), 1.0)

    def forget(self) -> None:
        """Forget everything, since buckets mean something else now."""
        self._parts, self._step, self._spread, self.attribute = [], None, None, NO_ATTRIBUTE

    @property
    def is_open(self) -> bool:
        """Whether rows cost unlike, and more samples may tell by which attribute."""
        is_young = len(self._parts) < PARTS_KEPT
        return is_young and self.attribute == NO_ATTRIBUTE and self._measure_spread() > UNLIKE

    def _measure_spread(self) -> float:
        if len(self._parts) < LEAST_PARTS:
            return 0.0
        if self._spread is None:
            seconds = self._list_seconds()
            self._spread = float(seconds.std() / seconds.mean()) if seconds.mean() > 0 else 0.0
        return self._spread

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
        shares, seconds = self._count_shares(), self._list_seconds()
        skills = [float(measure_skill(share, seconds)) for share in shares]
        self.skill = max(skills, default=0.0)
        if self.skill >= need_foretold(len(seconds)):
            good = [a for a, skill in enumerate(skills) if skill >= AS_GOOD * self.skill]
            self.attribute = max(good, key=lambda a: (a == before, a in used, skills[a], -a))
            mean = seconds.mean()
            fitted = fit_seconds(shares[self.attribute], seconds)
            self.seconds = np.clip(fitted, mean / MOST_UNLIKE, mean * MOST_UNLIKE)
        return self.attribute != before

    def _count_shares(self) -> Floats:
        """Count the shares of each attribute's buckets: a line for each part."""
        number = np.repeat(np.arange(len(self._parts)), [len(part.buckets) for part in self._parts])
        buckets = np.concatenate([part.buckets for part in self._parts])
        return np.array([count_shares(number, column, self._cells) for column in buckets.T])

    def _list_seconds(self) -> Floats:
        """List the seconds of a row in each part."""
        rows = np.array([len(part.buckets) for part in self._parts], np.float64)
        return leave_out_pauses(np.array([part.seconds for part in self._parts]), rows)

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
        self._spread = None
        self.seconds = np.array(seconds, np.float64)


def count_parts(rows: int, price: Price) -> int:
    """Count the parts into which rows of a sample are cut.

    Each is timed by itself. There are none where they would say nothing.
    """
    if price.row <= 0:
        return 0
    # The price of a call is young as well: a first one of few rows may have taken ten times as long.
    count = int(rows // max(LEAST_ROWS, STEPS_OF_A_PART * min(price.step, USUAL_STEP) / price.row))
    return count if count >= LEAST_PARTS else 0


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
