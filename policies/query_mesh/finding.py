"""Finds the mesh of a decision: one that was searched for, a grid, or the best single route.

A mesh that was searched for promises too much for the rows it was fitted to, so some rows of the sample test it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.policies.query_mesh.first_hops import compare, count_rows
from eddy.policies.query_mesh.grid_mesh import Priced, make_grid
from eddy.policies.query_mesh.learn.class_rates import ClassRates
from eddy.policies.query_mesh.learn.steps import Steps, Work
from eddy.policies.query_mesh.mesh import Mesh
from eddy.policies.query_mesh.optimizer import find_single, optimize, refine_routes
from eddy.policies.query_mesh.search.cost import Overheads
from eddy.policies.query_mesh.tails import share_tails
from eddy.policies.shared.legality import Legality
from eddy.policies.shared.sample import Sample
from eddy.tuples.arrays import Floats, Integers

TEST_SHARE = 0.25
"""The share of the sample that tests whether a mesh pays, and does not help to find it: a mesh promises too much for
the rows it was fitted to."""

ROWS_UNSPARED = 50
"""Rows of which none can be spared."""

SURE_OF_SAVING = 0.5
"""Standard errors by which the saving must exceed the overhead, on rows that the mesh was not made for."""

SURE_OF_OTHER_ROWS = 3.0
"""Standard errors beyond which older rows of the sample are of another stream than the newer ones."""


class Found(NamedTuple):
    """A mesh, and what it saves of a row beside the best single route, on rows that it was not made for."""

    mesh: Mesh
    gain: float


@dataclass(frozen=True, kw_only=True)
class Finder:
    """What is the same throughout a decision."""

    training: int
    overheads: Overheads
    prices: Floats
    legality: Legality
    chance: np.random.Generator
    work: Work
    by_bucket: ClassRates
    priced: Priced
    is_independent: bool

    def find(self, sample: Sample) -> Steps[Found]:
        """Find a mesh."""
        mesh, gain = yield from self._search(sample)
        yield self.work.step()
        mesh = yield from self._share_tails(mesh, sample)
        return Found(mesh, gain)

    def _share_tails(self, mesh: Mesh, sample: Sample) -> Steps[Mesh]:
        overheads, is_independent = self.overheads, self.is_independent
        return share_tails(
            mesh, sample, self.prices, self.legality, overheads, self.work, is_independent=is_independent
        )

    def _search(self, sample: Sample) -> Steps[Found]:
        """Search on most of the sample, and test on the rest.

        Where the mesh does not save enough there, the best single route takes its place.
        """
        held = self.chance.random(len(sample)) < TEST_SHARE
        if len(sample) < ROWS_UNSPARED or held.all() or not held.any():
            mesh, _ = yield from self._optimize(sample)
            return Found(mesh, mesh.single_cost - mesh.cost)
        test = sample.part(held)
        yield self.work.step()
        if self.is_independent and (
            yield from self.by_bucket.tells_all(sample, self.work, is_priced=bool(self.priced))
        ):
            single = yield from find_single(sample, self.prices, self.legality, self.work)
            quick = yield from self._try_grid(single, sample, test)
            if quick is not None and quick.gain > 0:
                return quick
        mesh, single = yield from self._optimize(sample.part(~held))
        yield self.work.step()
        found = self._test(mesh, single, test)
        grid = yield from self._try_grid(single, sample, test)
        if grid is not None and grid.gain > found.gain:
            return grid
        if found.gain <= 0:
            mesh = single
        refined = yield from refine_routes(mesh, sample, self.prices, self.legality, self.work)
        return Found(refined, found.gain)

    def _test(self, mesh: Mesh, single: Mesh, test: Sample) -> Found:
        """Find what a mesh saves on rows that it was not made for; nothing, where that is not sure."""
        if len(mesh.routes) == 1:
            return Found(mesh, 0.0)
        saved = single.price_rows(test, self.prices) - mesh.price_rows(test, self.prices)
        overhead = self.overheads.estimate(len(mesh.routes))
        is_sure = saved.mean() > overhead + SURE_OF_SAVING * float(saved.std()) / np.sqrt(len(saved))
        return Found(mesh, float(saved.mean()) if is_sure else 0.0)

    def _try_grid(self, single: Mesh, sample: Sample, test: Sample) -> Steps[Found | None]:
        """Find what a grid saves that does not know the rows that test it."""
        if not self.priced and not self.by_bucket.is_fine(len(sample)):
            return None
        others = self.by_bucket.without(test.told, test.outcomes)
        tried = yield from self._make_grid(sample, others)
        if tried is None:
            return None
        # The rows that test it hardly change which orders are worth a route, but which buckets take them.
        mesh = yield from self._make_grid(sample, self.by_bucket, np.array(tried.routes, np.int64))
        if mesh is None:
            return None
        yield self.work.step()
        return Found(mesh, self._test(tried, single, test).gain)

    def _make_grid(self, sample: Sample, rates: ClassRates, orders: Integers | None = None) -> Steps[Mesh | None]:
        return make_grid(sample, rates, self.prices, self.legality, self.overheads, self.priced, self.work, orders)

    def recount(self, sample: Sample, present: Mesh) -> Steps[Found]:
        """Make the grid anew, by what has been counted since."""
        mesh = yield from self._make_grid(sample, self.by_bucket)
        if mesh is None:
            return Found(present, 0.0)
        shared = yield from self._share_tails(mesh, sample)
        return Found(shared, max(mesh.single_cost - mesh.cost, 0.0))

    def _optimize(self, sample: Sample) -> Steps[tuple[Mesh, Mesh]]:
        return optimize(sample, self.prices, self.legality, self.training, self.overheads, self.work)


def agree(older: tuple[Buckets, Floats], newer: tuple[Buckets, Floats], cells: int, work: Work) -> Steps[bool]:
    """Tell whether rows of a sample may be of one stream: all operators together, by each attribute.

    >>> from eddy.policies.query_mesh.learn.steps import finish
    >>> one = np.zeros((200, 1), np.uint8), np.arange(200)[:, None] % 2.0
    >>> finish(agree(one, one, 2, Work())), finish(agree(one, (one[0], one[1] * 0), 2, Work()))
    (True, False)
    """
    (old_buckets, old), (new_buckets, new) = older, newer
    known = ~(np.isnan(old).any(axis=0) | np.isnan(new).any(axis=0))
    if not len(old) or not len(new) or not known.any():
        return False
    # A column of zeros: by it totals are compared, also where there is no attribute.
    nothing = [np.zeros((len(buckets), 1), np.uint8) for buckets in (old_buckets, new_buckets)]
    old_buckets, new_buckets = np.hstack((old_buckets, nothing[0])), np.hstack((new_buckets, nothing[1]))
    pairs = []
    for number in np.flatnonzero(known).tolist():
        before, since = old[:, number], new[:, number]
        pairs.append((count_rows(old_buckets, before, cells), count_rows(new_buckets, since, cells)))
        yield work.step()
    return float(compare(pairs, totals=True).max()) < SURE_OF_OTHER_ROWS
