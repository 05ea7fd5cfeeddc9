"""Watches over what a mesh promised when it was decided.

Section 5.3 of the Query Mesh paper leaves the adaptation to another one; here every way is watched. `Watch` holds what
rows cost against the promise. It uses the prices of operators at the decision, so that it notices other selectivities
and other classes, and not how busy the machine is; and it compares with the promise and not with the last round,
so that it notices a slow drift as well.

`PassCounts` holds what each operator lets through against the sample: costs may stay while another order has become
better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from eddy.observe.statistics import fading
from eddy.tuples.arrays import Floats

ROWS_TO_DOUBT = 200
"""Rows of a way before anything is said about it."""

BREACH_SHARE = 0.1
"""The share of the promise that a mesh may lose: a new sample hardly gains back so little."""

SURE_OF_BREACH = 4.0
"""Standard errors beyond which a difference is not chance: once in some ten thousand looks."""

SURE_OF_CHANGE = 4.0
"""Standard errors beyond which a difference is not chance: once in some ten thousand looks."""

FITTED = 3.0
"""Rows of the sample that count as one where their cost is promised: the routes were chosen because they looked well on
just these rows."""

ROWS_TO_NOTICE = 100
"""Rows that have come to an operator on a way before anything is said about it."""


NOTING_SHARE = 0.005
"""The share of the operators' seconds that may go into taking note of ordinary steps: where rows are cheap beside that,
only some rounds are noted."""

FEWEST_PROMISED = 5
"""Rows of the sample that come to an operator: of fewer nothing can be promised."""


class Noting:
    """Says in which rounds it is noted what steps did: rarely enough that it is hardly noticed.

    Rounds that are not noted have rows like those of the next one that is, which speaks for them too. Where only calls
    count, noting costs nothing.
    """

    def __init__(self) -> None:
        self._seconds = self._unnoted = 0.0

    @property
    def is_due(self) -> bool:
        """Whether the rounds so far have paid for it."""
        return self._seconds >= 0

    def earn(self, seconds: float) -> None:
        """Operators took so long; nothing is saved up, since a round is noted as soon as it may be."""
        self._seconds = min(self._seconds + NOTING_SHARE * seconds, 0.0)

    def pay(self, seconds: float) -> None:
        """It took so long to note something."""
        self._seconds -= seconds

    def pass_by(self, rows: int) -> None:
        """Let rows go without a note."""
        self._unnoted += rows

    def speak_for(self, rows: float) -> float:
        """Say how many times the noted rows count, with those that went before them without a note."""
        spoken = 1 + self._unnoted / rows if rows else 1.0
        self._unnoted = 0.0 if rows else self._unnoted
        return spoken

    def snapshot(self) -> list[float]:
        """Plain values."""
        return [self._seconds, self._unnoted]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a snapshot."""
        self._seconds, self._unnoted = state


class Watch:
    """Recent costs of a row on each way, beside the promised ones.

    `spread` is the standard deviation of what a row costs, `sampled` the rows that each promise is from; a row's weight
    halves every `window` rows.
    """

    def __init__(self, promised: Floats, spread: Floats, sampled: Floats, window: int) -> None:
        self.promised, self._spread, self._sampled = promised, spread, sampled
        self._window = window
        self._rows = np.zeros(len(promised))
        self._cost = np.zeros(len(promised))
        self._all_rows = np.zeros(len(promised))
        self._all_cost = np.zeros(len(promised))

    def count(self, rows: Floats, cost: Floats, spoken: float = 1.0) -> None:
        """Count a round: how many rows set out on each way, and what they cost.

        They speak for so many times as many, of rounds that were not noted.
        """
        kept = fading(rows, self._window)
        self._rows, self._cost = self._rows * kept + rows, self._cost * kept + cost
        self._all_rows, self._all_cost = self._all_rows + spoken * rows, self._all_cost + spoken * cost

    @property
    def spent(self) -> float:
        """The cost of all rows since the decision."""
        return float(self._all_cost.sum())

    @property
    def missed(self) -> float:
        """The cost of all rows beyond the promise, or below it."""
        return float(np.abs(self._all_cost - self._all_rows * self.promised).sum())

    @property
    def observed(self) -> Sequence[float]:
        """The recent cost of a row on each way; NaN where none went."""
        known = np.where(self._rows > 0, self._rows, np.nan)
        return [float(cost) for cost in self._cost / known]

    def find_breach(self) -> int | None:
        """Find the way that breaks its promise most.

        None if all is as promised.
        """
        rows = np.maximum(self._rows, 1.0)
        off = np.abs(self._cost / rows - self.promised)
        chance = SURE_OF_BREACH * self._spread * np.sqrt(1 / rows + FITTED / np.maximum(self._sampled, 1.0))
        beyond = np.where(self._rows >= ROWS_TO_DOUBT, off - np.maximum(BREACH_SHARE * self.promised, chance), 0.0)
        worst = int(beyond.argmax())
        return worst if beyond[worst] > 0 else None

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        parts = (self.promised, self._spread, self._sampled, *self._counts())
        return {"window": self._window, "parts": [part.tolist() for part in parts]}

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Watch:
        """From a snapshot."""
        promised, spread, sampled, *counts = map(np.array, state["parts"])
        watch = Watch(promised, spread, sampled, state["window"])
        watch._rows, watch._cost, watch._all_rows, watch._all_cost = counts
        return watch

    def _counts(self) -> tuple[Floats, ...]:
        return (self._rows, self._cost, self._all_rows, self._all_cost)


class Promise(NamedTuple):
    """The sample's outputs per input of an operator on a way.

    They are of the rows that come to it there. Where a lottery draws the order, other rows come to it each time: `low`
    and `high` are the least and the most over all of them, `usual` is in the written order. `rows` are those of the
    sample that it is from, `spread` is the standard deviation of the outputs, and `lot` says how many tuples each row
    has become by then.
    """

    low: float
    high: float
    usual: float
    rows: float
    spread: float
    lot: float


class PassCounts:
    """Counts what operators let through on a way.

    The weight of a row halves every `window` rows. `sets` are the operators that are watched, in the order of the way,
    and those together that a lottery draws. `lost` is what another order would have saved the rows so far.
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
    ) -> PassCounts:
        """Expect what the rows of the sample did that go this way.

        `known` are the operators that could act on them as they arrived. What comes to those behind another, nobody
        has seen.
        """
        watched: list[Sequence[int]] = []
        promises: dict[int, Promise] = {}
        left = np.ones(len(outcomes))
        for one in sets:
            if not set(one) <= set(known) or np.count_nonzero(left) < FEWEST_PROMISED:
                break
            watched.append(one)
            promises |= {operator: _promise(outcomes, left, one, operator) for operator in one}
            left = left * outcomes[:, list(one)].prod(axis=1)
        return PassCounts(watched, promises, costs.tolist(), window)

    def count(self, operator: int, rows: int, out: float) -> None:
        """Count what an operator made of rows on this way."""
        if operator in self._promises:
            kept = fading(rows, self._window)
            self._seen[operator] = self._seen[operator] * kept + rows
            self._out[operator] = self._out[operator] * kept + out

    def pay(self, rows: float) -> None:
        """A round is over in which so many rows set out on this way."""
        self.lost += rows * self.regret

    @property
    def regret(self) -> float:
        """The saving per row of another order over the former."""
        changed = {operator: rate for operator, rate, _ in self.changes()}
        if not changed:
            return 0.0
        usual = {operator: promise.usual for operator, promise in self._promises.items()}
        return max(self._estimate_saving({**usual, **changed}) - self._estimate_saving(usual), 0.0)

    def changes(self) -> Iterator[tuple[int, float, float]]:
        """Operators that pass another share than the sample said.

        Both figures are given: the recent one and the sample's.
        """
        for operator, promise in self._promises.items():
            seen = self._seen[operator]
            if seen < ROWS_TO_NOTICE:
                continue
            rate = self._out[operator] / seen
            nearest = min(max(rate, promise.low), promise.high)
            both = (nearest * promise.rows + self._out[operator]) / (promise.rows + seen)
            spread = max(promise.spread, (both * max(1 - both, 0.0)) ** 0.5)
            if abs(rate - nearest) > SURE_OF_CHANGE * spread * (1 / max(promise.rows, 1.0) + promise.lot / seen) ** 0.5:
                yield operator, rate, nearest

    def _estimate_saving(self, rates: Mapping[int, float]) -> float:
        """The saving per row by the order of merit, beside the way.

        It takes the rates as independent of each other.
        """
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
    def restore(state: Sequence[Any]) -> PassCounts:
        """From a snapshot."""
        sets, rows, costs, window, lost = state
        passing = PassCounts(sets, {row[0]: Promise(*row[1:-2]) for row in rows}, costs, window)
        for operator, *_, seen, out in rows:
            passing._seen[operator], passing._out[operator] = seen, out
        passing.lost = lost
        return passing


def _promise(outcomes: Floats, left: Floats, one: Sequence[int], operator: int) -> Promise:
    """Work out an operator's promise when its set's turn comes."""
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
