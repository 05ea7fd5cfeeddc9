"""What operators let through on a way, beside what the sample said.

What a row costs does not show all that changes: whatever the last operator of a route does, the route costs the same,
and a change of the one before it hardly shows. An operator that begins to drop nearly all would stay behind for ever.
So the rows that come to each operator on a way are counted too, and those that it lets through. Where it lets through
others than the sample said, by more than chance, it is asked what another order would save by what is known now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from policies.orders import Floats

SURE = 4.0
"""Standard errors beyond which a difference is not chance: once in some ten thousand looks."""

ENOUGH = 100
"""Rows that have come to an operator on a way before anything is said about it."""


class Promise(NamedTuple):
    """What the sample said of an operator on a way: outputs per input, by the rows that come to it there.

    Where a lottery draws the order, other rows come to it each time: `low` and `high` are the least and the most over
    all of them, `usual` is in the written order. `rows` are those of the sample that it is from, `spread` is the
    standard deviation of the outputs, and `lot` says how many tuples each row has become by then.
    """

    low: float
    high: float
    usual: float
    rows: float
    spread: float
    lot: float


class Passing:
    """Counts what operators let through on a way; the weight of a row halves every `window` rows.

    `sets` are the operators that are watched, in the order of the way, and those together that a lottery draws.
    `lost` is what another order would have saved the rows so far.
    """

    def __init__(
        self, sets: Sequence[Sequence[int]], promises: Mapping[int, Promise], costs: Sequence[float], window: int
    ) -> None:
        self._sets, self._promises, self._costs, self._window = sets, promises, costs, window
        self._seen = dict.fromkeys(promises, 0.0)
        self._out = dict.fromkeys(promises, 0.0)
        self.lost = 0.0

    @staticmethod
    def of(
        outcomes: Floats, sets: Sequence[Sequence[int]], known: Sequence[int], costs: Floats, window: int
    ) -> Passing:
        """Expect what the rows of the sample did that go this way.

        `known` are the operators that could act on them as they arrived. What comes to those behind another, nobody
        has seen.
        """
        watched: list[Sequence[int]] = []
        promises: dict[int, Promise] = {}
        left = np.ones(len(outcomes))
        for one in sets:
            if not set(one) <= set(known):
                break
            watched.append(one)
            promises |= {operator: _promise(outcomes, left, one, operator) for operator in one}
            left = left * outcomes[:, list(one)].prod(axis=1)
        return Passing(watched, promises, costs.tolist(), window)

    def count(self, operator: int, rows: int, out: float) -> None:
        """Count what an operator made of rows on this way."""
        if operator in self._promises:
            kept = 0.5 ** (rows / self._window)
            self._seen[operator] = self._seen[operator] * kept + rows
            self._out[operator] = self._out[operator] * kept + out

    def pay(self, rows: float) -> None:
        """A micro-batch is over in which so many rows set out on this way."""
        self.lost += rows * self.regret

    @property
    def regret(self) -> float:
        """What another order would save a row by what has changed, above what it would have saved before."""
        changed = {operator: rate for operator, rate, _ in self.changes()}
        if not changed:
            return 0.0
        usual = {operator: promise.usual for operator, promise in self._promises.items()}
        return max(self._saved({**usual, **changed}) - self._saved(usual), 0.0)

    def changes(self) -> Iterator[tuple[int, float, float]]:
        """The operators that let through others than the sample said: what they do, and what it said."""
        for operator, promise in self._promises.items():
            seen = self._seen[operator]
            if seen < ENOUGH:
                continue
            rate = self._out[operator] / seen
            nearest = min(max(rate, promise.low), promise.high)
            both = (nearest * promise.rows + self._out[operator]) / (promise.rows + seen)
            spread = max(promise.spread, (both * max(1 - both, 0.0)) ** 0.5)
            if abs(rate - nearest) > SURE * spread * (1 / max(promise.rows, 1.0) + promise.lot / seen) ** 0.5:
                yield operator, rate, nearest

    def _saved(self, rates: Mapping[int, float]) -> float:
        """What the order of merit saves beside the way, where the rates do not depend on each other."""
        merit = {operator: (rate - 1) / self._costs[operator] for operator, rate in rates.items()}
        # A lottery finds the better order within a set by itself.
        way = [operator for one in self._sets for operator in sorted(one, key=merit.__getitem__)]
        return self._spent(way, rates) - self._spent(sorted(way, key=merit.__getitem__), rates)

    def _spent(self, order: Sequence[int], rates: Mapping[int, float]) -> float:
        spent, left = 0.0, 1.0
        for operator in order:
            spent += left * self._costs[operator]
            left *= rates[operator]
        return spent

    def snapshot(self) -> list[Any]:
        """Plain values."""
        rows = [
            [operator, *promise, self._seen[operator], self._out[operator]]
            for operator, promise in self._promises.items()
        ]
        return [list(map(list, self._sets)), rows, list(self._costs), self._window, self.lost]

    @staticmethod
    def restored(state: Sequence[Any]) -> Passing:
        """From a snapshot."""
        sets, rows, costs, window, lost = state
        passing = Passing(sets, {row[0]: Promise(*row[1:-2]) for row in rows}, costs, window)
        for operator, *_, seen, out in rows:
            passing._seen[operator], passing._out[operator] = seen, out
        passing.lost = lost
        return passing


def _promise(outcomes: Floats, left: Floats, one: Sequence[int], operator: int) -> Promise:
    """What an operator of a set makes of what is left of each row when the set's turn comes."""
    made = outcomes[:, operator]
    others = [other for other in one if other != operator]
    before = one[: one.index(operator)]
    rates, rows = [], []
    for some in (some for count in range(len(one)) for some in combinations(others, count)):
        weights = left * outcomes[:, list(some)].prod(axis=1)
        rates.append(_mean(made, weights))
        rows.append(float(np.count_nonzero(weights)))
    weights = left * outcomes[:, list(before)].prod(axis=1)
    usual = _mean(made, weights)
    return Promise(
        low=min(rates),
        high=max(rates),
        usual=usual,
        rows=min(rows),
        spread=float(np.sqrt(_mean((made - usual) ** 2, weights))),
        lot=max(float(weights.sum()) / max(float(np.count_nonzero(weights)), 1.0), 1.0),
    )


def _mean(values: Floats, weights: Floats) -> float:
    """Weighted; 1, which is neither good nor bad, of nothing."""
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total else 1.0
