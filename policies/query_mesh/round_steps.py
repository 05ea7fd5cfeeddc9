"""The steps of a round, kept until it is over and counted together: by way, by stream, by bucket."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from eddy.classes.classifier import Features, Look
from eddy.classes.nature import spread_evenly
from eddy.contracts import Clock, Hop, Observation, Statistic
from eddy.policies.query_mesh.rusters import Count, Done, FirstHop, Ruster
from eddy.policies.query_mesh.stream_mesh import StreamMesh
from eddy.tuples.arrays import Floats, Integers

MOST_COUNTED = 2_000
"""Rows of a step that are counted by bucket: a bucket remembers fewer."""


class Fates(NamedTuple):
    """What an operator made of some rows, that can be counted by their buckets."""

    origin: str
    operator: str
    look: Look
    outcomes: Floats


class RoundSteps:
    """What is kept of a round; `watch` is the clock by which guards are told what counting takes."""

    def __init__(self, features: Features, watch: Clock) -> None:
        self._features, self._watch = features, watch
        self.clear()

    def clear(self) -> None:
        """Begin a round."""
        self._rusters: list[Ruster] = []
        self._steps: list[Done] = []
        self._first_hops: list[FirstHop] = []
        self._fates: list[Fates] = []
        self._is_counting: dict[str, bool] = {}
        self._is_looking = False

    def start(self, ruster: Ruster) -> None:
        """Take note of rows that set out together."""
        self._rusters.append(ruster)
        self._is_looking |= ruster.looks > 0

    def keep(self, step: Observation, stream: StreamMesh) -> None:
        """Keep a step that is no sample of somebody else."""
        self._steps.append(Done.of(step))
        if self._is_looking:
            self._first_hops += FirstHop.of(step)
        # Asked once a round for each stream: it is a look at all tables, and nothing is counted before the round ends.
        if step.origin not in self._is_counting:
            self._is_counting[step.origin] = stream.evidence.is_counting
        # Samples are counted where they are kept.
        if self._is_counting[step.origin] and not step.legs[0].exhaustive:
            places = _choose_places(step, is_any=stream.evidence.is_independent)
            if len(places):
                outcomes = step.outcomes[0][places].astype(np.float64)
                self._fates.append(Fates(step.origin, step.hops[0].operator, step.buckets.take(places), outcomes))

    def count(self, streams: Mapping[str, StreamMesh]) -> None:
        """Count for each way what its rows cost."""
        counts: dict[int, Count] = {}
        for ruster in self._rusters:
            count = counts.setdefault(id(ruster.generation), Count.of(ruster.generation))
            count.rows[ruster.way] += ruster.rows
        for origin, stream in streams.items():
            started = self._watch()
            steps = [step for step in self._steps if step.origin == origin]
            totals: dict[Hop, Statistic] = {}
            for step in steps:
                for hop, statistic in zip(step.hops, step.statistics, strict=True):
                    totals[hop] = totals[hop] + statistic if hop in totals else statistic
                if not step.legs[0].exhaustive:
                    _pay(step, stream.operators.index(step.hops[0].operator), counts)
            if steps:
                # Once for all steps of an operator: a price is fitted anew each time that it is asked for.
                stream.learn(list(totals), list(totals.values()), len(steps))
                self._count_fates(stream, [fates for fates in self._fates if fates.origin == origin])
                seconds = self._watch() - started
                stream.guard.spend(seconds)
                stream.notes.pay(seconds)
        currents = {id(stream.current): stream for stream in streams.values()}
        for number, count in counts.items():
            rows = float(count.rows.sum())
            spoken = currents[number].notes.speak_for(rows) if number in currents else 1.0
            count.generation.pay(count.rows, count.cost, spoken)

    def _count_fates(self, stream: StreamMesh, fates: list[Fates]) -> None:
        """Count by bucket, each attribute with one look."""
        lots: dict[int, list[Fates]] = {}
        rates = stream.evidence.by_bucket
        for one in fates:
            lots.setdefault(int(rates.tellers[stream.operators.index(one.operator)]), []).append(one)
        for attribute, lot in lots.items():
            if attribute < 0 or stream.follow(lot[0].look.editions((attribute,)), (attribute,)):
                continue
            buckets = lot[0].look.join([one.look for one in lot[1:]]).numbers((attribute,), rates.refined)[:, 0]
            for one, part in zip(lot, _split(buckets, (len(one.outcomes) for one in lot)), strict=True):
                rates.count(stream.operators.index(one.operator), part, one.outcomes)

    def look(self, streams: Mapping[str, StreamMesh]) -> None:
        """Look at rows by all attributes, those of a stream all at once: a look costs by its attributes."""
        for origin in dict.fromkeys(hop.origin for hop in self._first_hops):
            stream = streams[origin]
            started = self._watch()
            taken = [
                hop for hop in self._first_hops if hop.origin == origin and hop.ruster.generation is stream.current
            ]
            varied = stream.evidence.varied.tolist()
            if taken and not stream.follow(taken[0].look.editions(varied), varied):
                every = np.zeros((sum(len(hop.outcomes) for hop in taken), len(self._features.of(origin))), np.uint8)
                every[:, varied] = taken[0].look.join([hop.look for hop in taken[1:]])(varied)
                parts = _split(every, (len(hop.outcomes) for hop in taken))
                stream.look(
                    (hop.ruster.way, stream.operators.index(hop.operator), part, hop.outcomes)
                    for hop, part in zip(taken, parts, strict=True)
                )
                stream.looks.pay(self._watch() - started)
            stream.guard.spend(self._watch() - started)


def _choose_places(step: Observation, *, is_any: bool) -> Integers:
    """Choose the rows of a step that are counted: of any leg, or of those whose first hop it is."""
    begun, places = 0, []
    for leg, rows in zip(step.legs, step.rows, strict=True):
        if is_any or leg.route[0] == step.hops[0]:
            places.append(np.arange(begun, begun + rows))
        begun += rows
    found = np.concatenate(places) if places else np.zeros(0, np.int64)
    return found if len(found) <= MOST_COUNTED else found[spread_evenly(len(found), MOST_COUNTED)]


def _split(rows: np.ndarray, counts: Iterable[int]) -> list[np.ndarray]:
    return np.split(rows, np.cumsum(list(counts))[:-1])


def _pay(step: Done, operator: int, counts: Mapping[int, Count]) -> None:
    """Count a step's cost and its outputs for each way."""
    for leg, rows, out in zip(step.legs, step.rows, step.left, strict=True):
        if isinstance(leg.tag, Ruster) and rows:
            _, generation, way, _ = leg.tag
            counts[id(generation)].cost[way] += rows * generation.costs[way, operator]
            generation.count(way, operator, rows, out)
