"""The rows of a stream that went to all operators, in small legs that are timed by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.classes.single_values import FIRST_VALUE
from eddy.observe.statistics import Statistic
from eddy.policies.query_mesh.finding import agree
from eddy.policies.query_mesh.learn.class_prices import FEWEST_LEGS, ClassPrices
from eddy.policies.query_mesh.learn.class_rates import ClassRates
from eddy.policies.query_mesh.operator_rates import OperatorRates
from eddy.policies.query_mesh.optimizer import are_independent
from eddy.policies.shared.sample import Reservoir, Sample
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers

SMALLEST_LEG, MOST_LEGS = 8, 16
"""Rows of a leg of the sample at least, and legs at most."""

ROWS_OF_UNLIKE, LEGS_OF_UNLIKE = 5, 96
"""Rows of a leg where rows cost unlike and nobody knows why, and such legs in all: they tell fifty values."""

FEWEST_TOLD = 100
"""Rows of the sample whose values are told apart that say whether operators agree; with fewer they are believed not
to."""

CALLS_OF_LEGS = 0.25
"""The calls of a leg of the sample may take so much of what its rows take."""


class Evidence:
    """The newest rows of the sample, and the prices by class that follow from their legs.

    `shape` says how many attributes there are, and of how many buckets.
    """

    def __init__(self, shape: tuple[int, int], operators: Sequence[str], room: int, rates: OperatorRates) -> None:
        attributes, self._cells = shape
        self._operators, self._rates = tuple(operators), rates
        self.rows = Reservoir(attributes, len(operators), room)
        self.prices = ClassPrices()
        self.by_bucket = ClassRates(len(operators), self._cells)
        # Whether nothing but the class makes operators agree: then all outcomes are evidence, and not only the first.
        self.is_independent = False
        # Legs that were sent since rows cost unlike.
        self.tried = 0

    def forget(self) -> None:
        """Begin anew: buckets mean something else now."""
        self.forget_rows()
        self.prices, self.tried = ClassPrices(), 0

    def forget_rows(self) -> None:
        """Forget what operators did."""
        self.rows.keep(0)
        self.by_bucket.forget()

    @property
    def tellers(self) -> tuple[int, ...]:
        """The attributes that operators go by."""
        return self.by_bucket.attributes

    def refine(self, refined: Mapping[int, Buckets]) -> None:
        """Tell values of some attributes apart one by one, given the bucket of each number."""
        self.is_independent |= refined.keys() != self.refined.keys()
        self.by_bucket.refine(refined)

    def find_buckets(self, attributes: Sequence[int], numbers: ValueNumbers) -> Buckets:
        """Find the buckets of some rows, given the numbers of their values."""
        refined, pairs = self.refined, zip(attributes, numbers.T, strict=True)
        columns = [refined[a].take(column) if a in refined else column for a, column in pairs]
        return np.array(columns, np.uint8).T

    @property
    def refined(self) -> Mapping[int, Buckets]:
        """The attributes whose values are told apart one by one, and the bucket of each number."""
        return self.by_bucket.refined

    @property
    def is_timing(self) -> bool:
        """Whether rows cost unlike, and more legs may tell by which attribute, or what a row of each bucket costs."""
        return (self.prices.is_open or self.prices.is_known) and self.tried < LEGS_OF_UNLIKE

    def count_legs(self, rows: int) -> int:
        """Count the legs in which to send a sample.

        Each is timed by itself, and has calls of its own.
        """
        if self._rates.costs == "unit":
            return 1
        if self.is_timing:
            legs = max(min(rows // ROWS_OF_UNLIKE, LEGS_OF_UNLIKE - self.tried), 1)
            self.tried += legs
            return legs
        calls, work = self._rates.price_calls(), float(self._rates.prices().sum())
        smallest = max(SMALLEST_LEG, calls / (CALLS_OF_LEGS * work))
        legs = int(rows / smallest)
        # Fewer legs say nothing, unless others before them did.
        return min(legs, MOST_LEGS) if legs >= FEWEST_LEGS or (legs and self.prices.is_known) else 1

    def keep(
        self,
        hops: Sequence[Hop],
        statistics: Sequence[Statistic],
        buckets: Buckets,
        outcomes: Sequence[Any],
        numbers: ValueNumbers | None = None,
    ) -> None:
        """Keep what became of rows that went to all operators.

        They went in one leg, whose time is kept too.
        """
        columns = np.full((len(buckets), len(self._operators)), np.nan)
        seconds = np.full(len(self._operators), np.nan)
        for hop, statistic, counts in zip(hops, statistics, outcomes, strict=True):
            number = self._operators.index(hop.operator)
            columns[:, number] = counts
            seconds[number] = self._rates.price_own(hop, statistic)
        self.rows.add(buckets, columns, seconds, numbers)
        self.by_bucket.keep(buckets if numbers is None else numbers, columns)

    def find_tellers(self, rows: int) -> None:
        """Name the attribute that tells most of each operator, by the newest rows; older ones are of another stream."""
        buckets, outcomes = self.rows.newest(rows)
        numbers = self.rows.number(rows)
        told = buckets if numbers is None else numbers
        self.by_bucket.find(buckets, told, outcomes, anew=rows < len(self.rows))
        # Hashed values that are unlike make operators seem to agree: only rows say it whose values are told apart.
        singly = [attribute for attribute in self.tellers if attribute in self.refined]
        some = (told[:, singly] >= FIRST_VALUE).all(axis=1)
        apart = outcomes[some] - self.by_bucket.predict(told[some], self._rates.shares())
        is_known = not singly or len(apart) >= FEWEST_TOLD
        self.is_independent = not is_known or are_independent(apart[:, ~np.isnan(apart).any(axis=0)])

    @property
    def is_counting(self) -> bool:
        """Whether outcomes of ordinary steps are counted by bucket."""
        return self.by_bucket.is_fine(self.rows.room) and self.by_bucket.is_thin

    def is_fine(self, rows: int) -> bool:
        """Tell whether so many rows of a sample are few for the buckets that tell something."""
        return self.by_bucket.is_fine(rows)

    def choose_rows(self, fresh: int | None) -> int:
        """Count the newest rows that are evidence.

        That is all of them, unless those since a change do not agree with the others.

        `fresh` have come since then, or there was none.
        """
        every = len(self.rows)
        if fresh is None or fresh >= every:
            return every
        buckets, outcomes = self.rows.newest(every)
        older, newer = slice(None, every - fresh), slice(every - fresh, None)
        same = agree((buckets[older], outcomes[older]), (buckets[newer], outcomes[newer]), self._cells)
        return every if same else fresh

    def as_sample(self, rows: int) -> Sample:
        """Give the newest rows with what was seen of them, and what they cost.

        What could not be seen is as usual.
        """
        buckets, outcomes = self.rows.newest(rows)
        filled = np.where(np.isnan(outcomes), np.broadcast_to(self._rates.shares(), outcomes.shape), outcomes)
        if self._rates.costs == "time":
            self.prices.learn(buckets, *self.rows.timed(rows), self._rates.price_step())
        prices, numbers = self.prices.price(buckets), self.rows.number(rows)
        return Sample(buckets=buckets, outcomes=filled, prices=prices, numbers=numbers)

    def count_buckets(self, attributes: Sequence[int]) -> int:
        """Count the buckets of the attribute that has most of them in the sample."""
        buckets, _ = self.rows.newest(len(self.rows))
        return max((len(np.unique(buckets[:, attribute])) for attribute in attributes), default=0)

    def is_blurred(self, rows: int) -> bool:
        """Tell whether some attribute has fewer rows of the sample in a bucket than so many."""
        return rows * self.count_buckets(self.varied.tolist()) > len(self.rows)

    @property
    def varied(self) -> Integers:
        """The attributes that vary over the rows of the sample.

        Others cost a look and tell nothing.
        """
        buckets, _ = self.rows.newest(len(self.rows))
        return np.flatnonzero((buckets != buckets[:1]).any(axis=0))
