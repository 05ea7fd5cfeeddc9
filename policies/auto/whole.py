"""The guard of all streams together, where what one leaves unasked others ask.

An arm is held against the written order beside the arms of the other streams. So all may be better than going back alone,
and together worse than if all went back: each stream's rows in the written order ask what the others have left. The
accounts of all streams together tell, as each question is paid for once in them, and the standard has none too many.
"""

from __future__ import annotations

from collections.abc import Sequence

from eddy.policies.auto.duel import HALF_LIFE_TURNS, SURE, Cost
from eddy.policies.shared.account import Account

LEAST_ROUNDS = 8.0
"""Rounds before anything is said: some of them have a control, or settle what several have cost."""


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
