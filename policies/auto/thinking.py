"""What an arm costs beside the steps of its own rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eddy.observe.prices import Fit
from eddy.policies.auto.duel import Cost


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
