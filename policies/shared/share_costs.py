"""What rows of each bucket take, from steps of mixed rows that were timed as a whole.

The seconds of a part's step are regressed on its composition, the shares of an attribute's buckets. An attribute counts
as far as it foretells the times of parts that it was not fitted to, each part by all others: so dozens of parts say
which of ten attributes it is, and what a row of each of fifty values takes.
"""

from __future__ import annotations

import numpy as np

from eddy.classes.divider import Buckets
from eddy.tuples.arrays import Floats, Integers

STIFFNESS = 0.02
"""The weight of the belief that all buckets cost the same, in squared shares of a part."""

FORETOLD = 2.5
"""The share of the spread that an attribute must foretell, times the square root of the parts: what many parts have
in common is not chance."""

MOST_FORETOLD = 0.5
"""The share that is enough however few the parts are."""


MOST_ABOVE = 10.0
"""A part counts as at most so many times the median."""

PAUSE, TIMES_LONGER = 1e-3, 3.0
"""Seconds that a thread waits at least when others take its turn, and times that a part must be longer than usual to
have waited. A few rows take less: where usual parts do not, a long one may as well be of dear rows."""

MOST_PAUSED = 0.15
"""The share of the parts that may have waited: where more are long, it is because of their rows."""


def need_foretold(parts: int) -> float:
    """Say which share of the spread must be foretold by so many parts.

    >>> need_foretold(16), need_foretold(100)
    (0.5, 0.25)
    """
    return min(FORETOLD / float(np.sqrt(parts)), MOST_FORETOLD)


def leave_out_pauses(seconds: Floats, rows: Floats) -> Floats:
    """Take the mean of the others for parts in which the machine was busy elsewhere.

    `seconds` are those of a row, and may have a column for each operator. One such part among twenty hides all that the
    others say, even as ten times the median.

    >>> waited = leave_out_pauses(np.array([9e-4, 1e-5, *[2e-5] * 7, 3e-5]), np.full(10, 5.0))
    >>> round(float(waited[0]), 9), float(waited[1])
    (2e-05, 1e-05)
    """
    taken = seconds * rows.reshape(-1, *[1] * (seconds.ndim - 1))
    usual = np.median(taken, axis=0)
    paused = (taken > PAUSE) & (taken > TIMES_LONGER * usual) & (usual < PAUSE)
    paused &= paused.mean(axis=0) <= MOST_PAUSED
    mean = np.where(paused, 0.0, seconds).sum(axis=0) / np.maximum((~paused).sum(axis=0), 1)
    left: Floats = np.where(paused, mean, np.minimum(seconds, MOST_ABOVE * np.median(seconds, axis=0)))
    return left


def count_shares(part: Integers, buckets: Buckets, cells: int = 0) -> Floats:
    """Count the shares of an attribute's buckets in each part; `part` says of which part each row is.

    There are as many `cells`, or as many as the rows are in.

    >>> count_shares(np.array([0, 0, 1]), np.array([0, 2, 2], np.uint8)).tolist()
    [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
    """
    parts, cells = int(part.max()) + 1, max(cells, int(buckets.max()) + 1)
    counts = np.bincount(part * cells + buckets, minlength=parts * cells).reshape(parts, cells)
    shares: Floats = counts / np.bincount(part)[:, None]
    return shares


def fit_seconds(shares: Floats, seconds: Floats, rows: Floats | None = None) -> Floats:
    """Fit seconds to shares by least squares, each bucket drawn to the mean; gives those of a row of each bucket.

    `seconds` may have a column for each operator. Parts of more `rows` weigh more: what a machine does besides adds
    about as much to each part, so its share of a row is less.
    """
    weight = _weigh(rows, len(shares))
    apart, middle = _centre(shares, weight)
    off, mean = _centre(seconds, weight)
    weights = _solve(apart) @ off
    fitted: Floats = mean - middle @ weights + weights
    return fitted


def measure_skill(shares: Floats, seconds: Floats, rows: Floats | None = None) -> Floats:
    """Measure the share of the spread that is foretold, of each part by all others.

    `seconds` may have a column for each operator; parts weigh as in `fit_seconds`.
    """
    shares = shares[:, shares.any(axis=0)]
    if shares.shape[1] < 2:
        return np.zeros(seconds.shape[1:])
    weight = _weigh(rows, len(shares))
    apart, _ = _centre(shares, weight)
    off, _ = _centre(seconds, weight)
    # What a part would be foretold if it had not been fitted follows from what it is, and from its own weight in that.
    mean = np.outer(weight, weight) / (weight**2).sum()
    hat = apart @ _solve(apart) + mean
    shape = (-1, *[1] * (off.ndim - 1))
    missed = ((off - hat @ off) / (1 - hat.diagonal().reshape(shape))) ** 2
    spread = ((off / (1 - mean.diagonal().reshape(shape))) ** 2).sum(axis=0)
    skill: Floats = np.where(spread > 0, 1 - missed.sum(axis=0) / np.where(spread > 0, spread, 1.0), 0.0)
    return skill


def _weigh(rows: Floats | None, parts: int) -> Floats:
    return np.ones(parts) if rows is None else rows / np.sqrt((rows**2).mean())


def _centre(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Take the mean off, and weigh what is left; gives the mean too."""
    mean = (weight**2) @ values / (weight**2).sum()
    return (values - mean) * weight.reshape(-1, *[1] * (values.ndim - 1)), mean


def _solve(apart: Floats) -> Floats:
    """What each bucket's weight is for the seconds of each part."""
    parts, buckets = apart.shape
    # The smaller of the two systems of equations is solved.
    solved: Floats
    if parts < buckets:
        solved = apart.T @ np.linalg.inv(apart @ apart.T + STIFFNESS * np.eye(parts))
    else:
        solved = np.linalg.inv(apart.T @ apart + STIFFNESS * np.eye(buckets)) @ apart.T
    return solved
