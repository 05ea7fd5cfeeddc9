"""Prices by class: what a row takes may depend on its values.

Rows of a sample go to all operators in small legs, each of which is timed by itself. No leg is of one class, but each
has another share of every class. So the seconds of a leg's step are regressed on its composition (`share_costs`): where
the shares of some attribute's buckets foretell the seconds, the price of a row is taken by the bucket. Most operators
take every row alike, and have one price.

Few legs cannot tell many buckets. But they show whether steps of as many rows take unlike times, and where they do
(`is_open`) the next samples have more legs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.query_mesh.learn.cut import BUCKETS
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.shared.share_costs import count_shares, fit_seconds, leave_out_pauses, measure_skill, need_foretold
from eddy.tuples.arrays import Floats, Integers, Mask

FEWEST_LEGS = 8
"""Legs from which anything is said about prices."""

LEAST_RATIO = 1.5
"""The dearest bucket must cost so many times the cheapest: less hardly changes an order."""

LEAST_SKILL = 0.1
"""The share of the spread that an attribute must foretell of an operator by itself, once it foretells enough of all."""

MOST_UNLIKE = 100.0
"""Times that a bucket may cost the mean, or a part of it: a fit may say nothing at all, or less."""

UNLIKE = 0.15
"""The spread of what legs take, as a share of the median of whole steps, from which on rows are believed to cost
unlike. Half of the legs are within it, so a pause of the machine changes nothing."""


class ClassPrices:
    """For some operators the attribute that their price goes by, and the price of a row by bucket."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, Floats]] = {}
        self._mean: Floats = np.zeros(0)
        self.is_open = False

    def learn(self, buckets: Buckets, legs: Integers, seconds: Floats, work: Work, step: float = 0.0) -> Steps[None]:
        """Learn from rows and the times of their legs.

        `seconds` are those of a row of the leg on average, with each operator; a call takes `step` besides.
        """
        timed = ~np.isnan(seconds).any(axis=1)
        buckets, legs, seconds = buckets[timed], legs[timed], seconds[timed]
        _, first, leg = np.unique(legs, return_index=True, return_inverse=True)
        if len(first) < FEWEST_LEGS:
            return
        rows, seconds = np.bincount(leg).astype(np.float64), seconds[first]
        before = {attribute for attribute, _ in self._known.values()}
        self._known, self._mean = {}, rows @ seconds / rows.sum()
        seconds = leave_out_pauses(seconds, rows)
        unlike = _are_unlike(seconds, rows, step)
        varied = np.flatnonzero((buckets != buckets[:1]).any(axis=0)).tolist()
        self.is_open = bool(varied and unlike.any())
        if not self.is_open:
            return
        shares = {attribute: count_shares(leg, buckets[:, attribute]) for attribute in varied}
        skills = yield from _measure_skills(shares.values(), seconds, rows, work)
        # What an attribute foretells of all operators together shows sooner than what it foretells of each.
        together = skills[:, unlike].mean(axis=1)
        best = int(together.argmax())
        # What is known stays as long as nothing speaks against it.
        need = 0.0 if varied[best] in before else need_foretold(len(first) * int(unlike.sum()))
        if together[best] <= need:
            return
        fitted = fit_seconds(shares[varied[best]], seconds, rows)
        met = shares[varied[best]].sum(axis=0) > 0
        self._keep(varied[best], np.where(met[:, None], fitted, self._mean), skills[best] > LEAST_SKILL)
        self.is_open = not self._known

    def _keep(self, attribute: int, fitted: Floats, foretold: Mask) -> None:
        """Keep the prices by an attribute of the operators of which it foretells something."""
        prices = np.clip(fitted, self._mean / MOST_UNLIKE, self._mean * MOST_UNLIKE)
        for operator in np.flatnonzero(foretold).tolist():
            table = np.full(BUCKETS, self._mean[operator])
            table[: len(prices)] = prices[:, operator]
            if table.max() >= LEAST_RATIO * table.min():
                self._known[operator] = attribute, table

    def copy(self) -> ClassPrices:
        """The same prices."""
        found = ClassPrices()
        found._known, found._mean, found.is_open = dict(self._known), self._mean, self.is_open
        return found

    @property
    def tables(self) -> Mapping[int, tuple[int, Floats]]:
        """For those operators the attribute, and the price of a row of each of its buckets."""
        return self._known

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
        return [self._mean.tolist(), tables, self.is_open]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        mean, tables, self.is_open = state
        self._mean = np.array(mean)
        self._known = {operator: (attribute, np.array(table)) for operator, attribute, table in tables}


def _measure_skills(shares: Iterable[Floats], seconds: Floats, rows: Floats, work: Work) -> Steps[Floats]:
    """Measure what each attribute foretells of each operator."""
    skills = []
    for share in shares:
        yield work.step()
        skills.append(measure_skill(share, seconds, rows))
    return np.stack(skills)


def _are_unlike(seconds: Floats, rows: Floats, step: float) -> Mask:
    """Tell for each operator whether legs take unlike times, each as a share of its whole step."""
    middle = np.median(seconds, axis=0)
    off = np.abs(seconds - middle) * rows[:, None] / (middle * rows[:, None] + step)
    found: Mask = np.asarray(np.median(off, axis=0) > UNLIKE)
    return found
