"""Bills and duels: what rows cost on each lane, and which of two is cheaper.

Costs are in fitted prices, the same for all lanes, so that a slow call decides nothing. Where operators are
independent, rows of one round go both ways, and every row is a case; elsewhere whole rounds take turns, and every round
is a case. Rows are compared with those of their own round alone: a stream that changes makes later rows dearer or
cheaper for both sides, and who got more of them is chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eddy.contracts import Policy
from eddy.observe.prices import Fit

SURE = 2.5
"""Standard errors beyond which a difference is believed: each duel is looked at some ten times."""

LEAST_GAIN = 0.01
"""The share of the cost that a challenger must save: less is not worth its state, nor the risk."""

LEAST_ROWS, LEAST_TURNS = 200, 2
"""Cases of each side before anything is said."""

UNLIKE_ROUNDS = 0.05
"""The share by which rounds are taken to be unlike each other at least."""

MOST_ROWS, MOST_TURNS = 6_000, 40
"""Cases of the smaller side after which a duel that is still open is a tie: what is so small, rounding explains."""

HALF_LIFE_ROWS, HALF_LIFE_TURNS = 4_000.0, 16.0
"""Cases after which an older one counts half: who is in charge is held against what rows cost now."""

LEAST_PAIRED, LEVEL_ROWS = 20, 50.0
"""Rows of both sides that rounds of few rows need together to be compared, and rows after which an older one counts
half until there are so many."""

TOO_DEAR = 1.5
"""Times as dear: an arm that costs so much is not waited for."""

LEAST_ROUNDS = 2
"""Rounds in which a challenger must have planned for some rows before it loses, unless it is far too dear: its first
plan is made from what it knew of others' rows."""

LEAST_OF_HOPE = 0.25
"""The part of what was hoped for that a challenger must save where operators were taken not to depend on each other:
less shows that they do, and a sample will tell what is to be had."""

WARM_ROUNDS = 2
"""Rounds in which a challenger may learn before it is judged, if there was no sample to learn from."""

MOST_TRIED = 24
"""Rounds of a trial of its own that a challenger is waited for: a cache takes some to be filled, and ten to be
judged."""

YOUNG_ROUNDS = 4
"""Rounds in which a challenger may think more than it will later, unless it is calm sooner."""

ROWS_OF_A_ROUND = 100
"""Rows of one lane in a round that say what rows of this round cost by it; fewer, and what is usual says it better."""

CHANGED_SHARE, SURELY_CHANGED = 0.15, 4.0
"""The share by which the cost of rows must change for older ones to say nothing of it, and the standard errors that it
must change by: each round is held against those before."""

OPEN, WON, LOST = "open", "won", "lost"


class Trail:
    """How many rows a leg set out with, and what each of those that are left has cost so far."""

    __slots__ = ("price", "rows")

    def __init__(self) -> None:
        self.price = 0.0
        self.rows = 0


class Bill:
    """What the rows of a lane cost in a round: for all, squared and summed, and for calls."""

    __slots__ = ("calls", "rows", "seconds", "squares", "standard", "thinking")

    def __init__(self, standard: Bill | None = None) -> None:
        # What the same rows would have cost if all streams went in the written order.
        self.standard = self if standard is None else standard
        self.rows = 0
        self.seconds = 0.0
        self.squares = 0.0
        self.calls = 0.0
        self.thinking = 0.0

    def pay(self, trail: Trail, rows: int, price: float) -> None:
        """Charge some rows of a leg for a step.

        The rows that a leg has lost on the way paid for the steps before, so the sum of squares grows by what the
        step adds for those that are left: (c + p)^2 - c^2 each. Where rows have become many tuples, each row pays for
        its own: they stand and fall together.
        """
        self.seconds += rows * price
        trail.rows = trail.rows or rows
        if rows > trail.rows > 0:
            rows, price = trail.rows, price * rows / trail.rows
        self.squares += rows * price * (2 * trail.price + price)
        trail.price += price

    def call(self, price: float) -> None:
        """Charge a call, whatever its rows."""
        self.calls += price

    @property
    def total(self) -> float:
        """Rows and calls."""
        return self.seconds + self.calls


@dataclass
class Cost:
    """The cost of a case, with its error; older cases fade.

    >>> side = Cost()
    >>> side.add(100, 200.0, 500.0)
    >>> side.mean, round(side.error, 3)
    (2.0, 0.101)
    """

    half_life: float = HALF_LIFE_ROWS
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    def add(self, cases: float, total: float, squares: float) -> None:
        """Count some cases."""
        self.fade(cases)
        self.sums = [old + new for old, new in zip(self.sums, (cases, total, squares), strict=True)]

    def fade(self, cases: float) -> None:
        """Let some cases pass, of which nobody has counted what they cost or will count it next."""
        kept = 0.5 ** (cases / self.half_life)
        self.sums = [old * kept for old in self.sums]

    @property
    def cases(self) -> float:
        """How many cases it remembers."""
        return self.sums[0]

    @property
    def mean(self) -> float:
        """What a case costs."""
        return self.sums[1] / self.sums[0] if self.sums[0] else 0.0

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.spread / math.sqrt(self.cases - 1) if self.cases > 1 else math.inf

    @property
    def spread(self) -> float:
        """The standard deviation of a case."""
        cases, total, squares = self.sums
        return math.sqrt(max(squares / cases - (total / cases) ** 2, 0.0)) if cases else 0.0


class Thinking:
    """What an arm's planning and learning take of its thread's time, and its calls of operators in a round.

    `waking` are the seconds from when it is built until it has learned for the first time, `arrears` what others have
    to ask about each of its rows.
    """

    def __init__(self) -> None:
        self.planning, self.learning, self.calls = Fit(), Fit(), 0.0
        self.waking = 0.0
        self.arrears = Cost()

    def seconds(self, rows: float) -> float:
        """Seconds of a round with so many rows, besides those of calls."""
        return self.planning.price.seconds(rows) + self.learning.price.seconds(rows)

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [self.planning.snapshot(), self.learning.snapshot(), self.calls, self.waking, self.arrears.sums]

    @staticmethod
    def restore(state: Sequence[Any]) -> Thinking:
        """From a snapshot."""
        thinking = Thinking()
        thinking.planning, thinking.learning = Fit.restore(state[0]), Fit.restore(state[1])
        thinking.calls, thinking.waking = float(state[2]), float(state[3])
        thinking.arrears.sums = list(map(float, state[4]))
        return thinking


def has_changed(newest: Cost, before: Cost) -> bool:
    """Tell whether the rows of a round surely cost something else than those before."""
    if min(newest.cases, before.cases) < ROWS_OF_A_ROUND:
        return False
    off, error = abs(newest.mean - before.mean), math.hypot(newest.error, before.error)
    return off > max(SURELY_CHANGED * error, CHANGED_SHARE * before.mean)


@dataclass
class Pairs:
    """What one side costs more than the other in the same round, over rounds; older ones fade.

    A round weighs as much as it tells, n m / (n + m) for n and m cases: so few of one side tell little, however many
    there are of the other.

    >>> pairs = Pairs()
    >>> pairs.add((10, 20.0, 40.0), (10, 30.0, 90.0)), pairs.add((10, 50.0, 250.0), (90, 540.0, 3240.0))
    (None, None)
    >>> round(pairs.mean, 3)
    1.0
    """

    # The weights, what they weigh, and the squared weights by the cases of either side.
    sums: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0, 0.0])

    def add(self, one: Sequence[float], other: Sequence[float]) -> None:
        """Compare the cases of a round."""
        n, m = one[0], other[0]
        weight, kept = n * m / (n + m), 0.5 ** (n / HALF_LIFE_ROWS)
        new = (weight, weight * (other[1] / m - one[1] / n), weight * weight / n, weight * weight / m)
        fades = (kept, kept, kept * kept, kept * kept)
        self.sums = [old * fade + value for old, fade, value in zip(self.sums, fades, new, strict=True)]

    @property
    def mean(self) -> float:
        """What a case of the other side costs more."""
        return self.sums[1] / self.sums[0] if self.sums[0] else 0.0

    def error(self, one: float, other: float) -> float:
        """The standard error of the mean, where cases of either side have such spreads."""
        weight, _, ones, others = self.sums
        return math.sqrt(one * one * ones + other * other * others) / weight if weight else math.inf


@dataclass
class Duel:
    """A challenger beside the one in charge.

    `turns` says whether whole rounds take turns. `warm` are the rounds that the challenger may still learn in, and in
    which it can only win; `hoped` is what each case was hoped to save, and `glanced`
    says that no sample has shown that.
    """

    arm: str
    turns: bool
    warm: int
    hoped: float
    seen: float = 0.0
    rounds: int = 0
    glanced: bool = False
    # Rounds in which its rows have paid for a trial.
    tried: int = 0
    challenger: Cost = field(default_factory=Cost)
    champion: Cost = field(default_factory=Cost)
    pairs: Pairs = field(default_factory=Pairs)
    # Cases of rounds that only one side had rows in.
    level: tuple[Cost, Cost] = field(default_factory=lambda: (Cost(LEVEL_ROWS), Cost(LEVEL_ROWS)))

    def __post_init__(self) -> None:
        if self.turns:
            self.challenger.half_life = self.champion.half_life = HALF_LIFE_TURNS

    def count(self, challenger: Sequence[float], champion: Sequence[float]) -> None:
        """Count the cases of a round: how many, what they cost, and the squares of that, for both."""
        self.challenger.add(*challenger)
        self.champion.add(*champion)
        self.seen += challenger[0]
        self.rounds += bool(challenger[0] >= (1 if self.turns else LEAST_PAIRED))
        if not self.turns:
            self._pair(challenger, champion)

    def wait_for(self, policy: Policy, *, has_come: bool) -> None:
        """Wait for a challenger that still learns, or whose rows pay for a trial: what they cost is forgotten then."""
        if policy.is_trying and self.tried < MOST_TRIED:
            self.tried, self.warm = self.tried + has_come, WARM_ROUNDS
        elif self.tried and self.warm:
            self.forget()
            self.warm, self.seen = 0, 0.0
        elif policy.is_calm:
            self.warm = 0

    def end_warming(self) -> None:
        """End a round in which the challenger still learned: if it has not won by then, what it cost is forgotten."""
        self.warm -= 1
        if not self.warm:
            self.forget()

    def forget(self) -> None:
        """Begin to compare anew: the challenger has learned by now, or the stream has changed."""
        self.pairs, self.rounds = Pairs(), 0
        for side in (self.challenger, self.champion, *self.level):
            side.sums = [0.0, 0.0, 0.0]

    def _pair(self, challenger: Sequence[float], champion: Sequence[float]) -> None:
        """Compare the rows of a round, or those of rounds that one side had for itself, once there are some of both."""
        if challenger[0] and champion[0]:
            self.pairs.add(challenger, champion)
            return
        for side, cases in zip(self.level, (challenger, champion), strict=True):
            side.add(*cases)
        if min(side.cases for side in self.level) >= LEAST_PAIRED:
            self.pairs.add(*(side.sums for side in self.level))
            for side in self.level:
                side.sums = [0.0, 0.0, 0.0]

    def compare(self, overhead: float) -> tuple[float, float]:
        """What the challenger saves in each case, and the standard error of that.

        `overhead` is what a case costs with it besides, in calls and thinking, more than with the champion.
        """
        if not self.turns:
            is_known = min(self.challenger.cases, self.champion.cases) >= LEAST_PAIRED
            spreads = self.challenger.spread, self.champion.spread
            return self.pairs.mean - overhead, self.pairs.error(*spreads) if is_known else math.inf
        gain = self.champion.mean - self.challenger.mean - overhead
        error = math.hypot(self.champion.error, self.challenger.error)
        if not math.isinf(error):
            # A few rounds may be alike by chance, and say nothing of how unlike the next ones are.
            error = max(error, UNLIKE_ROUNDS * self.champion.mean / math.sqrt(self.challenger.cases))
        return gain, error

    def judge(self, overhead: float, written: float, *, is_young: bool) -> str:
        """Say whether it is won, lost, or open; a tie is lost.

        `written` is what a case costs in the written order. A challenger that is young thinks more than it will later:
        that alone does not lose it the duel.
        """
        least, most = (LEAST_TURNS, MOST_TURNS) if self.turns else (LEAST_ROWS, MOST_ROWS)
        if min(self.challenger.cases, self.champion.cases) < least:
            return OPEN
        gain, error = self.compare(overhead)
        needed = LEAST_GAIN * written
        if gain - SURE * error > 0 and gain > needed:
            return WON
        if self.warm > 0:
            return OPEN
        likely = gain + (overhead if is_young else 0.0) + SURE * error
        if likely < max(needed, LEAST_OF_HOPE * self.hoped * self.glanced) and self._has_shown(gain, overhead):
            return LOST
        return LOST if self.seen >= most else OPEN

    def _has_shown(self, gain: float, overhead: float) -> bool:
        """Tell whether the challenger has planned for rows after it had rows of its own, or is not waited for."""
        if self.turns or self.rounds >= LEAST_ROUNDS:
            return True
        usual = self.challenger.mean + gain + overhead
        return self.challenger.mean + overhead > TOO_DEAR * usual

    def tell(self, overhead: float, written: float, champion: str | None) -> str:
        """Tell what it has shown, against whom."""
        gain, error = self.compare(overhead)
        share, compared = f"± {error / written:.0%} of the written order", "rounds" if self.turns else "rows"
        told = f"saves {gain / written:.0%} {share}" if gain >= 0 else f"costs {-gain / written:.0%} {share} more"
        than = "" if champion is None else f", held against {champion}"
        return f"{self.arm} {told}{than}, {self.seen:,.0f} {compared} compared"

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        numbers = [self.turns, self.warm, self.hoped, self.seen, self.rounds, self.glanced, self.tried]
        sides = [self.challenger.sums, self.champion.sums, *(side.sums for side in self.level)]
        return {"arm": self.arm, "numbers": numbers, "sides": sides, "pairs": self.pairs.sums}

    @staticmethod
    def restore(state: dict[str, Any]) -> Duel:
        """From a snapshot."""
        turns, warm, hoped, seen, rounds, glanced, tried = state["numbers"]
        duel = Duel(str(state["arm"]), bool(turns), int(warm), float(hoped), float(seen), int(rounds))
        duel.glanced, duel.tried = bool(glanced), int(tried)
        for side, sums in zip((duel.challenger, duel.champion, *duel.level), state["sides"], strict=True):
            side.sums = list(map(float, sums))
        duel.pairs.sums = list(map(float, state["pairs"]))
        return duel
