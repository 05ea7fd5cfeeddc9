"""Guards of arms that are in charge: each has to stay cheaper than the written order, and so have all of them together.

An arm is held against the written order beside the arms of the other streams. So each may be better than going back
alone, and all be worse together than if all went back: rows in the written order ask what the arms of others have left.
The accounts of all streams tell, as each question is paid for once in them, and the standard has none too many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from eddy.contracts import Statistic
from eddy.policies.auto.duel import HALF_LIFE_TURNS, SURE, TOO_DEAR, Cost, has_changed
from eddy.policies.shared.account import Account

UNUSUAL_SHARE = 0.25
"""The share by which a round's cost must be off for the written order to be asked at once."""

QUIET_ROUNDS = 3
"""Rounds of an arm in charge of which nobody counts the cost, between two of which somebody does."""

LARGE_ROUND = 8_000
"""Rows of a round that is not divided as soon as control is due: that costs more than the rows of the control do."""

QUIET_AFTER_ROWS, QUIET_AFTER_TURNS = 2_000, 4
"""Cases of an arm before it gets rounds in which nobody counts what it costs."""

LEAST_ROUNDS = 8.0
"""Rounds before anything is said of all streams together: some have a control, or settle what several have cost."""

LEAST_CASES, LEAST_TURNS = 50, 2
"""Cases of each side before anything is said: rows, or rounds."""


@dataclass
class ArmGuard:
    """The arm in charge, beside the rows that go on in the written order."""

    turns: bool
    arm: Cost = field(default_factory=Cost)
    last: Cost = field(default_factory=Cost)
    # Cases that were counted; of those that `arm` remembers older ones fade, also while nobody counts.
    seen: float = 0.0
    # What the steps of a quiet round have taken so far, and whether the last one took far more than is usual.
    glimpsed: float = 0.0
    is_alarmed: bool = False
    # Whether the last round that somebody counted cost far more than was usual before it.
    has_risen: bool = False

    def __post_init__(self) -> None:
        if self.turns:
            self.arm.half_life = HALF_LIFE_TURNS

    def may_be_quiet(self, rows: int, rounds: int, *, is_due: bool) -> bool:
        """Tell whether the arm gets a round with nobody counting, which costs some time in every step.

        `rounds` are those that have been quiet since one was not; `is_due` says that some rows should be control.
        """
        if self.is_alarmed or rounds >= QUIET_ROUNDS or (is_due and rows < LARGE_ROUND):
            return False
        return self.seen >= (QUIET_AFTER_TURNS if self.turns else QUIET_AFTER_ROWS)

    def glimpse(self, statistics: Sequence[Statistic], *, unit: bool) -> None:
        """Take note of a step of a quiet round: what it took by the clock, or its calls where these alone count."""
        self.glimpsed += sum([one.rows_in if unit else one.seconds for one in statistics])

    def end_quiet(self, rows: int, calls: float) -> None:
        """End a quiet round; one that took far more than is usual is the last, and somebody counts in the next.

        In a join an order may become a hundred times as dear from one round to the next. `calls` are the seconds of a
        round's calls, which are no part of what a row costs.
        """
        self.is_alarmed = self.glimpsed > TOO_DEAR * (self.arm.mean * rows + calls)
        self.glimpsed = 0.0
        self.arm.fade(1 if self.turns else rows)

    def count(self, cases: Sequence[float]) -> bool:
        """Count the cases of a round: how many, what they cost, and the squares of that.

        Says whether they cost far from what is usual: then the written order may cost something else as well.
        """
        if not cases[0]:
            return False
        usual, self.is_alarmed = self.arm.mean, False
        self.last = Cost()
        self.last.add(*cases)
        self.has_risen = bool(usual) and self.last.mean > TOO_DEAR * usual
        if not self.turns and has_changed(self.last, self.arm):
            # Windows fill up, or the stream has changed.
            self.arm.sums = [0.0, 0.0, 0.0]
        self.arm.add(*cases)
        self.seen += cases[0]
        return bool(usual) and abs(self.last.mean - usual) > UNUSUAL_SHARE * usual

    def forget(self) -> None:
        """Forget all rounds but the last: the written order costs something else since then."""
        self.arm.sums, self.seen = list(self.last.sums), self.last.cases

    def saves(self, overhead: float, written: Cost) -> tuple[float, float]:
        """What a case saves by the arm, and the standard error of that."""
        return written.mean - self.arm.mean - overhead, math.hypot(self.arm.error, written.error)

    def fails(self, overhead: float, written: Cost, *, is_asked: bool = False) -> bool:
        """Tell whether the arm has to go.

        `overhead` is what a case costs with it besides, more than in the written order; `is_asked` says that rows are
        about to tell what that costs by now.
        """
        if min(self.arm.cases, written.cases) < (LEAST_TURNS if self.turns else LEAST_CASES):
            return False
        gain, error = self.saves(overhead, written)
        # A single round counts as far too dear only if its own rows say so: a few dear ones may be chance.
        doubt = 0.0 if self.turns or math.isinf(self.last.error) else SURE * self.last.error
        is_too_dear = self.last.mean + overhead - doubt > TOO_DEAR * written.mean
        return is_too_dear or (gain < -SURE * error and not is_asked)

    def tell(self, overhead: float, written: float) -> str:
        """Tell what an arm that has to go costs: on the whole, or in its last round if only that was too dear."""
        if self.arm.mean + overhead <= written:
            return f"cost {(self.last.mean + overhead) / written:.2f} times the written order in its last round"
        return f"costs {(self.arm.mean + overhead) / written:.2f} times the written order"

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        sums = {"arm": self.arm.sums, "last": self.last.sums}
        return {"turns": self.turns, **sums, "alarmed": self.is_alarmed, "risen": self.has_risen, "seen": self.seen}

    @staticmethod
    def restore(state: dict[str, Any]) -> ArmGuard:
        """From a snapshot."""
        guard = ArmGuard(bool(state["turns"]))
        guard.arm.sums, guard.last.sums = list(map(float, state["arm"])), list(map(float, state["last"]))
        guard.is_alarmed, guard.has_risen = bool(state["alarmed"]), bool(state["risen"])
        guard.seen = float(state["seen"])
        return guard


class WholeGuard:
    """What all streams save in a round, while arms are in charge.

    >>> guard, account = WholeGuard(), Account(0.02)
    >>> for spent in (1.2, 1.1, 1.3) * 4:
    ...     account.pay_rows(written=1.0, spent=spent); guard.count([account])
    >>> guard.fails
    True
    """

    def __init__(self) -> None:
        self._saved = Cost(HALF_LIFE_TURNS)
        self._before = 0.0

    def forget(self, accounts: Sequence[Account]) -> None:
        """Forget everything: nobody is in charge."""
        self._saved.sums, self._before = [0.0, 0.0, 0.0], _sum_up(accounts)

    def count(self, accounts: Sequence[Account]) -> None:
        """Count what all accounts have saved in a round."""
        saved, self._before = _sum_up(accounts) - self._before, _sum_up(accounts)
        self._saved.add(1.0, saved, saved * saved)

    @property
    def fails(self) -> bool:
        """Whether arms surely lose more on all streams together than they save."""
        return self._saved.cases >= LEAST_ROUNDS and self._saved.mean < -SURE * self._saved.error

    def snapshot(self) -> list[float]:
        """Plain values."""
        return [*self._saved.sums, self._before]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a snapshot."""
        *self._saved.sums, self._before = map(float, state)


def _sum_up(accounts: Sequence[Account]) -> float:
    """Sum up what was saved, less what must be spent for it: the control, and thinking."""
    return float(sum(one.saved - one.optional["control"] - one.optional["learning"] for one in accounts))
