"""How the rows of a round are dealt out: to the arm in charge, its challenger, and the written order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eddy.contracts import Chance
from eddy.policies.auto.duel import LEAST_PAIRED, Duel
from eddy.policies.auto.ledger import CHALLENGER, CHAMPION, CONTROL, Ledger
from eddy.policies.shared.merit import INSTANT
from eddy.tuples.arrays import Integers

LARGEST_CHALLENGE = 0.5
"""The largest share of a round's rows that go to a challenger, and of the rounds of a duel that are its turn."""

MOST_STARVED = 6
"""Rounds that a challenger waits for what its turn may cost, before it leaves its place to others."""

FEWEST_CHALLENGED = 400
"""Rows of a round that are worth the thinking that they take; or half of the round, if that is less."""

ROWS_OF_A_GLIMPSE = 200
"""Rows of a challenger's first round where an arm is in charge, or where probes wait for others: enough to tell what is
many times as dear, which in a join another order may well be."""

CONTROL_BURST = 150
"""Rows that go in the written order together, so that it is seldom that a round has another leg for them."""

ROUNDS_BETWEEN_CALLS = 8
"""Rounds from one time that rows go in the written order to the next, however much costs change."""

DOUBT = 0.15
"""The standard error of what an arm is hoped to save, before it has shown, as a share of the written order's cost."""

LEAST_FEARED = 0.05
"""The share of the written order's cost by which a challenger may always be dearer than the one in charge."""

NUMBERS = ("control_due", "starved", "turns_ahead", "rounds_since")
"""What a dealer knows between two rounds."""


class Hand(NamedTuple):
    """The rows of a task that go on a lane; None for all."""

    lane: str
    rows: Integers | None


class Dealer:
    """Deals rows out, as far as the account bears it."""

    def __init__(self, ledger: Ledger, control: float) -> None:
        self._ledger = ledger
        self._control = control
        self.control_due = 0.0
        self.turn: str | None = None
        # Turns in a row that a challenger could not have, for what they may cost.
        self.starved = 0
        self.turns_ahead = 0
        # Rounds since some rows went in the written order.
        self.rounds_since = 0

    def call_control(self, rows: int = 0) -> bool:
        """Let the next round have rows in the written order, unless some have had it of late; says whether it will.

        With `rows` it is so many and at once, if the account bears them: an arm that has become far dearer may be a
        hundred times as dear as that order in a join, from one round to the next.
        """
        is_called = (rows > 0 or self.rounds_since >= ROUNDS_BETWEEN_CALLS) and not self._ledger.turns
        if is_called:
            borne = max(self._ledger.account.left, 0.0) / max(self._ledger.in_order, INSTANT)
            self.control_due = max(self.control_due, float(CONTROL_BURST), float(min(rows, int(borne))))
        return is_called

    @property
    def wants_control(self) -> bool:
        """Whether rows are due to go in the written order."""
        return not self._ledger.turns and self.control_due >= CONTROL_BURST

    def let_pass(self, rows: int) -> None:
        """Let rows pass without any of them in the written order, for which others are due later."""
        self.control_due = min(self.control_due + rows * self._control, max(CONTROL_BURST, rows))

    def end_round(self) -> None:
        """Let the next round be dealt anew."""
        self.turn = None
        self.rounds_since += 1

    def deal(
        self, rows: int, duel: Duel | None, extra: float, chance: Chance, *, controlled: bool, independent: bool = True
    ) -> list[Hand]:
        """Deal the rows of a task out.

        `extra` is what a challenger's case costs besides its steps, more than the champion's; `controlled` says that an
        arm is in charge, `independent` that no operator waits for another.
        """
        # A single row cannot be divided, so it is somebody's turn.
        if self._ledger.turns or rows < 2:
            self.turn = self.turn or self._draw_turn(rows, duel, extra, chance, controlled=controlled)
            return [Hand(self.turn, None)]
        challenged = 0 if duel is None else self._count_challenged(rows, duel, extra)
        if duel is not None and not duel.seen and (controlled or not independent):
            challenged = min(challenged, ROWS_OF_A_GLIMPSE)
        self.starved = self.starved + 1 if duel is not None and not challenged else 0
        control = self._count_control(rows) if controlled else 0
        if not challenged + control:
            return [Hand(CHAMPION, None)]
        # Most rows are the champion's, and they are in order already: the others alone are drawn, and sorted.
        drawn = chance().choice(rows, challenged + control, replace=False)
        rest = np.ones(rows, np.bool_)
        rest[drawn] = False
        lanes = ((CHALLENGER, np.sort(drawn[:challenged])), (CONTROL, np.sort(drawn[challenged:])))
        return [Hand(lane, chosen) for lane, chosen in (*lanes, (CHAMPION, rest.nonzero()[0])) if len(chosen)]

    def _draw_turn(self, rows: int, duel: Duel | None, extra: float, chance: Chance, *, controlled: bool) -> str:
        """Draw whose turn the round is."""
        drawn = float(chance().random())
        if duel is None:
            return CONTROL if controlled and drawn < self._control else CHAMPION
        # Turns are drawn in pairs: who comes first is chance, and nobody gets ahead.
        ahead = self.turns_ahead
        if ahead > 0 or (not ahead and drawn >= LARGEST_CHALLENGE):
            self.turns_ahead -= 1
            return CHAMPION
        if self._count_challenged(2 * rows, duel, extra) < rows:
            self.starved += 1
            return CHAMPION
        self.starved = 0
        self.turns_ahead += 1
        return CHALLENGER

    def _count_challenged(self, rows: int, duel: Duel, extra: float) -> int:
        """Count the rows that a challenger may get: as many as the account can bear if it is as bad as is feared."""
        ledger = self._ledger
        gain, error = duel.compare(extra)
        if not np.isfinite(error):
            gain, error = duel.hoped, ledger.in_order * DOUBT
        feared = max(2 * error - gain, LEAST_FEARED * ledger.in_order, INSTANT)
        left = max(ledger.account.left - ledger.arm_price(duel.arm), 0.0)
        count = int(min(rows * LARGEST_CHALLENGE, left / feared))
        # Where only calls count, thinking takes nothing.
        fewest = LEAST_PAIRED if ledger.unit else FEWEST_CHALLENGED
        return count if count and count >= min(fewest, int(rows * LARGEST_CHALLENGE)) else 0

    def _count_control(self, rows: int) -> int:
        """Count the rows that go on in the written order."""
        self.let_pass(rows)
        if self.control_due < CONTROL_BURST and self._ledger.written.cases >= CONTROL_BURST:
            return 0
        count = min(int(self.control_due), rows // 2)
        if count:
            self.control_due -= count
            self.rounds_since = 0
        return count

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {name: getattr(self, name) for name in NUMBERS}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for name in NUMBERS:
            setattr(self, name, state[name])
