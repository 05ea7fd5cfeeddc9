"""The account of a stream: what deciding may cost.

Nothing optional happens unless what has been spent on it, and its price, stay within a small share of what the written
order would have cost: samples, duels, controls, learning, more legs. A part of what was saved may be spent as well, and
there is an allowance to begin with: without one nothing could be tried before the first million rows.

Operators count by their fitted prices, so that a slow call decides nothing; planning and learning count by the time for
which the thread was at work. The account itself reads no clock: whoever spends says how much.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CREDIT = 0.5
"""The part of what is saved that may be spent: at worst, half of the gain is lost again."""

KINDS = ("sampling", "duels", "control", "learning")
"""What there is to spend on, beside the rows' own way."""


class Account:
    """Seconds of one stream, or calls where only calls count.

    `regret` is the share of the written order's cost that may be spent, `allowance` what may be spent to begin with.
    Accounts of one `pool` lend each other what they have: a query's time is the sum over its streams.

    >>> account = Account(regret=0.02)
    >>> account.pay_rows(written=100.0, spent=100.0)
    >>> account.allows(1.5), account.allows(2.5)
    (True, False)
    """

    def __init__(self, regret: float, allowance: float = 0.0, pool: list[Account] | None = None) -> None:
        self.regret = regret
        self._pool = [] if pool is None else pool
        self._pool.append(self)
        self.allowance = allowance
        self.written = 0.0
        self.saved = 0.0
        self.optional = dict.fromkeys(KINDS, 0.0)

    @property
    def spent(self) -> float:
        """Everything: the rows' own way, and what was spent besides."""
        return self.written - self.saved + self.spent_besides

    @property
    def spent_besides(self) -> float:
        """What samples, duels, controls and learning have cost."""
        return sum(self.optional.values())

    @property
    def left(self) -> float:
        """What may still be spent from the pool; below 0 where more was spent than was meant to be."""
        return sum(account._own for account in self._pool)

    @property
    def _own(self) -> float:
        """What is left of this account's part of the pool."""
        credit = CREDIT * self.saved if self.saved > 0 else self.saved
        return self.regret * self.written + self.allowance + credit - self.spent_besides

    def allows(self, price: float) -> bool:
        """Tell whether something optional may be bought."""
        return price <= self.left

    def pay_rows(self, written: float, spent: float) -> None:
        """Count rows that went their way: what the written order would have cost, and what they did cost."""
        self.written += written
        self.saved += written - spent

    def pay(self, kind: str, price: float) -> None:
        """Count what was spent besides; a duel that pays for itself costs less than nothing."""
        self.optional[kind] += price

    def fade(self, kept: float) -> None:
        """Let everything so far count less, so that an old gain pays for nothing new."""
        self.written, self.saved, self.allowance = self.written * kept, self.saved * kept, self.allowance * kept
        self.optional = {kind: price * kept for kind, price in self.optional.items()}

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {"written": self.written, "saved": self.saved, "allowance": self.allowance, **self.optional}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.written, self.saved = float(state["written"]), float(state["saved"])
        self.allowance = float(state["allowance"])
        self.optional = {kind: float(state[kind]) for kind in KINDS}
