"""Filters in groups that agree: the correlation of Babu's thesis (section 4.7.2).

Filters of one group give the same result on a share of the tuples, those of different groups are independent, and each
passes the share of the tuples that it is asked to.
"""

from __future__ import annotations

import numpy as np

from eddy.errors import QueryError, check_whole
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Mask

SAME = 0.8
"""The share of the tuples on which filters of a group agree, as in the thesis."""


def check_groups(operators: int, groups: object, same: object, correlation: float, where: str) -> None:
    """Check what a user may say about groups."""
    if check_whole(groups, "groups", where=where) > operators:
        raise QueryError(f"{where}: expected groups of at most {operators} operators, got {groups}")
    check_number(same, "same", where=where, most=1)
    if correlation and groups != 1:
        raise QueryError(f"{where}: expected correlation or groups, got both")


def draw_groups(rng: np.random.Generator, shares: Floats, size: int, same: float) -> Mask:
    """Draw what passes, with so many filters in a group.

    `shares` is the share that passes, for each tuple and filter. Of the tuples some take one draw for all filters of a
    group, as many as make its pairs agree as often as asked, and the others draw for each filter. Filters that agree
    more often than asked by themselves, since nearly nothing passes them or nearly everything, keep apart on some
    tuples. Where selectivities are so unlike that nothing makes them agree as often, they agree as often as they can.

    >>> passed = draw_groups(np.random.default_rng(0), np.full((10_000, 2), 0.5), 2, 0.8)
    >>> round(float((passed[:, 0] == passed[:, 1]).mean()), 2)
    0.8
    """
    rows, filters = shares.shape
    numbers = rng.random((rows, filters))
    for first in range(0, filters, size):
        own = slice(first, first + size)
        if shares[:, own].shape[1] > 1:
            numbers[:, own] = _bind(rng, numbers[:, own], shares[:, own], same)
    passed: Mask = numbers < shares
    return passed


def _bind(rng: np.random.Generator, numbers: Floats, shares: Floats, same: float) -> Floats:
    """Make the draws of a group agree.

    A pair agrees on 1 - p - q + 2 b of the tuples, where p and q pass and b is the share that passes both: so b, on
    average over the pairs, says how often they agree. It is highest with one draw for all, and lowest where as few
    filters as possible pass the same tuple.
    """
    wanted = (same - 1) / 2 + shares.mean(axis=1)
    apart, alone, together = _least_both(shares), _independent_both(shares), _most_both(shares)
    chance = rng.random(len(shares))
    joined = chance * (together - alone) < wanted - alone
    split = chance * (alone - apart) < alone - wanted
    numbers = np.where(joined[:, None], numbers[:, :1], numbers)
    return np.where(split[:, None], _keep_apart(rng, shares), numbers) if split.any() else numbers


def _most_both(shares: Floats) -> Floats:
    """What passes both of a pair with one draw: the smaller share."""
    size = shares.shape[1]
    smaller = np.sort(shares, axis=1) @ np.arange(size - 1, -1, -1)
    mean: Floats = smaller / (size * (size - 1) / 2)
    return mean


def _independent_both(shares: Floats) -> Floats:
    """What passes both of a pair with draws of their own."""
    size = shares.shape[1]
    mean: Floats = (shares.sum(axis=1) ** 2 - (shares**2).sum(axis=1)) / (size * (size - 1))
    return mean


def _least_both(shares: Floats) -> Floats:
    """What passes both where a tuple passes the sum of the shares, rounded up or down."""
    size = shares.shape[1]
    whole, rest = np.divmod(shares.sum(axis=1), 1)
    mean: Floats = whole * (whole - 1 + 2 * rest) / (size * (size - 1))
    return mean


def _keep_apart(rng: np.random.Generator, shares: Floats) -> Floats:
    """Draw so that as few filters as possible pass the same tuple.

    The shares lie end to end on a circle in a random order, and one draw says where it is cut.
    """
    order = rng.permuted(np.tile(np.arange(shares.shape[1]), (len(shares), 1)), axis=1)
    ends = np.take_along_axis(shares, order, axis=1).cumsum(axis=1)
    starts = np.empty_like(shares)
    np.put_along_axis(starts, order, ends - np.take_along_axis(shares, order, axis=1), axis=1)
    turned: Floats = (rng.random((len(shares), 1)) - starts) % 1
    return turned
