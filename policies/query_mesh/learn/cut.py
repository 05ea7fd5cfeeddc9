"""The best division of an attribute's buckets into two sides.

Two sides and not one for each bucket: a split into 25 leaves too few rows in each to go on. A range is cut in one
place; of single values any set may be a side. Which sets are tried is decided by the first principal component of what
the buckets have to say, along which they are put in order; for two routes the best set is among those, and for more it
nearly always is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.tuples.arrays import Floats, Integers

Bools = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Worth = Callable[[Floats, Floats], Floats]
"""From rows `[..., groups]` and sums `[..., groups, targets]` to what is known once rows are told apart so."""

BUCKETS = 256
"""A bucket is a byte."""

ROWS_OF_DOUBT = 5.0
"""A bucket with few rows is put in order as if it had so many ordinary ones besides."""

NEIGHBOURS_SUFFICE = 0.95
"""A cut between two neighbours is taken where it has so much of the worth of the best set: it says something about
buckets between them that have not been seen yet, and it can be read."""


class Cut(NamedTuple):
    """A cut of buckets into left and right, and its gain.

    It says of each bucket whether it is on the right.
    """

    right: Bools
    gain: float


class BucketSums(NamedTuple):
    """Counts and sums of the targets, by bucket and group of rows."""

    rows: Floats
    sums: Floats


def profile(column: Buckets, group: Integers, groups: int, targets: Floats) -> BucketSums:
    """Count some rows by bucket and group."""
    buckets = int(column.max(initial=0)) + 1
    code = column.astype(np.int64) * groups + group
    shape = (buckets, groups)
    rows = np.bincount(code, minlength=buckets * groups).astype(np.float64).reshape(shape)
    sums = [np.bincount(code, target, buckets * groups).reshape(shape) for target in targets.T]
    return BucketSums(rows, np.stack(sums, axis=-1) if sums else np.zeros((*shape, 0)))


def squares(rows: Floats, sums: Floats) -> Floats:
    """The sum of squares between groups."""
    found: Floats = (sums**2 / np.maximum(rows, 1.0)[..., None]).sum(axis=(-2, -1))
    return found


def bits_known(rows: Floats, sums: Floats) -> Floats:
    """The bits that are known of routes, times rows.

    It is minus the entropy that is left; `sums` count rows by route.
    """
    share = sums / np.maximum(rows, 1.0)[..., None]
    found: Floats = (sums * np.log2(np.where(share > 0, share, 1.0))).sum(axis=(-2, -1))
    return found


def best_cut(told: BucketSums, worth: Worth, least: int) -> Cut | None:
    """The division that explains most, or None.

    At least `least` rows are on each side.
    """
    seen = np.flatnonzero(told.rows.sum(axis=1))
    plain = _along(told, seen, worth, least)
    order = seen[np.argsort(_principal(told, seen), kind="stable")]
    free = _along(told, order, worth, least)
    if plain is None or free is None:
        return None
    (place, gain), (other, more) = plain, free
    right = np.zeros(BUCKETS, bool)
    if gain >= NEIGHBOURS_SUFFICE * more:
        right[seen[place] + 1 :] = True
        return Cut(right, gain)
    weight = told.rows.sum(axis=1)
    # Of buckets that nobody has seen the heavier side is the better guess.
    right[:] = weight[order[other + 1 :]].sum() > weight[order[: other + 1]].sum()
    right[order[: other + 1]], right[order[other + 1 :]] = False, True
    return Cut(right, more)


def _along(told: BucketSums, order: Integers, worth: Worth, least: int) -> tuple[int, float] | None:
    """Find the best cut of buckets in order, and its gain."""
    rows, sums = np.cumsum(told.rows[order], axis=0), np.cumsum(told.sums[order], axis=0)
    whole = rows[-1].sum()
    left = rows[:-1].sum(axis=1)
    allowed = (left >= least) & (whole - left >= least)
    if not allowed.any():
        return None
    known = worth(rows[:-1], sums[:-1]) + worth(rows[-1] - rows[:-1], sums[-1] - sums[:-1])
    gains = np.where(allowed, known - worth(rows[-1], sums[-1]), -np.inf)
    place = int(gains.argmax())
    return place, float(gains[place])


def _principal(told: BucketSums, seen: Integers) -> Floats:
    """Each bucket's place along the direction of most difference."""
    rows, sums = told.rows[seen], told.sums[seen]
    usual = sums.sum(axis=0) / np.maximum(rows.sum(axis=0), 1.0)[:, None]
    apart = (sums - rows[..., None] * usual) / (rows + ROWS_OF_DOUBT)[..., None]
    weighted = (apart * np.sqrt(rows)[..., None]).reshape(len(seen), -1)
    # Few buckets, and many groups by targets: the products of buckets with each other are the small matrix.
    first = np.linalg.eigh(weighted @ weighted.T)[1][:, -1]
    scores: Floats = apart.reshape(len(seen), -1) @ (first @ weighted)
    # Which end is first is the library's choice; the smaller bucket comes first, so that trees are the same everywhere.
    return scores if scores[0] <= scores[-1] else -scores
