"""Evidence that an attribute classifies an operator.

Counts by attribute and bucket come from rows that were sent to the operator first. The attribute with the highest gain
ratio classifies, once chance does not explain its gain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.tuples.arrays import Floats

NO_ATTRIBUTE = -1
"""No attribute classifies (the paper's CA of -1)."""

EVIDENCE_LEFT = 0.9
"""The share of the evidence that counts on after a judgement named a classifier: one that has lost its meaning is
forgotten after ten samples."""

MOST_EVIDENCE = 20_000
"""Rows of evidence that are kept while there is no classifier and no change: one that explains a thousandth of what an
operator does shows in so many, and a stronger one that comes later is seen behind them in a tenth of them."""

FRESH_ROWS = 500
"""Rows of new evidence that are judged by themselves while there is no classifier: classes that appear show there at
once, and among all evidence only after as many rows again."""

AS_GOOD = 0.9
"""The share of the best gain with which an attribute that is in use is as good: it makes no more classes."""

SIGNIFICANT = 5.0
"""Standard deviations by which the evidence must exceed what chance gives. With 150 rows in 24 buckets chance alone
gets so far once in 1,500 times (four would be once in 200): with tens of attributes, tried again and again, that is
rare enough."""

SIGNIFICANT_SOON = 10.0
"""The same for new evidence by itself, which is looked at so often that less would show by chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Learning:
    """The parameters of `content` that concern learning."""

    cells: int
    alpha: float
    threshold: float
    sample: int


class Profile:
    """In and Out by attribute and bucket.

    They name the attribute that classifies; the operator's `own` ones cannot.
    """

    def __init__(self, attributes: int, cells: int, own: Sequence[int] = ()) -> None:
        self._cells = cells
        self._own = list(own)
        # All evidence, and the part of it that has come since new evidence was last judged.
        self._tables = np.zeros((3, attributes, cells))
        self._fresh = np.zeros((3, attributes, cells))
        self.fresh = 0
        self.attribute = NO_ATTRIBUTE
        self.gain = 0.0
        self.sampled = 0
        self.judged = 0

    @property
    def classifiers(self) -> tuple[int, ...]:
        """The attribute that classifies, if there is one."""
        return () if self.attribute == NO_ATTRIBUTE else (self.attribute,)

    @property
    def evidence(self) -> float:
        """Rows that count, by the attribute of which most are known."""
        return float(self._tables[0].sum(axis=1).max(initial=0.0))

    def learn(self, attributes: Sequence[int], buckets: Buckets, outcomes: Any) -> None:
        """Count rows of a sample, by several attributes at once."""
        count = len(attributes)
        places = (buckets + np.arange(count) * self._cells).ravel()
        for number, weights in enumerate(_powers(outcomes)):
            table = np.bincount(places, weights.repeat(count), count * self._cells)
            table = table.reshape(count, self._cells)
            self._tables[number, attributes] += table
            self._fresh[number, attributes] += table
        self.sampled += len(outcomes)
        self.fresh += len(outcomes)

    def judge(self, threshold: float, used: Collection[int] = (), values: tuple[Floats, Floats] | None = None) -> bool:
        """Choose the attribute that tells most, or one in use that tells nearly as much.

        What `values` of the present one have shown, In and Out by value, counts as well where it says more. Returns
        whether it is another one than before.
        """
        gains = _measure(self._tables)
        gains[self._own] = 0.0
        if values is not None:
            seen, out = (counts[None] for counts in values)
            gains[self.attribute] = max(gains[self.attribute], gain_ratios(seen, np.minimum(out, seen))[0])
        best = float(gains.max(initial=0.0))
        before, self.attribute = self.attribute, NO_ATTRIBUTE
        if best > threshold:
            good = np.flatnonzero(gains >= AS_GOOD * best).tolist()
            # Its own goes before that of another operator, and the best of those in use before the best of all.
            self.attribute = max(good, key=lambda a: (a == before, a in used, gains[a], -a))
        self.gain = best
        return self.attribute not in (NO_ATTRIBUTE, before)

    def notice(self, threshold: float) -> bool:
        """Judge the evidence that is new, if it is enough; says whether it is all that counts from now on."""
        if self.fresh < FRESH_ROWS:
            return False
        fresh, self._fresh, self.fresh = self._fresh, np.zeros_like(self._fresh), 0
        is_news = (
            self.attribute == NO_ATTRIBUTE
            and np.delete(_measure(fresh, SIGNIFICANT_SOON), self._own).max(initial=0.0) > threshold
        )
        if is_news:
            self._tables = fresh
        return bool(is_news)

    def bucket_counts(self) -> tuple[Floats, Floats]:
        """In and Out by the buckets of the classifier."""
        return self.count_by(self.attribute)

    def count_by(self, attribute: int) -> tuple[Floats, Floats]:
        """In and Out by the buckets of an attribute."""
        return self._tables[0, attribute].copy(), self._tables[1, attribute].copy()

    def fade(self) -> None:
        """Begin the next sample."""
        if self.attribute == NO_ATTRIBUTE:
            self.forget(MOST_EVIDENCE)
        else:
            self._tables *= EVIDENCE_LEFT
        self.sampled = 0
        self.judged += 1

    def forget(self, rows: int) -> None:
        """Let no more than so many rows count on."""
        self._tables *= np.minimum(1.0, rows / np.maximum(self._tables[0].sum(axis=1), 1.0))[:, None]

    def forget_attribute(self, attribute: int) -> None:
        """Forget what was counted by an attribute, and sample anew before the next judgement."""
        self._tables[:, attribute] = self._fresh[:, attribute] = 0.0
        self.sampled = 0

    def signs(self) -> Floats:
        """Standard deviations by which each attribute exceeds chance."""
        return signs(*self._tables[:2])

    def snapshot(self) -> tuple[list[float], Floats]:
        """Numbers, and the tables."""
        numbers = [self.attribute, self.gain, self.sampled, self.judged, self.fresh]
        return numbers, np.stack((self._tables, self._fresh))

    def restore(self, numbers: Sequence[float], tables: Floats) -> None:
        """Go on from a snapshot."""
        self._tables, self._fresh = tables.copy()
        attribute, self.gain, *counts = numbers
        self.attribute, self.sampled, self.judged, self.fresh = map(int, (attribute, *counts))


def _measure(tables: Floats, sure: float = SIGNIFICANT) -> Floats:
    """Measure the gain of each attribute, of a filter or of an operator that returns any number of tuples."""
    seen, out, squares = tables
    return gain_ratios(seen, out, sure) if (out == squares).all() else skews(seen, out, squares, sure)


def gain_ratios(seen: Floats, passed: Floats, sure: float = SIGNIFICANT) -> Floats:
    """Compute gain ratios, 0 where chance explains them.

    `seen` and `passed` have a row for each attribute and a column for each bucket: the tuples, and those of them that
    the operator let through (In and Out of the content-based routing paper, section 4.1; the ratio is its equations 2
    to 5). A sample of a few hundred tuples shows some gain for any attribute with many buckets: on average
    `(buckets - 1) / (2 n ln 2)` bits. That much is taken off, which the paper does not do, and what is left must be
    significant.
    """
    total = seen.sum(axis=1)
    share = _ratio(seen, total[:, None])
    gain = _entropy(_ratio(passed.sum(axis=1), total)) - (share * _entropy(_ratio(passed, seen))).sum(axis=1)
    split = -(share * np.log2(np.where(share > 0, share, 1.0))).sum(axis=1)
    freedom = np.maximum((seen > 0).sum(axis=1) - 1, 0)
    unit = 2 * np.maximum(total, 1) * np.log(2)
    least = (freedom + sure * np.sqrt(2 * freedom)) / unit
    return np.where((gain > least) & (split > 0), (gain - freedom / unit) / np.where(split > 0, split, 1.0), 0.0)


def skews(seen: Floats, out: Floats, squares: Floats, sure: float = SIGNIFICANT) -> Floats:
    """Measure gain where operators return any number of tuples.

    It is `gain_ratios` for section 4.5. `out` are the sums of the outcomes and `squares` those of their squares. The
    measure is the share of the outcomes' variance that the buckets explain, corrected for chance in the same way.
    """
    total = seen.sum(axis=1)
    spread = squares.sum(axis=1) - _ratio(out.sum(axis=1) ** 2, total)
    between = _ratio(out**2, seen).sum(axis=1) - _ratio(out.sum(axis=1) ** 2, total)
    freedom = np.maximum((seen > 0).sum(axis=1) - 1, 0)
    left = np.maximum(total - freedom - 1, 1)
    by_chance = freedom / np.maximum(total - 1, 1)
    least = by_chance + sure * np.sqrt(2 * freedom) / left
    explained = np.where(spread > 0, between / np.where(spread > 0, spread, 1.0), 0.0)
    return np.where((explained > least) & (freedom > 0), explained - by_chance, 0.0)


def signs(seen: Floats, out: Floats) -> Floats:
    """Standard deviations by which each attribute exceeds chance.

    They serve to choose attributes, and prove nothing.
    """
    total, sums = seen.sum(axis=1), out.sum(axis=1)
    mean = _ratio(sums, total)
    between = _ratio(out**2, seen).sum(axis=1) - mean * sums
    chance = np.where(mean < 1, mean * (1 - mean), mean)
    freedom = np.maximum((seen > 0).sum(axis=1) - 1, 0)
    return _ratio(_ratio(between, chance) - freedom, np.sqrt(2 * freedom))


def _powers(outcomes: Any) -> tuple[Floats, Floats, Floats]:
    """Outcomes to the powers of 0, 1 and 2; a filter's are 0 or 1."""
    out = outcomes.astype(np.float64)
    return np.ones(len(out)), out, out if outcomes.dtype == np.bool_ else out**2


def _entropy(share: Floats) -> Floats:
    other = 1 - share
    return -(share * np.log2(np.where(share > 0, share, 1.0)) + other * np.log2(np.where(other > 0, other, 1.0)))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """A share; 0 of nothing."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)
