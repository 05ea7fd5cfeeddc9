"""A sample condensed to a few weighted training tuples.

Follows section 4.2 and 4.3 of the Query Mesh paper: a sample S of some 1,000 rows is condensed to a training set T of
10 to 100 tuples that carry their densities, of the kind that is made and not picked. Which algorithm, it leaves open.

Where it does better: a training tuple is a region of buckets whose rows operators treat alike, found by dividing the
sample again and again by the attribute that tells most about the outcomes, and only as long as chance does not explain
the difference. So T is as large as the data has different regions: one tuple for uniform data, however many attributes
there are. Attributes that tell nothing drop out. Rows are never put together by their own outcomes: that would promise
a gain that no classifier can find again. A division that needs two attributes at once is found by looking at pairs.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.query_mesh.learn.best_attributes import best_pair, best_single, coarsen, signals
from eddy.policies.query_mesh.learn.cut import Bools, Cut, best_cut, profile, squares
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.shared.best_route import MOST_EXACT_OPERATORS
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers

SMALLEST_TUPLE = 15
"""Rows of a training tuple at least: with fewer its best route would be a guess."""

CONDENSING_SHARE = 0.5
"""The share of a decision's steps that condensing may take: a coarser training set is worth more than no search."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """The training set T.

    `cell` says for each row of the sample which training tuple stands for it, `density` how many rows each stands for,
    `buckets` what its rows look like: the middle bucket of each attribute. `informative` are the attributes that tell
    training tuples apart.
    """

    cell: Integers
    density: Floats
    buckets: Buckets
    informative: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.density)


def condense(sample: Sample, most: int, work: Work) -> Steps[Training]:
    """Divide a sample into at most so many training tuples.

    The greatest differences divide it first, as long as the work may go on.

    >>> from eddy.policies.query_mesh.learn.steps import finish
    >>> kind = np.arange(400, dtype=np.uint8)[:, None] % 2
    >>> sample = Sample(buckets=kind, outcomes=np.hstack((kind, 1 - kind)).astype(float))
    >>> finish(condense(sample, 10, Work())).density
    array([200., 200.])
    """
    # Attributes that are the same in all rows tell nothing, and every look at them costs as much as at others.
    varied = np.flatnonzero((sample.buckets != sample.buckets[:1]).any(axis=0))
    whole, sample = sample, Sample(buckets=sample.buckets[:, varied], outcomes=sample.outcomes, prices=sample.prices)
    regions: list[Integers] = []
    used: set[int] = set()
    waiting: list[tuple[float, int, Integers, int, Bools]] = []
    fresh = [np.arange(len(sample))]
    while True:
        for rows in fresh:
            found = (yield from _divide(sample, rows, work)) if work.has_left(CONDENSING_SHARE) else None
            if found is None:
                regions.append(rows)
            else:
                attribute, cut = found
                right = cut.right[sample.buckets[rows, attribute]]
                heapq.heappush(waiting, (-cut.gain, int(rows[0]), rows, attribute, right))
        if not waiting or len(regions) + len(waiting) >= most:
            break
        _, _, rows, attribute, right = heapq.heappop(waiting)
        used.add(int(varied[attribute]))
        fresh = [rows[~right], rows[right]]
    regions += [rows for _, _, rows, _, _ in waiting]
    return _training(whole, regions, used)


def _training(sample: Sample, regions: list[Integers], used: set[int]) -> Training:
    cell = np.zeros(len(sample), np.int64)
    for number, rows in enumerate(regions):
        cell[rows] = number
    middles = [np.sort(sample.buckets[rows], axis=0)[len(rows) // 2] for rows in regions]
    return Training(
        cell=cell,
        density=np.bincount(cell, minlength=len(regions)).astype(np.float64),
        buckets=np.array(middles, np.uint8),
        informative=tuple(sorted(used)),
    )


def _divide(sample: Sample, rows: Integers, work: Work) -> Steps[tuple[int, Cut] | None]:
    """Find the attribute and cut that tell most about rows, or None.

    None is for rows that are alike, or too few.
    """
    if len(rows) < 2 * SMALLEST_TUPLE:
        return None
    buckets, outcomes = sample.buckets[rows], sample.outcomes[rows]
    targets = signals(outcomes, MOST_EXACT_OPERATORS)
    if sample.prices is not None:
        targets = np.hstack((targets, signals(np.log(sample.prices[rows]), 0)))
    nothing = np.zeros(len(rows), np.int64)
    yield work.step()
    single = yield from best_single(buckets, targets, work)
    yield work.step()
    if single is not None:
        cut = best_cut(profile(buckets[:, single], nothing, 1, targets), squares, SMALLEST_TUPLE)
        return None if cut is None else (single, cut)
    targets = signals(outcomes, 0)
    pair = yield from best_pair(buckets, targets, work)
    if pair is None:
        return None
    cuts = []
    for one, other in ((pair.one, pair.other), (pair.other, pair.one)):
        group = coarsen(buckets[:, other], pair.groups)
        cut = best_cut(profile(buckets[:, one], group, pair.groups, targets), squares, SMALLEST_TUPLE)
        cuts += [(one, cut)] if cut is not None else []
        yield work.step()
    return max(cuts, key=lambda found: found[1].gain, default=None)
