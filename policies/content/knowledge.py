"""Everything that `content` learns of one stream's operators.

In two tables: samples judge which attribute classifies an operator (`Profile`), and running estimates follow what it
lets through by the buckets of that attribute (`RunningSelectivities`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets, ValueNumbers
from eddy.classes.single_values import MOST_NUMBERS
from eddy.contracts import Observation
from eddy.policies.content.class_costs import ClassCosts
from eddy.policies.content.lifts import LEAST_OPERATORS, MOST_OPERATORS, Fitted, Lifts, StepCounts
from eddy.policies.content.profile import NO_ATTRIBUTE, Learning, Profile
from eddy.policies.content.samples import Lesson, count_untaught, join_lessons
from eddy.policies.content.selectivities import RunningSelectivities
from eddy.policies.shared.editions import Editions
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

CALM_DIVISOR = 4
"""The rest when all is known and calm: P is divided by this for the share of the stream that is sampled, and orders
stand for so many rounds. Learning more would cost more than it gains."""

ROUNDS_BETWEEN_HUNTS = 2
"""Small rounds from one look at operators without a classifier to the next: what is weak needs many rows to show, and
those that have come anyway cost nothing but the look."""

LARGE_STEP, MOST_LOOKED_AT = 2_000, 4_000
"""Rows of a step from which a round is worth a look by itself, and by more attributes; and those that are looked at."""

LIKELIEST_ATTRIBUTES = 2
"""Attributes that are looked at every time for operators without a classifier, because they are likelier than others:
the best, and one that may yet be better."""

LOOKS_FOR_ALL = 3
"""Times to look until every other attribute has had its turn: with rounds of a thousand rows, six thousand rows."""

NEW_EVIDENCE_SHARE = 0.5
"""The share of the known evidence that must come anew before an operator without a classifier is judged again."""

FIRST_SAMPLE_SHARE = 0.5
"""The share of |R| that is enough for the first judgement: a coarse idea soon is worth more than a fine one late."""

MOST_TUPLES_KEPT = 1 << 17
"""Tuples of an operator that are kept in a round, and no more steps after them: a steady estimate remembers far
fewer (`TUPLES_REMEMBERED`), and where a key is hot there are as many as there is memory."""


class Knowledge:
    """How much operators drop in each cell of an attribute.

    Steps are kept while a round runs, and learned from at its end: all of them by one sum. `own` has for each operator
    the attributes that it reads itself, and as cheaply: they do not classify it.
    """

    def __init__(self, attributes: int, how: Learning, own: Mapping[str, Sequence[int]]) -> None:
        self._attributes = attributes
        self._how = how
        self._own = own
        # Operators have numbers, in the order in which they are met. A number is the place of an operator's profile
        # and of its row of running selectivities:
        #
        #     _numbers   {Hop("late"): 0, Hop("planes", ...): 1}
        #     profiles   [Profile, Profile]            samples: which attribute classifies it
        #     costs      [ClassCosts, ClassCosts]      timed samples: what a row costs by class
        #     _running   2 rows, a column a bucket     all rows: what it lets through, by that attribute
        #     _lifts     by set of the others          the same, by who had let the rows through before
        self._numbers: dict[Hop, int] = {}
        self.profiles: list[Profile] = []
        self.costs: list[ClassCosts] = []
        self._running = RunningSelectivities(how.cells, how.alpha)
        self._lifts = Lifts(how.cells)
        # Attributes whose values are told apart one by one, and the bucket of each value's number.
        self._refined: dict[int, Buckets] = {}
        self._steps: list[Observation] = []
        self._kept: dict[Hop, int] = {}
        self._lessons: list[tuple[int, Lesson]] = []
        self._early: set[Hop] = set()
        self._due = 0.0
        self._came = False
        # Whether what was decided stands no more.
        self.is_news = False
        self._turn = self._lesson = 0
        self.haste = 1.0
        self._editions = Editions(attributes)

    @property
    def hops(self) -> Sequence[Hop]:
        """The operators, in the order in which they were met."""
        return list(self._numbers)

    def profile(self, hop: Hop) -> Profile:
        """The samples of an operator, summed up."""
        return self.profiles[self._number(hop)]

    @property
    def cells(self) -> int:
        """The buckets of an attribute, that of null among them."""
        return self._how.cells

    def find_costs(self, hop: Hop) -> ClassCosts | None:
        """What a row of an operator costs by class, if it has been met."""
        number = self._numbers.get(hop)
        return None if number is None else self.costs[number]

    def keep_time(self, hop: Hop, seconds: float, buckets: Buckets, step: float) -> None:
        """Keep what a part of a sample took, and what a call takes."""
        self.costs[self._number(hop)].add(seconds, buckets, step)

    def follow(self, editions: Sequence[int]) -> bool:
        """Forget what was counted by buckets that mean something else now; says whether there are any."""
        changed = self._editions.follow(editions)
        for cost in self.costs if changed else ():
            cost.forget()
        if self._lifts.attribute in changed:
            self._lifts.forget()
        for attribute in changed:
            self.haste = 1.0
            for number, profile in enumerate(self.profiles):
                profile.forget_attribute(attribute)
                if profile.attribute == attribute:
                    self._running.start(number, *profile.bucket_counts())
        return bool(changed)

    @property
    def attributes(self) -> list[int]:
        """The attributes that classify some operator."""
        return sorted({profile.attribute for profile in self.profiles} - {NO_ATTRIBUTE})

    def refine(self, refined: Mapping[int, Buckets]) -> bool:
        """Tell values of some attributes apart one by one, given the bucket of each number; says if that is new.

        What buckets have seen stays what is known of them, and of their values until these have been seen themselves.
        """
        is_new = refined.keys() != self._refined.keys()
        self._refined = dict(refined)
        if refined:
            self._running.widen(MOST_NUMBERS)
        if is_new:
            # Where hashed values are unlike, operators seem to depend on each other that do not.
            self._lifts.forget()
        return is_new

    @property
    def refined(self) -> Set[int]:
        """The attributes whose values are told apart one by one."""
        return self._refined.keys()

    def find_buckets(self, attribute: int, numbers: ValueNumbers) -> Buckets:
        """Find the buckets of values, given by their numbers."""
        return self._refined[attribute].take(numbers) if attribute in self._refined else numbers

    def meet(self, ready: Sequence[Hop]) -> None:
        """Take note of operators that rows may go to when they arrive.

        All others learn from the rows that come to them.
        """
        self._early.update(ready)

    def is_due(self, share: float, size: float, rows: int, *, is_open: bool) -> bool:
        """Tell whether the next sample is due.

        A sample takes `size`, a share of the rows, and in the long run samples take `share` of them; when all is known
        and calm, and no question is open, a part of that share is enough.
        """
        # `_due` is a debt in rows: all rows add to it, however they are cut, and a sample pays off its own.
        self._due += share * (1.0 if is_open else self.haste) * rows
        due = self._due >= size * rows
        if due:
            self._due -= size * rows
        return due

    def rates(self, hops: Sequence[Hop], columns: Sequence[ValueNumbers | None], rows: int) -> Floats:
        """Estimate outputs per input of each row and operator.

        A row for each row, a column for each operator. They come from the cell of the classifier's bucket, or from all
        rows where there are no buckets.
        """
        numbers = [self._number(hop) for hop in hops]
        refined = {n: self._refined[p.attribute] for n, p in enumerate(self.profiles) if p.attribute in self._refined}
        cells, whole = self._running.rates(refined), self._running.estimate_whole()
        found = np.empty((len(hops), rows)).T
        for i, (number, buckets) in enumerate(zip(numbers, columns, strict=True)):
            found[:, i] = whole[number] if buckets is None else cells[number].take(buckets)
        return found

    def estimate_whole(self, hops: Sequence[Hop]) -> Floats:
        """Estimate outputs per input over all rows.

        It is W of the paper.
        """
        numbers = [self._number(hop) for hop in hops]
        return self._running.estimate_whole()[numbers]

    def _number(self, hop: Hop) -> int:
        """An operator's place."""
        known = self._numbers.get(hop)
        if known is None:
            known = self._numbers[hop] = len(self.profiles)
            self.profiles.append(Profile(self._attributes, self._how.cells, self._own.get(hop.operator, ())))
            self.costs.append(ClassCosts(self._how.cells))
            self._running.grow()
        return known

    def keep(self, step: Observation) -> None:
        """Keep a step until the round is over.

        When all is calm, the large ones and those of every other round will do.
        """
        self._came = True
        kept = self._kept.get(step.hops[0], 0)
        is_wanted = self.haste == 1.0 or self._turn % 2 == 0 or len(step.outcomes[0]) >= LARGE_STEP
        if kept < MOST_TUPLES_KEPT and is_wanted:
            self._kept[step.hops[0]] = kept + len(step.outcomes[0])
            self._steps.append(step)

    def keep_lesson(self, hop: Hop, lesson: Lesson) -> None:
        """Keep what an operator made of rows of a sample."""
        self._lessons.append((self._number(hop), lesson))

    def syllabus(self) -> Sequence[int]:
        """The attributes by which a sample is looked at.

        All of them while something is new; later those that classify, and a few of the others in turn.
        """
        if self.haste == 1.0:
            return range(self._attributes)
        used = {profile.attribute for profile in self.profiles} - {NO_ATTRIBUTE}
        self._lesson += 1
        return sorted(used | set(range(self._lesson % CALM_DIVISOR, self._attributes, CALM_DIVISOR)))

    def learn(self) -> None:
        """Learn from what was kept."""
        # The order matters: running counts go to the buckets of the classifier by which rows were routed, so they are
        # added before a judgement may name another one.
        steps, self._steps, self._kept = self._steps, [], {}
        lessons, self._lessons = self._lessons, []
        came, self._came, self.is_news = self._came, False, False
        if not came:
            return
        changes = self._running.changes
        lessons += self._find_unexplained(steps)
        if steps:
            self._count(steps)
        for number, lesson in join_lessons(lessons):
            self.profiles[number].learn(*lesson)
        self._turn += 1
        is_other = self._judge()
        self._lifts.follow(self.profiles if self._refined.keys().isdisjoint(self.attributes) else [])
        used = {cost.attribute for cost in self.costs} | {profile.attribute for profile in self.profiles}
        are_new = [cost.judge(used) for cost in self.costs]
        calm = changes == self._running.changes and all(p.judged > 1 for p in self.profiles if p.judged or p.sampled)
        self.haste = 1 / CALM_DIVISOR if calm else 1.0
        self.is_news = is_other or any(are_new) or not calm or self._turn % CALM_DIVISOR == 0

    def _count(self, steps: Sequence[Observation]) -> None:
        """Add up outcomes of operators.

        Steps whose operators go by the same attribute are taken together, so that each attribute is looked at once.
        """
        lots: dict[int, list[StepCounts]] = {}
        for step in steps:
            for hop, counts in zip(step.hops, step.outcomes, strict=True):
                number = self._number(hop)
                lots.setdefault(self.profiles[number].attribute, []).append((number, counts, step))
        is_few = LEAST_OPERATORS <= len(self.profiles) <= MOST_OPERATORS
        # Independent operators are looked at now and then, once all is known.
        is_due = self.haste == 1.0 or self._lifts.is_sure or self._turn % CALM_DIVISOR == 0
        are_lifts_due = is_few and is_due and not self._refined
        places: list[Integers] = []
        # Every outcome gets its place in the table, operator by bucket, and one sum adds them all: with a sum for each
        # step, rounds of many small steps would spend their time here.
        for attribute, lot in lots.items():
            numbers = np.repeat([number for number, _, _ in lot], [len(counts) for _, counts, _ in lot])
            first, *others = (step.buckets for _, _, step in lot)
            cells = None if attribute == NO_ATTRIBUTE else first.join(others).numbers((attribute,), self._refined)[:, 0]
            places.append(self._running.places(numbers, cells))
            if are_lifts_due:
                told = self._lifts.attribute
                known = cells if told in (attribute, NO_ATTRIBUTE) else first.join(others)((told,))[:, 0]
                self._lifts.count(lot, None if told == NO_ATTRIBUTE else known, self._numbers)
        outcomes = [counts for lot in lots.values() for _, counts, _ in lot]
        for number in self._running.add(np.concatenate(places), np.concatenate(outcomes)):
            self.profiles[number].forget(self._how.sample)

    def fit_lifts(self, hops: Sequence[Hop]) -> Fitted | None:
        """Fit what hops pass of the rows that others have passed; none where they are independent."""
        return self._lifts.fit([self._number(hop) for hop in hops])

    def estimate_arriving(self, hops: Sequence[Hop]) -> Floats:
        """Estimate outputs per input of rows as they arrive: an operator that comes last may pass all that is left."""
        return self._lifts.estimate([self._number(hop) for hop in hops], self.estimate_whole(hops))

    def _find_unexplained(self, steps: Sequence[Observation]) -> Iterator[tuple[int, Lesson]]:
        """Find rows of operators that are judged and unclassified, or get no samples.

        Samples are left out, since they are learned from anyway.
        """
        least = 0 if self._turn % ROUNDS_BETWEEN_HUNTS == 0 else LARGE_STEP - 1
        largest: dict[int, tuple[int, Observation]] = {}
        for step in steps:
            number = self._number(step.hops[0])
            profile = self.profiles[number]
            if step.hops[0] not in self._early or (profile.attribute == NO_ATTRIBUTE and profile.judged):
                count = count_untaught(step)
                if count > largest.get(number, (least,))[0]:
                    largest[number] = (count, step)
        if largest:
            attributes = self._choose_attributes(max(count for count, _ in largest.values()))
            for number, (count, step) in sorted(largest.items(), key=lambda item: item[0]):
                rows = np.arange(0, count, -(-count // MOST_LOOKED_AT))
                yield number, Lesson(attributes, step.buckets(attributes, rows), step.outcomes[0][rows])

    def _choose_attributes(self, rows: int) -> Sequence[int]:
        """Choose the attributes to look for more evidence by, in so many rows.

        Those of other operators, the likeliest, and a few of the rest in turn. The likeliest are those with the
        greatest sum over all operators, where weak evidence shows sooner.
        """
        looks = max(LOOKS_FOR_ALL - rows // LARGE_STEP, 1)
        signs = sum((profile.signs() for profile in self.profiles), np.zeros(self._attributes))
        self._lesson += 1
        used = {profile.attribute for profile in self.profiles} - {NO_ATTRIBUTE}
        likely = np.argsort(-signs, kind="stable")[:LIKELIEST_ATTRIBUTES].tolist()
        return sorted({*used, *likely, *range(self._lesson % looks, self._attributes, looks)})

    def _judge(self) -> bool:
        """Name classifiers by samples that are full, and new evidence that is plain; says if some are others now."""
        is_other = False
        for number, profile in enumerate(self.profiles):
            if not profile.notice(self._how.threshold) and profile.sampled < self._count_needed(profile):
                continue
            used = {other.attribute for other in self.profiles if other is not profile}
            values = self._running.count_values(number) if profile.attribute in self._refined else None
            if profile.judge(self._how.threshold, used, values):
                self._running.start(number, *profile.bucket_counts())
                is_other = True
            profile.fade()
        return is_other

    def _count_needed(self, profile: Profile) -> float:
        """Count the rows that a judgement needs.

        That is |R|, and a part of the known evidence: each look is another chance to be wrong.
        """
        if not profile.judged:
            return self._how.sample * FIRST_SAMPLE_SHARE
        return max(
            self._how.sample, 0.0 if profile.attribute != NO_ATTRIBUTE else NEW_EVIDENCE_SHARE * profile.evidence
        )

    def snapshot(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Plain values, and arrays."""
        profiles = [profile.snapshot() for profile in self.profiles]
        plain = {
            "hops": [list(hop) for hop in self._numbers],
            "profiles": [numbers for numbers, _ in profiles],
            "counts": [self._turn, self._lesson, self._due, self.haste, self._running.changes],
            "editions": self._editions.snapshot(),
            "costs": [cost.snapshot() for cost in self.costs],
            "early": sorted(list(hop) for hop in self._early),
            "cells": self._how.cells,
            "refined": {str(attribute): buckets.tolist() for attribute, buckets in self._refined.items()},
        }
        plain["lifts"], lifts = self._lifts.snapshot()
        tables = {f"tables {number}": table for number, (_, table) in enumerate(profiles)}
        return plain, {"running": self._running.snapshot(), "lifts": lifts, **tables}

    def restore(self, plain: Mapping[str, Any], arrays: Mapping[str, Floats]) -> bool:
        """Go on from a snapshot; called on one that knows nothing, as one goes on that counted by other buckets.

        Says whether it could.
        """
        if plain["cells"] != self._how.cells:
            return False
        for number, (hop, numbers) in enumerate(zip(plain["hops"], plain["profiles"], strict=True)):
            self.profiles[self._number(Hop(*hop))].restore(numbers, arrays[f"tables {number}"])
        self._turn, self._lesson, self._due, self.haste, self._running.changes = plain["counts"]
        self._running.restore(arrays["running"])
        self._editions.restore(plain["editions"])
        for cost, state in zip(self.costs, plain["costs"], strict=True):
            cost.restore(state)
        self._early = {Hop(*hop) for hop in plain["early"]}
        self._refined = {int(attribute): np.array(b, np.uint8) for attribute, b in plain["refined"].items()}
        self._lifts.restore(plain["lifts"], arrays["lifts"])
        return True
