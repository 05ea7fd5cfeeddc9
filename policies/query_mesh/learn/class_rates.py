"""What operators let through, by the buckets of the attribute that tells most of each.

A sample of a thousand rows has five rows of each of two hundred values: enough to see that they differ, and too few to
say which of them goes which way. Ordinary outcomes say it, and cost no call: all rows of a class come to the first
operator of their way, so its outcomes are unbiased; and those of later operators are where nothing but the class makes
operators agree. So the sample names an attribute for each operator, and begins a table by its buckets; every step that
follows is counted there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.classes.single_values import FIRST_VALUE, MOST_NUMBERS
from eddy.policies.query_mesh.learn.best_attributes import EVENTS_TO_JUDGE, count_events, limit, weigh_each
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers

NO_ATTRIBUTE = -1
"""The attribute of an operator that nothing tells anything about."""

AS_GOOD = 0.8
"""An attribute that explains so much of what the best one does is taken if it tells about other operators as well: each
attribute has to be looked at in every row."""

SURE_OF_OTHERS = 1.0
"""Standard deviations that suffice for an operator, once the attribute tells about another one: where it tells nothing,
the rates of its buckets come out alike."""

ROWS_REMEMBERED = 400.0
"""Rows of a bucket that are remembered: known to a few hundredths, and no older than need be."""

LEAST_BELIEF, MOST_BELIEF = 1.0, 100.0
"""Rows of the usual kind that a bucket is given besides its own: the fewer, the more buckets differ."""

ROWS_PER_BUCKET = 50
"""Rows of a sample for each bucket from which the sample itself says enough."""

TINY = 1e-9
"""Keeps quotients finite, where rates have no spread."""

ENOUGH_ROWS = 200.0
"""Rows of a bucket, on average over all and all operators, from which more would hardly change a route."""


class ClassRates:
    """For each operator the attribute that it goes by, and outcomes by bucket."""

    def __init__(self, operators: int, cells: int) -> None:
        self.tellers: Integers = np.full(operators, NO_ATTRIBUTE)
        self._seen = np.zeros((operators, cells))
        self._out = np.zeros((operators, cells))
        # Attributes whose values are told apart one by one, and the bucket of each value's number.
        self.refined: Mapping[int, Buckets] = {}

    def refine(self, refined: Mapping[int, Buckets]) -> None:
        """Tell values of some attributes apart one by one: cells are buckets first, and then values.

        They may tell of all operators, also of those that the sample says nothing about: hashed values hide it.
        """
        self.refined = refined
        telling = [attribute for attribute in self.attributes if attribute in refined]
        if telling:
            self.tellers[self.tellers == NO_ATTRIBUTE] = telling[0]
        more = MOST_NUMBERS - self._seen.shape[1]
        if refined and more > 0:
            self._seen, self._out = (np.pad(table, ((0, 0), (0, more))) for table in (self._seen, self._out))

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attributes that tell about some operator, ascending."""
        return tuple(sorted(set(self.tellers.tolist()) - {NO_ATTRIBUTE}))

    @property
    def rows(self) -> float:
        """Outcomes in all tables, as they count by now."""
        return float(self._seen.sum())

    def is_fine(self, rows: int) -> bool:
        """Tell whether a sample of so many rows knows too little of each class.

        Operators go by several attributes, or by one with many buckets.
        """
        if len(self.attributes) != 1:
            return bool(self.attributes)
        told = int(np.flatnonzero(self.tellers != NO_ATTRIBUTE)[0])
        return bool(np.count_nonzero(self._seen[told]) * ROWS_PER_BUCKET > rows)

    @property
    def is_thin(self) -> bool:
        """Whether some attribute tells something, and buckets have few rows."""
        told = self.tellers != NO_ATTRIBUTE
        return bool(told.any()) and bool(self._count_each()[told].min() < ENOUGH_ROWS)

    def _count_each(self) -> Floats:
        """Count the rows of a bucket for each operator, on average over buckets that any operator has seen."""
        met = (self._seen > 0).sum(axis=1)
        found: Floats = self._seen.sum(axis=1) / np.maximum(met, 1)
        return found

    def tells_all(self, sample: Sample, work: Work, *, is_priced: bool = False) -> Steps[bool]:
        """Tell whether one attribute explains what operators let through, and nothing beside it shows.

        Then no search would find more. What needs two attributes at once does not show so, unless it makes operators
        agree, or exclude each other. Where it is known what rows cost by bucket, there may be no such attribute.
        """
        if not is_priced and (len(self.attributes) != 1 or not self.is_fine(len(sample))):
            return False
        rest = sample.outcomes - self.predict(sample.told, sample.outcomes.mean(axis=0))
        tellers = yield from find_tellers(sample.buckets, rest, (), work)
        return bool((tellers == NO_ATTRIBUTE).all())

    def forget(self) -> None:
        """Begin anew: buckets mean something else now, or the stream does."""
        self.tellers[:] = NO_ATTRIBUTE
        self._seen[:], self._out[:] = 0.0, 0.0

    def take_up(self, tellers: Integers, told: ValueNumbers, outcomes: Floats, *, anew: bool) -> None:
        """Let operators go by other attributes, which a sample has named.

        `told` has the buckets of its rows, or their numbers where values are told apart one by one. Tables of operators
        that get another attribute begin with the sample; all of them, if they are to begin `anew`.
        """
        for number in np.flatnonzero(anew | (tellers != self.tellers)).tolist():
            self.tellers[number] = tellers[number]
            self._seen[number], self._out[number] = 0.0, 0.0
            if tellers[number] != NO_ATTRIBUTE:
                self.count(number, told[:, tellers[number]], outcomes[:, number])

    def keep(self, buckets: ValueNumbers, outcomes: Floats) -> None:
        """Count rows of a sample, by the attributes as they are."""
        for number, teller in enumerate(self.tellers.tolist()):
            if teller != NO_ATTRIBUTE:
                self.count(number, buckets[:, teller], outcomes[:, number])

    def count(self, operator: int, buckets: ValueNumbers, outcomes: Floats) -> None:
        """Count what an operator made of some rows, by their buckets of its attribute."""
        known = ~np.isnan(outcomes)
        cells = self._seen.shape[1]
        self._seen[operator] += np.bincount(buckets[known], minlength=cells)
        self._out[operator] += np.bincount(buckets[known], outcomes[known], cells)
        kept = np.minimum(1.0, ROWS_REMEMBERED / np.maximum(self._seen[operator], 1.0))
        self._seen[operator] *= kept
        self._out[operator] *= kept

    def without(self, buckets: ValueNumbers, outcomes: Floats) -> ClassRates:
        """The same tables less the rows of a sample, so that these can test what follows from the others."""
        others = ClassRates(*self._seen.shape)
        others.tellers, others.refined = self.tellers, self.refined
        counted = ClassRates(*self._seen.shape)
        counted.tellers = self.tellers
        counted.keep(buckets, outcomes)
        others._seen = np.maximum(self._seen - counted._seen, 0.0)
        others._out = np.clip(self._out - counted._out, 0.0, None)
        return others

    def rates(self, usual: Floats) -> Floats:
        """Outputs per input by operator and bucket; `usual` are those of all rows, which a bucket leans on.

        It does so the more, the less buckets differ beyond chance.
        """
        seen = self._seen.sum(axis=1)
        whole = np.where(seen > 0, self._out.sum(axis=1) / np.maximum(seen, 1.0), usual)[:, None]
        own = self._out / np.maximum(self._seen, 1.0)
        between = (self._seen * (own - whole) ** 2).sum(axis=1)
        groups = (self._seen > 0).sum(axis=1)
        # What passes a filter is spread as draws are, and what comes out of a probe about as counts of rare events.
        spread = whole * (1 - whole) if (whole <= 1).all() else whole
        within = np.maximum(spread[:, 0], TINY)
        # The sum of squares between groups is (groups - 1) * within from chance alone, and what is more comes from
        # differences between them.
        even = seen - (self._seen**2).sum(axis=1) / np.maximum(seen, 1.0)
        apart = np.maximum(between - (groups - 1) * within, 0.0) / np.maximum(even, 1.0)
        belief = np.clip(within / np.maximum(apart, TINY), LEAST_BELIEF, MOST_BELIEF)[:, None]
        found: Floats = (self._out + belief * whole) / (self._seen + belief)
        # A value leans on its bucket, which has seen it before it was told apart.
        for operator, teller in enumerate(self.tellers.tolist()):
            if teller in self.refined:
                values = slice(FIRST_VALUE, None)
                usual_there = found[operator].take(self.refined[teller][values])
                seen, out, lean = self._seen[operator, values], self._out[operator, values], belief[operator]
                found[operator, values] = (out + lean * usual_there) / (seen + lean)
        return found

    def count_rows(self, attribute: int) -> Floats:
        """Count the rows of each bucket of an attribute that tells something."""
        found: Floats = self._seen[self.tellers == attribute].sum(axis=0)
        return found

    def predict(self, buckets: ValueNumbers, usual: Floats) -> Floats:
        """Outputs per input of each row and operator."""
        rates = self.rates(usual)
        found = np.tile(usual, (len(buckets), 1))
        for number, teller in enumerate(self.tellers.tolist()):
            if teller != NO_ATTRIBUTE:
                found[:, number] = rates[number].take(buckets[:, teller])
        return found

    def copy(self) -> ClassRates:
        """The same tables, as they are now."""
        found = ClassRates(*self._seen.shape)
        found.tellers, found.refined = self.tellers.copy(), dict(self.refined)
        found._seen, found._out = self._seen.copy(), self._out.copy()
        return found

    def snapshot(self) -> dict[str, Any]:
        """Arrays."""
        return {"tellers": self.tellers, "rates": np.stack((self._seen, self._out))}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.tellers = state["tellers"].copy()
        self._seen, self._out = state["rates"].copy()


def find_tellers(buckets: Buckets, outcomes: Floats, used: Collection[int], work: Work) -> Steps[Integers]:
    """Find for each operator the attribute that explains most of its outcomes; those in use come first."""
    operators = outcomes.shape[1]
    tellers = np.full(operators, NO_ATTRIBUTE)
    centred = outcomes - outcomes.mean(axis=0)
    known = np.flatnonzero(~np.isnan(centred).any(axis=0) & (count_events(centred) >= EVENTS_TO_JUDGE))
    varied = np.flatnonzero((buckets != buckets[:1]).any(axis=0))
    if not len(known) or not len(varied):
        return tellers
    targets = centred[:, known] / np.sqrt((centred[:, known] ** 2).mean(axis=0))
    certain, share = yield from weigh_each(buckets[:, varied], targets, work)
    bar = limit(certain.size)
    # What an attribute tells of all operators together shows sooner than what it tells of each.
    together = np.where(certain > -np.inf, certain, 0.0).sum(axis=1) / np.sqrt(len(known))
    tells = (certain > bar).any(axis=1) | (together > bar)
    bars = np.where(tells, SURE_OF_OTHERS, np.inf)
    share = np.where(certain > bars[:, None], share, 0.0)
    worth = share.sum(axis=1) * np.where(np.isin(varied, list(used)), 1 / AS_GOOD, 1.0)
    for place, operator in enumerate(known.tolist()):
        best = share[:, place].max()
        if best > 0:
            good = np.flatnonzero(share[:, place] >= AS_GOOD * best)
            tellers[operator] = varied[good[worth[good].argmax()]]
    return tellers
