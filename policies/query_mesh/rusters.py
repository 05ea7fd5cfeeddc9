"""Rows that set out together, the samples among them, and what is counted of their steps.

A ruster is a routable cluster of section 5 of the Query Mesh paper: rows of one route.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.classifier import Look
from eddy.classes.divider import Buckets, ValueNumbers
from eddy.classes.nature import spread_evenly
from eddy.contracts import Hop, Leg, Observation, Statistic
from eddy.policies.query_mesh.mesh import Generation
from eddy.tuples.arrays import Floats, Integers


class Ruster(NamedTuple):
    """Rows that set out together.

    It has their number, the way of the generation that they are on, and how many of them are looked at by all
    attributes once they have taken their first hop.
    """

    rows: int
    generation: Generation
    way: int
    looks: int


class Sampled(NamedTuple):
    """The buckets of rows that go to all operators, and the numbers of their values where these are told apart."""

    buckets: Buckets
    numbers: ValueNumbers | None

    def take(self, rows: Integers) -> Sampled:
        """Some of the rows."""
        return Sampled(self.buckets[rows], None if self.numbers is None else self.numbers[rows])


class FirstHop(NamedTuple):
    """Some rows that have taken the first hop of their way, and what it made of them."""

    origin: str
    ruster: Ruster
    operator: str
    look: Look
    outcomes: Floats

    @staticmethod
    def of(step: Observation) -> Iterator[FirstHop]:
        """Choose from a step the rows that are to be looked at."""
        begun, hop = 0, step.hops[0]
        for leg, rows in zip(step.legs, step.rows, strict=True):
            ruster = leg.tag
            if isinstance(ruster, Ruster) and ruster.looks and rows and leg.route[0] == hop:
                places = begun + spread_evenly(rows, ruster.looks)
                outcomes = step.outcomes[0][places].astype(np.float64)
                yield FirstHop(step.origin, ruster, hop.operator, step.buckets.take(places), outcomes)
            begun += rows


class Handed(NamedTuple):
    """A sample that somebody else has taken.

    It has for each row its buckets, and a column for each hop's outcomes.
    """

    hops: Sequence[Hop]
    statistics: Sequence[Statistic]
    buckets: Buckets
    outcomes: Integers
    editions: Sequence[int]

    @staticmethod
    def of(sample: Observation) -> Handed:
        """Look at the rows now: later they are gone."""
        outcomes = np.stack([np.asarray(counts, np.int64) for counts in sample.outcomes], axis=1)
        return Handed(sample.hops, sample.statistics, sample.buckets(), outcomes, sample.buckets.editions())

    def plain(self) -> list[Any]:
        """The hops and their statistics."""
        rows = [[s.rows_in, s.evaluated, s.rows_out, s.seconds] for s in self.statistics]
        return [[list(hop) for hop in self.hops], rows, list(self.editions)]

    def arrays(self) -> dict[str, Any]:
        """The rows."""
        return {"buckets": np.ascontiguousarray(self.buckets), "outcomes": self.outcomes}

    @staticmethod
    def restore(plain: Sequence[Any], buckets: Buckets, outcomes: Integers) -> Handed:
        """From a snapshot."""
        hops, rows, editions = plain
        return Handed([Hop(*hop) for hop in hops], [Statistic(*row) for row in rows], buckets, outcomes, editions)


@dataclass(frozen=True)
class Count:
    """Rows that set out on each way of a generation in a round, and what they cost."""

    generation: Generation
    rows: Floats
    cost: Floats

    @staticmethod
    def of(generation: Generation) -> Count:
        """Nothing yet."""
        ways = len(generation.mesh.routes)
        return Count(generation, np.zeros(ways), np.zeros(ways))


class Done(NamedTuple):
    """A step without its tuples, to be counted later.

    Where a key is hot, its tuples are many more than the rows of a round.
    """

    origin: str
    legs: Sequence[Leg]
    rows: Sequence[int]
    hops: Sequence[Hop]
    statistics: Sequence[Statistic]
    left: Sequence[float]

    @staticmethod
    def of(step: Observation) -> Done:
        """Take from a step the part that is still to be counted."""
        return Done(step.origin, step.legs, step.rows, step.hops, step.statistics, _count_left(step))


def _count_left(step: Observation) -> list[float]:
    """Count the tuples that a step has left of each of its legs."""
    if len(step.legs) == 1:
        return [step.statistics[0].rows_out]
    made, begun, left = step.outcomes[0], 0, []
    count = np.count_nonzero if made.dtype == np.bool_ else np.sum
    for rows in step.rows:
        left.append(float(count(made[begun : begun + rows])))
        begun += rows
    return left
