"""What operators pass of rows that others have passed.

Filters that agree, or exclude each other, pass another share of what is left than of all. Nobody has to be asked more
often to learn how much: rows come to each operator after others have passed them, in one order or another, and samples
come to it first. So rows are counted by the set of operators that have passed them, and by the class they belong to.
The share of a class is what an operator passes of its rows as they arrive, and the lift of a set is by how much more
it passes once the set has: the same for all classes, so that it is known soon. Where no lift is more than chance there
are none, and operators count as independent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eddy.classes.divider import Buckets
from eddy.contracts import Counts, Observation
from eddy.policies.content.profile import NO_ATTRIBUTE, Profile
from eddy.policies.content.samples import ONWARD
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers

MOST_OPERATORS = 6
"""Operators up to which lifts are known: there are 2^n sets, and to work out those of eight takes 40 ms."""

LEAST_OPERATORS = 3
"""Of two filters that agree the one that drops more for its price goes first, whatever they have in common."""

MOST_SETS = 16
"""Sets for which an operator's rows are counted: those of the orders by now, and of the samples of each other one."""

ROWS_REMEMBERED = 4_000
"""Rows of an operator and a set that count: a lift is known to a few hundredths by then, and follows a change."""

LEAST_ROWS = 60
"""Rows that an operator must have seen as they arrive, before anything is known of it."""

LEAST_COVERED = 0.9
"""Of all rows so many must be of classes of which an operator has seen some as they arrive. Others are sent elsewhere
first, and what it passes of those that are sent to it says nothing of them."""

LEANING = 20.0
"""A lift is weighed as if so many more had passed as often as without."""

WEIGHT_OF_WHOLE = 5.0
"""A class is weighed as if so many of its rows had passed as often as others do."""

SURE = 5.0
"""Standard deviations by which one lift must differ from none: hundreds are looked at again and again."""

WEIGHT_OF_OTHERS = 0.01
"""The weight of what is known of all classes, where one class has seen little, when two ways to a set are weighed."""

FEWEST_COMPARED = 30
"""Rows of a step that are held against what is known of others that came the same way, and of each class of these."""

CHANGED = 6.0
"""Standard deviations from it by which a stream has changed: tens of tables are compared in every round."""

SMALLEST_WEIGHT = 1e-3
"""Keeps means finite, where nothing is known of any way to a set."""

YOUNG = 2
"""Judgements of an operator up to which its evidence is of samples alone, which are rows as they arrive."""

StepCounts = tuple[int, Counts, Observation]
"""An operator's number, what it made of the rows of a step, and the step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """What some operators pass, by bucket of the one attribute that classifies any of them.

    `rates` has a row for each operator and a column for each bucket: shares of rows as they arrive. `lifts` has a line
    for each set of operators, as bits, a row for each operator, and a column for each bucket.
    """

    attribute: int
    rates: Floats
    lifts: Floats

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attribute that classes go by, if any."""
        return () if self.attribute == NO_ATTRIBUTE else (self.attribute,)


class Table(NamedTuple):
    """Rows that came to an operator after a set, by bucket, and those of them that passed."""

    seen: Floats
    out: Floats


def has_changed(table: Table, rows: Integers, out: Floats) -> bool:
    """Tell whether new rows pass unlike those in a table, by more than chance.

    >>> table = Table(np.array([400.0]), np.array([200.0]))
    >>> has_changed(table, np.array([100]), np.array([55.0])), has_changed(table, np.array([100]), np.array([95.0]))
    (False, True)
    """
    # Nothing can be said of classes that were hardly seen.
    is_known = (table.seen >= FEWEST_COMPARED) & (rows > 0)
    rows, seen = rows[is_known], table.seen[is_known]
    if rows.sum() < FEWEST_COMPARED:
        return False
    usual = (table.out[is_known] + 1) / (seen + 2)
    off = out[is_known] - rows * usual
    chance = usual * (1 - usual) * (rows + rows**2 / seen)
    # Classes may change together, or one for another so that the whole stays.
    together = abs(off.sum()) > CHANGED * np.sqrt(max(float(chance.sum()), 1.0))
    apart = np.sqrt((off**2 / np.maximum(chance, 1.0)).sum()) > np.sqrt(len(off)) + CHANGED
    return bool(together or apart)


class Lifts:
    """Rows of each operator by the set of others that have passed them, and by bucket of one attribute."""

    def __init__(self, cells: int) -> None:
        # Buckets of an attribute at most; where no attribute classifies, all rows are of the first.
        self._cells = cells
        self.attribute = NO_ATTRIBUTE
        # Whether operators depend on each other, as far as is known.
        self.is_sure = False
        self._tables: dict[int, dict[frozenset[int], Table]] = {}

    def add(self, operator: int, passed: Collection[int], buckets: Buckets | None, outcomes: Counts) -> None:
        """Count rows that came to an operator after others."""
        tables, key = self._tables.setdefault(operator, {}), frozenset(passed)
        table = tables.pop(key, None) or Table(np.zeros(self._cells), np.zeros(self._cells))
        buckets = np.zeros(len(outcomes), np.uint8) if buckets is None else buckets
        rows = np.bincount(buckets, minlength=self._cells)
        out = np.bincount(buckets, outcomes, self._cells).astype(np.float64)
        if has_changed(table, rows, out):
            # Samples come seldom: what they told of other operators would stand for long after it has ceased to be so.
            self._tables, table = {}, Table(np.zeros(self._cells), np.zeros(self._cells))
            tables = self._tables.setdefault(operator, {})
        seen = table.seen + rows
        fade = min(ROWS_REMEMBERED / max(seen.sum(), 1.0), 1.0)
        # The set that was met last stands last, and the one that is longest gone makes room; that of none stays.
        tables[key] = Table(seen * fade, (table.out + out) * fade)
        if len(tables) > MOST_SETS:
            del tables[next(other for other in tables if other)]

    def count(self, lot: Sequence[StepCounts], buckets: Buckets | None, numbers: Mapping[Hop, int]) -> None:
        """Count the rows of filters by the operators that stand before in the routes of their legs.

        `buckets` are those of all rows of the lot, one step's after the other's.
        """
        first = 0
        for number, counts, step in lot:
            own = None if buckets is None else buckets[first : first + len(counts)]
            first += len(counts)
            # A probe has counts of its own, and the hops of a profile have not seen what others have left.
            if counts.dtype != np.bool_ or len(step.hops) > 1:
                continue
            begun = 0
            for leg, rows in zip(step.legs, step.rows, strict=True):
                if rows and leg.tag != ONWARD:
                    passed = [numbers[hop] for hop in leg.route[: leg.route.index(step.hops[0])] if hop in numbers]
                    part = slice(begun, begun + rows)
                    self.add(number, passed, None if own is None else own[part], counts[part])
                begun += rows

    def follow(self, profiles: Sequence[Profile]) -> None:
        """Begin anew if it is another attribute that classifies; where there are several, rows are not told apart."""
        telling = {profile.attribute for profile in profiles} - {NO_ATTRIBUTE}
        attribute = telling.pop() if len(telling) == 1 else NO_ATTRIBUTE
        if attribute != self.attribute:
            # First samples are of rows as they arrive; later on there are others among the evidence.
            young = [number for number, p in enumerate(profiles) if attribute != NO_ATTRIBUTE and p.judged <= YOUNG]
            self.forget(attribute)
            self._tables = {number: {frozenset(): Table(*profiles[number].count_by(attribute))} for number in young}

    def forget(self, attribute: int = NO_ATTRIBUTE) -> None:
        """Forget everything, since buckets mean something else now."""
        self.attribute, self.is_sure, self._tables = attribute, False, {}

    def _count_arrivals(self) -> Floats:
        """Count rows as they arrive, by bucket: each of them comes to some operator first."""
        first = [tables[frozenset()].seen for tables in self._tables.values() if frozenset() in tables]
        found: Floats = np.sum([np.zeros(self._cells), *first], axis=0)
        return found

    def _find_share(self, operator: int, arrivals: Floats) -> float | None:
        """Find the share of all rows that an operator passes as they arrive; None where too few are known.

        Rows of some classes are sent to it first more often than others, so each class counts by its arrivals.
        """
        table = self._tables.get(operator, {}).get(frozenset())
        if table is None or table.seen.sum() < LEAST_ROWS:
            return None
        is_seen = table.seen > 0
        known = arrivals[is_seen]
        if known.sum() < LEAST_COVERED * arrivals.sum():
            return None
        return float((table.out[is_seen] / table.seen[is_seen]) @ known / known.sum())

    def estimate(self, operators: Sequence[int], usual: Floats) -> Floats:
        """Estimate what operators pass of rows as they arrive; as usual where too few are known."""
        found, arrivals = usual.copy(), self._count_arrivals()
        for place, operator in enumerate(operators):
            if self.is_sure and (share := self._find_share(operator, arrivals)) is not None:
                found[place] = share
        return found

    def fit(self, operators: Sequence[int]) -> Fitted | None:
        """Fit the shares and lifts of some operators; none where chance explains all lifts."""
        self.is_sure = False
        if not LEAST_OPERATORS <= len(operators) <= MOST_OPERATORS:
            return None
        places = {operator: place for place, operator in enumerate(operators)}
        arrivals = self._count_arrivals()
        rates, found, is_sure = [], {}, False
        for place, operator in enumerate(operators):
            tables = {
                sum(1 << places[other] for other in passed): table
                for passed, table in self._tables.get(operator, {}).items()
                if passed <= places.keys()
            }
            share = self._find_share(operator, arrivals)
            if share is None:
                return None
            own, known, sure = _fit(tables, share)
            rates.append(own)
            is_sure |= sure
            found.update({(passed, place): lift for passed, lift in known.items()})
        self.is_sure = is_sure
        if not is_sure:
            return None
        lifts = _spread(found, len(operators), self._cells)
        return Fitted(attribute=self.attribute, rates=np.array(rates), lifts=lifts)

    def snapshot(self) -> tuple[list[Any], Floats]:
        """The attribute and which tables there are, and what they have counted."""
        listed = [(o, p, t) for o, tables in self._tables.items() for p, t in tables.items()]
        names = [
            [self.attribute, self.is_sure],
            *([operator, sorted(passed)] for operator, passed, _ in listed),
        ]
        return names, np.array([table for _, _, table in listed]).reshape(-1, 2, self._cells)

    def restore(self, names: Sequence[Any], counts: Floats) -> None:
        """Go on from a snapshot."""
        (self.attribute, self.is_sure), *keys = names
        self._tables = {}
        for (operator, passed), (seen, out) in zip(keys, counts, strict=True):
            self._tables.setdefault(operator, {})[frozenset(passed)] = Table(seen.copy(), out.copy())


def _fit(tables: Mapping[int, Table], whole: float) -> tuple[Floats, dict[int, tuple[Floats, Floats]], bool]:
    """Fit one operator's shares, and its lifts by set with their weights; says if one is surely no chance.

    `whole` is the share of all rows that it passes. `tables` has one for no others: rows as they arrive.
    """
    first = tables[0]
    sets, counts = list(tables), list(tables.values())
    seen, out = np.array([table.seen for table in counts]), np.array([table.out for table in counts])
    is_first, passed = np.array(sets) == 0, out.sum(axis=1)
    rates = (first.out + WEIGHT_OF_WHOLE * whole) / (first.seen + WEIGHT_OF_WHOLE)
    usual = seen @ rates
    lifts = (passed + LEANING) / (usual + LEANING)
    # Chance is in what passed, and in the shares themselves: buckets that few rows came to lean on all others.
    apart, leaning = whole * (1 - whole), WEIGHT_OF_WHOLE / (first.seen + WEIGHT_OF_WHOLE)
    chance = apart * (seen.sum(axis=1) + seen**2 @ leaning / WEIGHT_OF_WHOLE + (seen @ leaning) ** 2)
    off = np.abs(passed - usual) / np.sqrt(np.maximum(chance, 1.0))
    # A class leans on what all classes have in common.
    own = np.where(is_first[:, None], 1.0, (out + LEANING * lifts[:, None]) / (seen * rates + LEANING))
    weights = seen * rates + usual[:, None] * WEIGHT_OF_OTHERS
    known = {one: (lift, weight) for one, lift, weight in zip(sets, own, weights, strict=True)}
    return np.minimum(rates, 1.0), known, bool((off[~is_first] > SURE).any())


def _spread(found: Mapping[tuple[int, int], tuple[Floats, Floats]], operators: int, cells: int) -> Floats:
    """Give the lift of each set for each operator, by bucket.

    What all operators of a set pass together, over what they would by themselves, does not depend on who came last. So
    it follows from the lift of any of them, after the others; and what was never seen from the pairs in it.
    """
    # Logarithms: together(S + last) = together(S) + lift of S for `last`. Of one operator it is 0, and sets grow with
    # their number, so those with one member less are done.
    together = np.zeros((1 << operators, cells))
    for members in range(1 << operators):
        ways = [(members & ~(1 << last), last) for last in range(operators) if members >> last & 1]
        seen = [way for way in ways if way in found]
        if len(ways) > 1 and seen:
            logs = np.array([together[rest] + np.log(found[rest, last][0]) for rest, last in seen])
            weights = np.array([found[way][1] for way in seen]) + SMALLEST_WEIGHT
            together[members] = (logs * weights).sum(axis=0) / weights.sum(axis=0)
        elif len(ways) > 2:
            together[members] = np.mean([together[rest] + _guess(together, rest, last) for rest, last in ways], axis=0)
    numbers = np.arange(1 << operators)[:, None]
    lifts: Floats = np.exp(together[numbers | 1 << np.arange(operators)] - together[:, None])
    return lifts


def _guess(together: Floats, rest: int, last: int) -> Floats:
    """Guess the logarithm of a lift from the pairs: that of the operator which has most to do with it."""
    pairs = np.array([together[1 << other | 1 << last] for other in range(rest.bit_length()) if rest >> other & 1])
    most: Floats = np.take_along_axis(pairs, np.abs(pairs).argmax(axis=0)[None], axis=0)[0]
    return most
