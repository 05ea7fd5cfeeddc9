"""Joins tuples with the stored rows of one more input.

A probe searches by all equalities between its target and the inputs that the tuples span; without any, by an order;
and without that it scans. Whatever it finds is then held against everything that the search did not guarantee: the
keys themselves, the order of arrival, the windows, verdicts, and all other conditions that can be asked by now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eddy.contracts import Outcome
from eddy.errors import QueryError, quoted
from eddy.function import Mask
from eddy.lineage import Lineage, Rule, probe_name
from eddy.ranges import Ranges, everything
from eddy.tuples import RowIds, Tuples
from eddy.window import Range
from operators.conditions import Conditions, Pair, Residual, evaluate
from operators.keys import Key, equal
from operators.stem import Stem
from operators.window import inside

CANDIDATES = 1 << 18
"""Candidates that are looked at in one go: a few megabytes, which stay in the cache, however many rows match."""


PROBES = 1 << 15
"""Tuples that are looked up in one go: a search notes a place for each of them in each segment."""


@dataclass(frozen=True, kw_only=True)
class _Pattern:
    """How to search for tuples that span certain inputs: the access pattern."""

    equalities: Sequence[Pair]
    orders: Sequence[Pair]
    residuals: Sequence[Residual]
    keys: tuple[Key, ...]
    pattern: str

    @property
    def searched(self) -> Sequence[Pair]:
        """What rows are found by; nothing for a scan."""
        return self.equalities or self.orders


class Probe:
    """Looks up the rows of one input that join."""

    def __init__(
        self, target: str, stems: Mapping[str, Stem], conditions: Conditions, rule: Rule, *, max_fanout: int | None
    ) -> None:
        self.name = probe_name(target)
        self.rule = rule
        self._target = target
        self._stems = stems
        self._stem = stems[target]
        self._conditions = conditions
        self._max_fanout = max_fanout
        self._ways: dict[frozenset[str], _Pattern] = {}

    def pattern(self, lineage: Lineage) -> str:
        """What it searches by, for tuples of a lineage."""
        return self._way(lineage.spans).pattern

    def run(self, tuples: Tuples) -> Outcome:
        """Join the first tuples; as many as have a bounded number of candidates."""
        way = self._way(tuples.lineage.spans)
        tuples = tuples.first(PROBES)
        ranges = self._search(way, tuples)
        total = np.cumsum(ranges.per_probe())
        taken = max(int(np.searchsorted(total, CANDIDATES, side="right")), 1) if len(tuples) else 0
        candidates = ranges.expand(taken)
        at, rows = self._verified(way, tuples, *candidates)
        counts = np.bincount(at, minlength=taken)
        if self._max_fanout is not None and len(at) and counts.max() > self._max_fanout:
            raise self._too_many(way, tuples, int(counts.argmax()), int(counts.max()))
        ids = {name: held.take(at) for name, held in tuples.ids.items()}
        return Outcome(
            tuples=Tuples(tuples.lineage, {**ids, self._target: rows}), counts=counts, evaluated=len(candidates[0])
        )

    def _way(self, spans: frozenset[str]) -> _Pattern:
        found = self._ways.get(spans)
        if found is None:
            found = self._ways[spans] = self._plan(spans)
        return found

    def _plan(self, spans: frozenset[str]) -> _Pattern:
        target = self._target
        joined = spans | {target}
        equalities = [e for e in self._conditions.equalities if target in e.sides and joined.issuperset(e.sides)]
        orders = [o for o in self._conditions.orders if target in o.sides and joined.issuperset(o.sides)]
        residuals = [r for r in self._conditions.residuals if target in r.inputs and joined >= r.inputs]
        orders = [] if equalities else _on_one_key(orders, target)
        searched: Sequence[Pair] = equalities or orders
        texts = [e.sides[target].text for e in equalities]
        texts += [f"{o.sides[target].text} {o.ops[target]}" for o in orders]
        keys = [one.sides[target].key for one in searched]
        return _Pattern(
            equalities=equalities,
            orders=orders,
            residuals=residuals,
            keys=tuple(keys if equalities else keys[:1]),
            pattern=", ".join(dict.fromkeys(texts)) or " ".join(("scan", *(r.text for r in residuals))),
        )

    def _search(self, way: _Pattern, tuples: Tuples) -> Ranges:
        """The candidates of every tuple, where the index has them."""
        if not way.searched:
            return everything(len(tuples), len(self._stem))
        others = [one.other(self._target) for one in way.searched]
        codes = [side.key.codes(tuples.ids[side.input]) for side in others]
        valid = [v for side in others if (v := side.key.valid(tuples.ids[side.input])) is not None]
        ops = [one.ops[self._target] for one in way.searched]
        index = self._stem.catalog.get("sorted" if way.equalities else "ordered", way.keys)
        ranges = index.search(list(zip(ops, codes, strict=True)))
        if valid:
            ranges.counts[~np.logical_and.reduce(valid)] = 0
        return ranges

    def _verified(self, way: _Pattern, tuples: Tuples, at: RowIds, rows: RowIds) -> tuple[RowIds, RowIds]:
        """The candidates that really join."""
        for e in way.equalities:
            own, other = e.sides[self._target], e.other(self._target)
            same = own.key.codes(rows) == other.key.codes(tuples.ids[other.input]).take(at)
            at, rows = _keep(same, at, rows)
        for check in (self._arrived, self._timely, self._living):
            mask = check(tuples, at, rows)
            if mask is not None:
                at, rows = _keep(mask, at, rows)
        for e in way.equalities:
            if not e.sides[self._target].key.exact:
                at, rows = _keep(self._equal(e, tuples, at, rows), at, rows)
        for residual in way.residuals:
            held = {name: ids.take(at) for name, ids in tuples.ids.items() if name in residual.inputs}
            mask = residual.holds(self._stems, {**held, self._target: rows}, len(at))
            at, rows = _keep(mask, at, rows)
        return at, rows

    def _arrived(self, tuples: Tuples, at: RowIds, rows: RowIds) -> Mask | None:
        """Only rows that came before the tuple did: each combination is found once, by its last row."""
        origin = tuples.lineage.origin
        return self._stem.came_before(rows, self._stems[origin].arrivals(tuples.ids[origin]), at)

    def _timely(self, tuples: Tuples, at: RowIds, rows: RowIds) -> Mask | None:
        """Only rows with which all are inside their windows."""
        streams = [name for name in tuples.ids if self._stems[name].timed]
        if not self._stem.timed:
            return None
        spans = [_span(self._stems[name]) for name in (*streams, self._target)]
        if all(span is None for span in spans):
            return None
        ticks = [self._stems[name].ticks.take(tuples.ids[name]) for name in streams]
        return inside(ticks, spans[:-1], at, self._stem.ticks.take(rows), spans[-1])

    def _living(self, tuples: Tuples, at: RowIds, rows: RowIds) -> Mask | None:
        """Only rows that no filter has failed."""
        return self._stem.alive.take(rows) if self._stem.dead else None

    def _equal(self, equality: Pair, tuples: Tuples, at: RowIds, rows: RowIds) -> Mask:
        """Compare the values whose codes are alike."""
        own, other = equality.sides[self._target], equality.other(self._target)
        left = evaluate(own.bound, self._stems, {self._target: rows}, len(rows))
        ids = {other.input: tuples.ids[other.input].take(at)}
        return equal(left, evaluate(other.bound, self._stems, ids, len(rows)))

    def _too_many(self, way: _Pattern, tuples: Tuples, tuple_: int, count: int) -> QueryError:
        one = {name: ids[tuple_ : tuple_ + 1] for name, ids in tuples.ids.items()}
        sides = [one.other(self._target) for one in way.searched]
        keys = [f"{side.text} = {evaluate(side.bound, self._stems, one, 1)[0].as_py()!r}" for side in sides]
        return QueryError(
            f'query: one tuple of {quoted(tuples.ids)} joins {count:,} rows of "{self._target}", '
            f"and max_fanout allows {self._max_fanout:,}; the key: {', '.join(keys) or 'none, it is a scan'}; "
            "narrow the window, add a condition, or raise max_fanout"
        )


def _keep(mask: Mask, at: RowIds, rows: RowIds) -> tuple[RowIds, RowIds]:
    if mask.all():
        return at, rows
    kept = np.flatnonzero(mask)
    return at.take(kept), rows.take(kept)


def _span(stem: Stem) -> int | float | None:
    return stem.window.ticks if isinstance(stem.window, Range) else None


def _on_one_key(orders: Sequence[Pair], target: str) -> list[Pair]:
    """The orders that one index can answer: those on the key that most of them are about."""
    keys = [order.sides[target].key for order in orders]
    return [order for order, key in zip(orders, keys, strict=True) if key == max(keys, key=keys.count)]
