"""Evidence that buckets explain outcomes, beyond chance."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from eddy.tuples.arrays import Floats

FALSE_ALARMS = 0.001
"""The share of looks at rows that are alike in which one may find something, in all that is tried at once. A mesh comes
from a few dozen such looks, and most of what is found by chance does not pay and is pruned."""

EVENTS_TO_JUDGE = 10.0
"""Events that a look at outcomes needs, such as rows that pass where hardly any do: two of them may be in one small
bucket by chance, and no test that counts on averages is right about them."""

EVENTS_PER_FREEDOM = 0.25
"""Events for each degree of freedom, for the same reason: with fewer most groups would hold none."""

ROWS_PER_FREEDOM = 1.0
"""Rows beyond the number of groups, for each degree of freedom. Groups of one row leave nothing to compare."""


def limit(looks: int) -> float:
    """Standard deviations that evidence must exceed when it is the best of many looks.

    `gain` takes five of them, whatever the number of looks and of buckets. That is too few where hundreds of pairs of
    attributes are tried: with two buckets chance gets so far once in a few hundred looks.

    >>> round(limit(1), 2), round(limit(1000), 2)
    (3.09, 4.75)
    """
    return -NormalDist().inv_cdf(FALSE_ALARMS / max(looks, 1))


def count_events(targets: Floats) -> Floats:
    """Count the rows that make up what is to be explained.

    It is the spread of each target, divided by its most extreme row.

    >>> count_events(np.array([[0.9], *[[-0.1]] * 9])).round(2).tolist()
    [1.11]
    """
    squares = targets**2
    most = squares.max(axis=0, initial=0.0)
    found: Floats = np.divide(squares.sum(axis=0), most, out=np.zeros(len(most)), where=most > 0)
    return found


def deviations(explained: Floats, left: Floats, freedom: Floats, rest: Floats, heard: Floats) -> Floats:
    """Standard deviations of a ratio of variances from chance.

    `explained` is the sum of squares between groups with `freedom` degrees of freedom, `left` that within them with
    `rest`. The ratio of the two follows the F distribution; its cube root is nearly normal (the approximation of
    Wilson and Hilferty, extended by Paulson), also with few rows in a group. Where there are too few rows or events,
    `heard`, to say anything, nothing is certain.
    """
    enough = (
        (freedom > 0)
        & (rest >= ROWS_PER_FREEDOM * freedom)
        & (heard >= np.maximum(EVENTS_PER_FREEDOM * freedom, EVENTS_TO_JUDGE))
    )
    known = enough & (left > 0)
    first, second = np.where(known, freedom, 1.0), np.where(known, rest, 1.0)
    ratio = np.cbrt(np.maximum(explained, 0) / first / np.where(known, left / second, 1.0))
    upper, lower = 2 / (9 * first), 2 / (9 * second)
    found = ((1 - lower) * ratio - (1 - upper)) / np.sqrt(upper + lower * ratio**2)
    # Groups that leave nothing unexplained are as certain as can be, if there is anything to be certain about.
    sure = enough & (left <= 0) & (explained > 0)
    return np.where(known, found, np.where(sure, np.inf, -np.inf))


def signals(outcomes: Floats, most: int) -> Floats:
    """The targets to explain: outcomes alone and every two together.

    They are standardised. Two filters may each pass as many rows of one class as of another, and yet agree in one class
    and exclude each other in the other: only the product of both shows it. With more than `most` operators the products
    are left out. So are targets of which there are too few rows to tell anything.
    """
    operators = outcomes.shape[1]
    first, second = np.triu_indices(operators, 1)
    both = outcomes[:, first] * outcomes[:, second] if operators <= most else outcomes[:, :0]
    wanted = np.column_stack((outcomes, both))
    wanted = wanted - wanted.mean(axis=0)
    wanted = wanted[:, count_events(wanted) >= EVENTS_TO_JUDGE]
    scaled: Floats = wanted / np.sqrt((wanted**2).mean(axis=0))
    return scaled
