"""Samples: rows sent to an operator first, so it learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Counts, Leg, Observation
from eddy.policies.shared.call_counts import SAMPLE
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers

ONWARD = "onward"
"""The tag of legs that somebody else has begun: nobody knows here who has passed their rows."""


class Lesson(NamedTuple):
    """An operator's outcomes, and the buckets of their rows."""

    attributes: Sequence[int]
    buckets: Buckets
    outcomes: Counts


class LegSample:
    """Buckets of the sample that a leg takes to an operator.

    They are held until the rows have come to it. A sample goes to its operator first and then on as its class does, so
    that its later steps are those of the other rows: going by itself it would cost as many steps again as all of them.
    """

    def __init__(self, attributes: Sequence[int], buckets: Buckets) -> None:
        self._attributes = attributes
        self._buckets = buckets

    def teach(self, outcomes: Counts) -> Lesson:
        """Pair the next rows with what the operator made of them."""
        buckets, self._buckets = self._buckets[: len(outcomes)], self._buckets[len(outcomes) :]
        return Lesson(self._attributes, buckets, outcomes)


def send_samples(
    pupils: Sequence[Hop],
    ways: Sequence[tuple[tuple[Hop, ...], Integers]],
    rows: Integers,
    attributes: Sequence[int],
    buckets: Buckets,
    routes: Mapping[Hop, tuple[Hop, ...]] | None = None,
    timed: Mapping[Hop, Sequence[Integers]] = MappingProxyType({}),
) -> list[Leg]:
    """Share rows out among operators.

    `ways` are the routes that would be theirs, each with places in `rows`. Where operators wait for others, `routes`
    has the one that begins with each. Parts of the sample that are `timed` go to their operator each by itself, and
    come back for another plan.
    """
    legs = [
        Leg(route=(hop,), rows=rows[part], exhaustive=True, label=SAMPLE, tag=LegSample(attributes, buckets[part]))
        for hop, parts in timed.items()
        for part in parts
    ]
    for onward, places in ways:
        for i, hop in enumerate(pupils):
            mine = places[places % len(pupils) == i]
            if len(mine) and hop not in timed:
                route = routes[hop] if routes else (hop, *(other for other in onward if other != hop))
                legs.append(Leg(route=route, rows=rows[mine], label=SAMPLE, tag=LegSample(attributes, buckets[mine])))
    return legs


def take_lessons(observation: Observation) -> Iterator[Lesson]:
    """Take the samples, or parts of them, that a step completes."""
    end = 0
    for leg, rows in zip(observation.legs, observation.rows, strict=True):
        end += rows
        if isinstance(leg.tag, LegSample) and leg.route[0] == observation.hops[0]:
            yield leg.tag.teach(observation.outcomes[0][end - rows : end])


def count_untaught(step: Observation) -> int:
    """Count the rows of a step that are no samples for it.

    They are the first ones of the step.
    """
    first = step.hops[0]
    is_lesson = [leg.exhaustive or (isinstance(leg.tag, LegSample) and leg.route[0] == first) for leg in step.legs]
    return sum(rows for rows, taught in zip(step.rows, is_lesson, strict=True) if not taught)


def join_lessons(single: Iterable[tuple[int, Lesson]]) -> Iterator[tuple[int, Lesson]]:
    """Join lessons of one operator by the same attributes.

    Adding up costs by the lesson, not by the row.
    """
    lots: dict[tuple[int, tuple[int, ...]], list[Lesson]] = {}
    for number, lesson in single:
        lots.setdefault((number, tuple(lesson.attributes)), []).append(lesson)
    for (number, attributes), lot in lots.items():
        buckets = np.concatenate([lesson.buckets for lesson in lot])
        yield number, Lesson(attributes, buckets, np.concatenate([lesson.outcomes for lesson in lot]))
