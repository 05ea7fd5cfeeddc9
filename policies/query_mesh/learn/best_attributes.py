"""The attribute that tells most, alone or with another one.

The gain of a single attribute is what `content` goes by, and all that a greedy tree looks at. Where a class needs two
attributes at once, such as an exclusive or, neither has any gain alone, and both look like noise. So where no single
attribute tells anything, every two are looked at together: what their cells explain beyond what each explains alone.
All pairs are counted at once.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.query_mesh.learn.cut import BUCKETS
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.tuples.arrays import Floats, Integers

FALSE_ALARMS = 0.001
"""How often, of all looks for a division of rows that are alike, one may find something in all that is tried at once.
A mesh comes from a few dozen such looks, and most of what is found by chance does not pay and is pruned."""

EVENTS_TO_JUDGE = 10.0
"""Events that a look at outcomes needs, such as rows that pass where hardly any do: two of them may be in one small
bucket by chance, and no test that counts on averages is right about them."""

EVENTS = 0.25
"""Events for each degree of freedom, for the same reason: with fewer most groups would hold none."""

SPARE = 1.0
"""Rows beyond the number of groups, for each degree of freedom. Groups of one row leave nothing to compare."""


def limit(looks: int) -> float:
    """Compute the limit for the best of many looks.

    It is in standard deviations, which evidence must exceed. `gain` takes five of them, whatever the number of looks
    and of buckets. That is too few where hundreds of pairs of attributes are tried: with two buckets chance gets so far
    once in a few hundred looks.

    >>> round(limit(1), 2), round(limit(1000), 2)
    (3.09, 4.75)
    """
    return -NormalDist().inv_cdf(FALSE_ALARMS / max(looks, 1))


def count_events(targets: Floats) -> Floats:
    """Count the rows that make up what is to be explained.

    For each target it is the spread over the most extreme row.

    >>> count_events(np.array([[0.9], *[[-0.1]] * 9])).round(2).tolist()
    [1.11]
    """
    squares = targets**2
    most = squares.max(axis=0, initial=0.0)
    found: Floats = np.divide(squares.sum(axis=0), most, out=np.zeros(len(most)), where=most > 0)
    return found


def deviations(explained: Floats, left: Floats, freedom: Floats, rest: Floats, heard: Floats) -> Floats:
    """Hold a ratio of variances against what chance gives.

    The distance is in standard deviations. `explained` is the sum of squares between groups with `freedom` degrees of
    freedom, `left` that within them with `rest`. The ratio of the two follows the F distribution; its cube root is
    nearly normal (the approximation of Wilson and Hilferty, extended by Paulson), also with few rows in a group. Where
    there are too few rows or events, `heard`, to say anything, nothing is certain.
    """
    enough = (freedom > 0) & (rest >= SPARE * freedom) & (heard >= np.maximum(EVENTS * freedom, EVENTS_TO_JUDGE))
    known = enough & (left > 0)
    first, second = np.where(known, freedom, 1.0), np.where(known, rest, 1.0)
    ratio = np.cbrt(np.maximum(explained, 0) / first / np.where(known, left / second, 1.0))
    upper, lower = 2 / (9 * first), 2 / (9 * second)
    found = ((1 - lower) * ratio - (1 - upper)) / np.sqrt(upper + lower * ratio**2)
    # Groups that leave nothing unexplained are as certain as can be, if there is anything to be certain about.
    sure = enough & (left <= 0) & (explained > 0)
    return np.where(known, found, np.where(sure, np.inf, -np.inf))


def signals(outcomes: Floats, most: int) -> Floats:
    """Standardise what is to be explained.

    That is each operator's outcomes, and the products of every two. Two filters may each pass as many rows of one class
    as of another, and yet agree in one class and exclude each other in the other: only the product of both shows it.
    With more than `most` operators the products are left out. What too few rows tell apart is left out as well.
    """
    operators = outcomes.shape[1]
    first, second = np.triu_indices(operators, 1)
    both = outcomes[:, first] * outcomes[:, second] if operators <= most else outcomes[:, :0]
    wanted = np.column_stack((outcomes, both))
    wanted = wanted - wanted.mean(axis=0)
    wanted = wanted[:, count_events(wanted) >= EVENTS_TO_JUDGE]
    scaled: Floats = wanted / np.sqrt((wanted**2).mean(axis=0))
    return scaled


SMALLEST_BUCKET = 3
"""Buckets with fewer rows are counted as one: of two rows nobody can say what is usual."""

MOST_PAIRED = 20
"""Attributes whose pairs are looked at, the most telling first: 190 pairs."""

ROWS_PER_CELL = 8
"""Rows in a cell of a pair on average, when attributes are made coarser: what holds for neighbouring buckets is clearer
with more rows in each cell."""

MOST_BUCKETS = 32
"""Buckets of an attribute that are told apart in pairs, as they are: with more, no sample fills the cells."""


NUMBERS_AT_ONCE = 30_000
"""Numbers that are looked at in one step of a decision: a tenth of a millisecond."""


def count_at_once(numbers: int) -> int:
    """Count the targets that are looked at in one step, each of which takes a look at so many numbers."""
    return max(NUMBERS_AT_ONCE // max(numbers, 1), 1)


class AttributePair(NamedTuple):
    """Two attributes, each with the groups its buckets are put in."""

    one: int
    other: int
    groups: int


def weigh_attributes(buckets: Buckets, targets: Floats, work: Work) -> Steps[tuple[Floats, Floats]]:
    """How certainly, and how much, each attribute explains.

    Certainty is in standard deviations, of the target for which it is greatest; the second figure is the share of the
    outcomes' variance that it explains, with the part that chance explains taken off. `targets` are standardised.
    """
    certain, share = yield from weigh_each(buckets, targets, work)
    # An attribute that explains everything is infinitely certain.
    tells = (certain > -np.inf).any(axis=1)
    return certain.max(axis=1, initial=-np.inf), np.where(tells, share.sum(axis=1), 0.0)


def weigh_each(buckets: Buckets, targets: Floats, work: Work) -> Steps[tuple[Floats, Floats]]:
    """How certainly, and how much, each attribute explains of each target.

    Attributes have a row, targets a column.
    """
    attributes, wanted = buckets.shape[1], targets.shape[1]
    if not attributes or not wanted or not len(targets):
        return np.full((attributes, wanted), -np.inf), np.zeros((attributes, wanted))
    cells, owner = _number_cells(buckets)
    rows = np.bincount(cells, minlength=len(owner)).astype(np.float64)
    width = np.bincount(owner[rows > 0], minlength=attributes).astype(np.float64)
    explained = np.empty((attributes, wanted))
    for number, target in enumerate(targets.T):
        if number and number % count_at_once(len(cells)) == 0:
            yield work.step()
        sums = np.bincount(cells, np.tile(target, attributes), len(owner))
        explained[:, number] = np.bincount(owner, sums**2 / np.maximum(rows, 1.0), attributes)
    explained -= targets.sum(axis=0) ** 2 / len(targets)
    left = np.maximum((targets**2).sum(axis=0) - targets.sum(axis=0) ** 2 / len(targets) - explained, 0)
    freedom = np.broadcast_to((width - 1)[:, None], left.shape)
    rest = np.broadcast_to((len(targets) - width)[:, None], left.shape)
    certain = deviations(explained, left, freedom, rest, count_events(targets))
    share = explained - freedom * left / np.maximum(rest, 1.0)
    tells = (width > 1)[:, None]
    return np.where(tells, certain, -np.inf), np.where(tells, share, 0.0)


def best_single(buckets: Buckets, targets: Floats, work: Work) -> Steps[int | None]:
    """Find the attribute that explains most.

    None if chance explains it all.
    """
    certain, share = yield from weigh_attributes(buckets, targets, work)
    looks = buckets.shape[1] * targets.shape[1]
    share = np.where(certain > limit(looks), share, 0.0)
    return int(share.argmax()) if len(share) and share.max() > 0 else None


def best_pair(buckets: Buckets, targets: Floats, work: Work) -> Steps[AttributePair | None]:
    """The two attributes that explain most together, or None.

    Only that counts which neither explains alone, beyond chance. They are tried as they are, since single values may
    each mean something else, and coarser.
    """
    if buckets.shape[1] < 2 or not targets.shape[1]:
        return None
    chosen = np.arange(buckets.shape[1])
    if len(chosen) > MOST_PAIRED:
        certain, _ = yield from weigh_attributes(buckets, targets, work)
        chosen = np.sort(np.argsort(-certain, kind="stable")[:MOST_PAIRED])
    first, second = np.triu_indices(len(chosen), 1)
    grades = sorted({MOST_BUCKETS, min(int(np.sqrt(len(targets) / ROWS_PER_CELL)), MOST_BUCKETS)} - {0, 1})
    looks = len(grades) * len(first) * targets.shape[1]
    found = []
    for groups in grades:
        grouped = np.column_stack([coarsen(buckets[:, a], groups) for a in chosen])
        certain, share = yield from _weigh_pairs(grouped, targets, first, second, work)
        shares = np.where(certain > limit(looks), share, 0.0).sum(axis=1)
        best = int(shares.argmax())
        found.append((shares[best], AttributePair(int(chosen[first[best]]), int(chosen[second[best]]), groups)))
    share_found, pair = max(found)
    return pair if share_found > 0 else None


def coarsen(column: Buckets, groups: int) -> Integers:
    """Put buckets into a few groups of neighbours.

    Each group has as many of the rows as may be.

    >>> coarsen(np.array([0, 3, 3, 7, 8, 9], np.uint8), 3).tolist()
    [0, 1, 1, 1, 2, 2]
    """
    rows = np.bincount(column, minlength=BUCKETS)
    seen = np.flatnonzero(rows)
    group = np.zeros(BUCKETS, np.int64)
    if len(seen) <= groups:
        group[seen] = np.arange(len(seen))
    else:
        middle = np.cumsum(rows[seen]) - rows[seen] / 2
        group[seen] = (middle * groups / len(column)).astype(np.int64)
    return group[column]


def _number_cells(buckets: Buckets) -> tuple[Integers, Integers]:
    """Number the buckets of all attributes; those of an attribute that have few rows are one.

    Gives the cell of each row by the first attribute, then by the second, and so on; and the attribute of each cell.
    """
    attributes = buckets.shape[1]
    code = (buckets.T + np.arange(attributes)[:, None] * BUCKETS).ravel()
    rows = np.bincount(code, minlength=attributes * BUCKETS)
    large = np.flatnonzero(rows >= SMALLEST_BUCKET)
    number = len(large) + np.arange(attributes).repeat(BUCKETS)
    number[large] = np.arange(len(large))
    return number[code], np.concatenate((large // BUCKETS, np.arange(attributes)))


def _weigh_pairs(
    grouped: Integers, targets: Floats, first: Integers, second: Integers, work: Work
) -> Steps[tuple[Floats, Floats]]:
    """Weigh each pair for each target.

    Gives how certain it is, and how much it explains beyond chance.
    """
    rows, attributes = grouped.shape
    groups = int(grouped.max()) + 1
    singles = grouped + np.arange(attributes) * groups
    pairs = grouped[:, first] * groups + grouped[:, second] + np.arange(len(first)) * groups**2
    alone, width = yield from _sum_explained(singles, targets, attributes, groups, work)
    yield work.step()
    both, cells = yield from _sum_explained(pairs, targets, len(first), groups**2, work)
    yield work.step()
    mean = targets.sum(axis=0) ** 2 / rows
    beyond = both - alone[first] - alone[second] + mean
    left = np.maximum((targets**2).sum(axis=0) - both, 0)
    freedom = np.broadcast_to((cells - width[first] - width[second] + 1)[:, None], left.shape)
    rest = np.broadcast_to((rows - cells)[:, None], left.shape)
    share = np.maximum(beyond - freedom * left / np.maximum(rest, 1.0), 0)
    return deviations(beyond, left, freedom, rest, count_events(targets)), share


def _sum_explained(
    code: Integers, targets: Floats, tables: int, cells: int, work: Work
) -> Steps[tuple[Floats, Floats]]:
    """Sums of squares that tables explain, by target.

    Beside them stands the number of cells of each table that have rows. `code` has a column for each table: the cells
    of the rows, counted on from table to table.
    """
    flat = code.ravel()
    size = tables * cells
    rows = np.bincount(flat, minlength=size).reshape(tables, -1)
    found = np.empty((tables, targets.shape[1]))
    for number, target in enumerate(targets.T):
        if number and number % count_at_once(len(flat)) == 0:
            yield work.step()
        sums = np.bincount(flat, np.repeat(target, tables), size).reshape(tables, -1)
        found[:, number] = (sums**2 / np.maximum(rows, 1)).sum(axis=1)
    return found, (rows > 0).sum(axis=1).astype(np.float64)
