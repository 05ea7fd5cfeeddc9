"""How much an attribute tells about an operator's outcomes."""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

SIGNIFICANT = 5.0
"""Standard deviations by which the evidence must exceed what chance gives. With 150 rows in 24 buckets chance alone
gets so far once in 1,500 times (four would be once in 200): with tens of attributes, tried again and again, that is
rare enough."""


def gain_ratios(seen: Floats, passed: Floats) -> Floats:
    """The gain ratio of each attribute, 0 where chance explains it.

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
    least = (freedom + SIGNIFICANT * np.sqrt(2 * freedom)) / unit
    return np.where((gain > least) & (split > 0), (gain - freedom / unit) / np.where(split > 0, split, 1.0), 0.0)


def skews(seen: Floats, out: Floats, squares: Floats) -> Floats:
    """The same measure for operators that may return any number of tuples (section 4.5).

    `out` are the sums of the outcomes and `squares` those of their squares. The measure is the share of the outcomes'
    variance that the buckets explain, corrected for chance in the same way.
    """
    total = seen.sum(axis=1)
    spread = squares.sum(axis=1) - _ratio(out.sum(axis=1) ** 2, total)
    between = _ratio(out**2, seen).sum(axis=1) - _ratio(out.sum(axis=1) ** 2, total)
    freedom = np.maximum((seen > 0).sum(axis=1) - 1, 0)
    left = np.maximum(total - freedom - 1, 1)
    by_chance = freedom / np.maximum(total - 1, 1)
    least = by_chance + SIGNIFICANT * np.sqrt(2 * freedom) / left
    explained = np.where(spread > 0, between / np.where(spread > 0, spread, 1.0), 0.0)
    return np.where((explained > least) & (freedom > 0), explained - by_chance, 0.0)


def signs(seen: Floats, out: Floats) -> Floats:
    """By how many standard deviations each attribute explains more than chance gives; for choice, not for proof."""
    total, sums = seen.sum(axis=1), out.sum(axis=1)
    mean = _ratio(sums, total)
    between = _ratio(out**2, seen).sum(axis=1) - mean * sums
    chance = np.where(mean < 1, mean * (1 - mean), mean)
    freedom = np.maximum((seen > 0).sum(axis=1) - 1, 0)
    return _ratio(_ratio(between, chance) - freedom, np.sqrt(2 * freedom))


def _entropy(share: Floats) -> Floats:
    other = 1 - share
    return -(share * np.log2(np.where(share > 0, share, 1.0)) + other * np.log2(np.where(other > 0, other, 1.0)))


def _ratio(part: Floats, whole: Floats) -> Floats:
    """A share; 0 of nothing."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole > 0)
