"""Arms: the policies that `auto` may put in charge, and the lanes on which their rows travel.

The rows of a round are dealt out to lanes: an arm's, the written order's, and that of a sample. Each leg says in its
tag on whose lane it is, so that every step can be charged to its lane, and told to its arm as if the arm were alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from eddy.classes.classifier import Features, Look
from eddy.classes.divider import Attribute, Buckets, ValueNumbers
from eddy.contracts import Classes, Leg, Observation, Policy, Task
from eddy.errors import EngineError, QueryError, clip, quote
from eddy.observe.statistics import Statistic
from eddy.policies.auto.duel import Bill, Trail
from eddy.tuples import Hop
from eddy.tuples.arrays import Integers

LONGEST_PLAN = 500
"""Characters of a plan that cannot be read: positions may be thousands."""


class Standard(NamedTuple):
    """What the rows of a leg would have cost if all streams went in the written order."""

    bill: Bill
    trail: Trail


class Lane(NamedTuple):
    """Whose rows a leg has: what they cost, and the arm that planned it, with the leg as it was planned."""

    bill: Bill
    trail: Trail
    alone: bool
    arm: Arm | None = None
    leg: Leg | None = None
    standard: Standard | None = None

    def call(self, price: float) -> None:
        """Charge a call, which costs the same in any order."""
        self.bill.call(price)
        if self.standard is not None:
            self.standard.bill.call(price)


@dataclass(frozen=True)
class SomeAttributes:
    """A look at the attributes that an arm knows, by the numbers that it gives them."""

    look: Look
    numbers_of: Sequence[int]

    def __call__(self, attributes: Sequence[int] | None = None, rows: Integers | None = None) -> Buckets:
        """The buckets of some rows."""
        return self.look(self._number(attributes), rows)

    def refine(self, attributes: Sequence[int]) -> dict[int, Buckets]:
        """Tell the values of some attributes apart one by one."""
        own = {self.numbers_of[attribute]: attribute for attribute in attributes}
        return {own[number]: buckets for number, buckets in self.look.refine(list(own)).items()}

    def numbers(self, attributes: Sequence[int], singly: Collection[int], rows: Integers | None = None) -> ValueNumbers:
        """The numbers of their values, or their buckets."""
        return self.look.numbers(self._number(attributes), self._number([*singly]), rows)

    def editions(self, attributes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The editions of their buckets."""
        return self.look.editions(self._number(attributes))

    def _number(self, attributes: Sequence[int] | None) -> Sequence[int]:
        """Give the numbers that some attributes, or all, have in the look."""
        return self.numbers_of if attributes is None else [self.numbers_of[attribute] for attribute in attributes]

    def take(self, rows: Integers) -> SomeAttributes:
        """Some of the rows."""
        return SomeAttributes(self.look.take(rows), self.numbers_of)

    def join(self, others: Sequence[SomeAttributes]) -> SomeAttributes:
        """These rows and those of others."""
        return SomeAttributes(self.look.join([other.look for other in others]), self.numbers_of)


@dataclass(frozen=True)
class Kept:
    """A look at buckets that are kept, after the rows have gone."""

    buckets: Buckets
    kept_editions: tuple[int, ...]

    def __call__(self, attributes: Sequence[int] | None = None, rows: Integers | None = None) -> Buckets:
        """The buckets of some rows."""
        found = self.buckets if rows is None else self.buckets[rows]
        return found if attributes is None else found[:, list(attributes)]

    def refine(self, attributes: Sequence[int]) -> dict[int, Buckets]:
        """Nothing: the values are gone."""
        return {}

    def numbers(self, attributes: Sequence[int], singly: Collection[int], rows: Integers | None = None) -> Buckets:
        """The buckets of some rows: the values are gone."""
        return self(attributes, rows)

    def editions(self, attributes: Sequence[int] | None = None) -> tuple[int, ...]:
        """The editions that the buckets were of."""
        return self.kept_editions if attributes is None else tuple([self.kept_editions[a] for a in attributes])

    def take(self, rows: Integers) -> Kept:
        """Some of the rows."""
        return Kept(self.buckets[rows], self.kept_editions)

    def join(self, others: Sequence[Kept]) -> Kept:
        """These rows and those of others."""
        return Kept(np.concatenate([self.buckets, *(other.buckets for other in others)]), self.kept_editions)


class Arm:
    """A policy that may be put in charge of a stream.

    `purse` is what there was to spend when it was built: how long it may search follows from that.
    """

    def __init__(self, name: str, policy: Policy, features: Features, stream: str, purse: float) -> None:
        self.name = name
        self.policy = policy
        self.purse = purse
        own, all_of_them = policy.features.of(stream), features.of(stream)
        numbers = [all_of_them.index(attribute) for attribute in own]
        self._numbers = None if numbers == list(range(len(all_of_them))) else numbers

    def ask(self, task: Task, ready: tuple[Hop, ...], rows: Integers | None, bill: Bill) -> list[Leg]:
        """Ask it to plan for some rows of a task, on a lane of its own."""
        look = task.buckets if rows is None else task.buckets.take(rows)
        own = replace(task, rows=task.rows if rows is None else len(rows), buckets=self._see(look))
        legs = self.policy.plan(own, ready)
        try:
            return [self._put_on_lane(leg, rows, bill, alone=len(legs) == 1) for leg in legs]
        except (AttributeError, IndexError, TypeError) as error:
            # The router checks whole plans; this one could not even be put beside those of other lanes.
            raise EngineError(
                f'policy "auto": arm "{self.name}" must plan a list of Leg(...) with positions below {own.rows}, '
                f"and planned {clip(repr(legs), LONGEST_PLAN)}"
            ) from error

    def _put_on_lane(self, leg: Leg, rows: Integers | None, bill: Bill, *, alone: bool) -> Leg:
        part = leg.rows if rows is None else rows if leg.rows is None else rows[leg.rows]
        return replace(leg, rows=part, classes=self._name(leg.classes), tag=Lane(bill, Trail(), alone, self, leg))

    def ask_alone(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """Ask it to plan for a whole task, with nobody beside it and nobody counting."""
        if self._numbers is None:
            return self.policy.plan(task, ready)
        legs = self.policy.plan(replace(task, buckets=self._see(task.buckets)), ready)
        return [replace(leg, classes=self._name(leg.classes)) for leg in legs]

    def _name(self, classes: Classes | None) -> Classes | None:
        """Name the attributes of classes by the numbers that everybody knows."""
        if classes is None or self._numbers is None:
            return classes
        return Classes([self._numbers[attribute] for attribute in classes.attributes], classes.sizes)

    def observe(self, observation: Observation) -> None:
        """Tell it what happened to its rows, if it listens."""
        if self.policy.is_listening:
            seen = self._see(observation.buckets)
            self.policy.observe(observation if seen is observation.buckets else observation._replace(buckets=seen))

    def _see(self, look: Look) -> Look:
        return look if self._numbers is None else SomeAttributes(look, self._numbers)


def join_features(arms: Sequence[tuple[str, Features]], own: Features) -> Features:
    """Join the attributes of all arms; a row's buckets are made once for all."""
    attributes = dict.fromkeys(own.attributes)
    for name, features in arms:
        if features.attributes and features.buckets != own.buckets:
            raise QueryError(
                f'policy "auto": arms: "{name}" divides attributes into {features.buckets} buckets, and "auto" into '
                f"{own.buckets}; give both the same d"
            )
        _check_ways(name, features.attributes, attributes)
        attributes |= dict.fromkeys(features.attributes)
    return Features(attributes=tuple(attributes), buckets=own.buckets, ranges=own.ranges)


def _check_ways(name: str, wanted: Iterable[Attribute], known: Iterable[Attribute]) -> None:
    """Refuse a column that is to be divided in two ways: it has one bucket for each row."""
    ways = {attribute.column: attribute for attribute in known}
    for attribute in wanted:
        if ways.get(attribute.column, attribute) != attribute:
            column = quote([str(attribute.column)])
            raise QueryError(
                f'policy "auto": arms: "{name}" divides {column} by values of its own, and others divide it otherwise; '
                f"leave {column} out of attributes, or that arm out of arms"
            )


def put_on_lane(legs: Sequence[Leg], rows: Integers | None, bill: Bill) -> list[Leg]:
    """Put legs in the written order on a lane."""
    bill.standard.rows = bill.rows
    standard = None if bill.standard is bill else Standard(bill.standard, Trail())
    tag = Lane(bill, Trail(), alone=True, standard=standard)
    return [replace(leg, rows=rows, tag=tag) for leg in legs]


def comes_back(leg: Leg, task: Task, ready: tuple[Hop, ...]) -> bool:
    """Tell whether tuples of a leg have to be planned for again; an exhaustive one leaves probes to be done."""
    if leg.exhaustive:
        return True
    return not set(ready) <= set(leg.route) if task.independent else bool(task.after(leg.route))


def tell_arms(observation: Observation) -> list[Bill]:
    """Tell each arm what happened to its own rows, as if there were no others.

    Gives the bills of the arms that listened.
    """
    listened = []
    for lane, first, last in _find_runs(observation.legs):
        if lane.arm is not None:
            lane.arm.observe(_cut(observation, first, last))
            listened.append(lane.bill)
    return listened


def _find_runs(legs: Sequence[Leg]) -> Iterator[tuple[Lane, int, int]]:
    """Find the legs of one arm that stand together."""
    first = 0
    for place, leg in enumerate(legs):
        lane, following = leg.tag, legs[place + 1].tag if place + 1 < len(legs) else None
        if not isinstance(lane, Lane):
            first = place + 1
        elif not isinstance(following, Lane) or following.arm is not lane.arm:
            yield lane, first, place + 1
            first = place + 1


def _cut(observation: Observation, first: int, last: int) -> Observation:
    """Cut some legs out of a step, with the tags that their arm gave them.

    legs        a   b   b        rows  2 3 1       b's outcomes are those from place 2 up to 6
    outcomes    1 0 1 1 0 1
    """
    lanes = [leg.tag for leg in observation.legs[first:last]]
    legs = tuple(lane.leg for lane in lanes if isinstance(lane, Lane) and lane.leg is not None)
    if len(legs) == len(observation.legs):
        return observation._replace(legs=legs)
    begun, rows = sum(observation.rows[:first]), observation.rows[first:last]
    end = begun + sum(rows)
    outcomes = [counts[begun:end] for counts in observation.outcomes]
    return observation._replace(
        legs=legs,
        rows=rows,
        outcomes=outcomes,
        statistics=tuple(
            _share(statistic, end - begun, float(counts.sum()))
            for statistic, counts in zip(observation.statistics, outcomes, strict=True)
        ),
        buckets=observation.buckets.take(np.arange(begun, end)),
    )


def _share(statistic: Statistic, rows: int, out: float) -> Statistic:
    part = rows / max(statistic.rows_in, 1)
    return Statistic(rows, statistic.evaluated * part, out, statistic.seconds * part)
