"""Prices by class: what a row takes may depend on its values.

Rows of a sample go to all operators in small legs, each of which is timed by itself. No leg is of one class, but each
has another share of every class. So the seconds of a leg's step are regressed on its composition, attribute by
attribute: where the shares of some attribute's buckets explain the seconds, and chance does not, the price of a row is
taken by the bucket. Most operators take every row alike, and have one price.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.query_mesh.learn.best_attributes import coarsen, deviations, limit
from eddy.tuples.arrays import Floats, Integers

FEWEST_LEGS = 8
"""Legs from which anything is said about prices."""

MOST_GROUPS = 8
"""Groups of buckets whose prices are told apart, and half as many as there are legs at most."""

LEAST_RATIO = 1.5
"""The dearest group must cost so many times the cheapest: less hardly changes an order."""

SURE_OF_OTHERS = 2.0
"""Standard errors that suffice for an operator, once another one's price goes by the attribute."""

CHEAPEST = 0.01
"""The least price of a group, as a share of the mean: a regression may come out below nothing."""


class ClassPrices:
    """For some operators the attribute that their price goes by, and the price of a row by bucket."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Floats]] = {}
        self._mean: Floats = np.zeros(0)

    def learn(self, buckets: Buckets, legs: Integers, seconds: Floats) -> None:
        """Learn from rows and the times of their legs.

        `seconds` are those of a row of the leg on average, with each operator.
        """
        timed = ~np.isnan(seconds).any(axis=1)
        buckets, legs, seconds = buckets[timed], legs[timed], seconds[timed]
        _, first, leg = np.unique(legs, return_index=True, return_inverse=True)
        if len(first) < FEWEST_LEGS:
            return
        groups = min(MOST_GROUPS, len(first) // 2)
        varied = np.flatnonzero((buckets != buckets[:1]).any(axis=0)).tolist()
        tried = {a: _regress(leg, coarsen(buckets[:, a], groups), seconds[first]) for a in varied}
        self._known = {}
        self._mean = seconds.mean(axis=0)
        if not tried:
            return
        sure = np.stack([certain for _, certain in tried.values()])
        # An attribute that is certain for one operator may be believed of the others sooner.
        bars = np.where((sure > limit(sure.size)).any(axis=1), SURE_OF_OTHERS, np.inf)
        for operator, place in enumerate(np.where(sure > bars[:, None], sure, -np.inf).argmax(axis=0).tolist()):
            attribute = varied[place]
            price = np.maximum(tried[attribute][0][:, operator], CHEAPEST * self._mean[operator])
            if sure[place, operator] > bars[place] and price.max() >= LEAST_RATIO * price.min():
                table = np.full(256, self._mean[operator])
                table[buckets[:, attribute]] = price[coarsen(buckets[:, attribute], groups)]
                self._known[operator] = attribute, table

    @property
    def is_known(self) -> bool:
        """Whether the price of some operator goes by class."""
        return bool(self._known)

    def price(self, buckets: Buckets) -> Floats | None:
        """The price of each row with each operator; None where all rows cost the same."""
        if not self._known:
            return None
        found = np.tile(self._mean, (len(buckets), 1))
        for operator, (attribute, table) in self._known.items():
            found[:, operator] = table[buckets[:, attribute]]
        return found

    def snapshot(self) -> list[Any]:
        """Plain values."""
        tables = [[operator, attribute, table.tolist()] for operator, (attribute, table) in self._known.items()]
        return [self._mean.tolist(), tables]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        mean, tables = state
        self._mean = np.array(mean)
        self._known = {operator: (attribute, np.array(table)) for operator, attribute, table in tables}


def _regress(leg: Integers, group: Integers, seconds: Floats) -> tuple[Floats, Floats]:
    """Regress a leg's seconds a row on the shares of groups.

    Gives the price of each group, and how certain it is.

    The larger a leg, the more it weighs. Groups have a row, operators a column.
    """
    rows = np.bincount(leg).astype(np.float64)
    legs, groups = len(rows), int(group.max()) + 1
    shares = np.bincount(leg * groups + group, minlength=legs * groups).reshape(legs, groups) / rows[:, None]
    weight = np.sqrt(rows)[:, None]
    fitted: Floats = np.linalg.lstsq(shares * weight, seconds * weight, rcond=None)[0].astype(np.float64)
    mean = (seconds * rows[:, None]).sum(axis=0) / rows.sum()
    left = ((seconds - shares @ fitted) ** 2 * rows[:, None]).sum(axis=0)
    explained = ((seconds - mean) ** 2 * rows[:, None]).sum(axis=0) - left
    freedom, rest = np.full_like(left, groups - 1.0), np.full_like(left, float(legs - groups))
    # Timings have no events that could be too few.
    return fitted, deviations(explained, left, freedom, rest, np.full_like(left, np.inf))
