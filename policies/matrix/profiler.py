"""Which rows are profiled, when, and at what price.

The thesis (4.3.1) draws every dropped row with probability p. Here rows are drawn as they arrive, which is the same for
those that are dropped, and those that pass cost nothing more; and they are gathered into bursts, since a few rows in
each round would cost their calls every time.

With p = "auto" there is a purse: a share of what rows cost goes in, and a burst is made when it can be paid. So
profiling takes its share and no more, however dear some operators are. When a change shows there is a burst at once, on
credit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from eddy.contracts import Chance, QueryError
from eddy.policies.shared.checks import check_share

AUTO = "auto"

BURST_ROWS = 32
"""Rows of a burst at least."""

FIRST_ROWS = 32
"""Rows of the first burst: nobody knows yet who is dear, and what each is shown for nothing."""

ROWS_WANTED = 128
"""Rows that are profiled at once when nothing is known: enough to tell good orders from bad ones. Of the good ones rows
that take them tell more."""

URGENT_SHARE = 0.25
"""What bursts at once may take of a task, so that a short stream is not for profiling alone."""

CREDIT_ROWS = 100_000
"""Rows whose share of the purse may be spent before it is there: a burst at once is not paid yet when it is needed."""

RENEWAL_SHARE = 0.1
"""What bursts at once may take of what rows have cost since the last change, if there is no credit left: a stream that
changes often pays for it, and one that does seldom hardly does."""

REPAID = 0.5
"""The part of what goes into the purse that pays debts, while there are any. The rest is for bursts now and then, which
alone show changes that the rows' own way does not."""

MOST_SAVED = 3.0
"""Bursts that the purse holds at most: an old stream pays no more for a single look than a young one."""

LEAST = 1e-12
"""Seconds below which a profiled row costs nothing."""


class Cost(NamedTuple):
    """What a row costs in the present order, what a profiled row costs besides, and what a burst does in any case."""

    row: float
    aside: float
    step: float

    def burst(self, rows: float) -> float:
        """Price a burst."""
        return self.step + rows * self.aside


def check_p(p: object, *, where: str) -> None:
    """Refuse what is neither a probability nor "auto"."""
    if p == AUTO:
        return
    try:
        check_share(p, "p", where=where)
    except QueryError:
        raise QueryError(
            f'{where}: p: expected "auto" or a probability above 0 and up to 1, such as 0.01, got {p!r}'
        ) from None


def check_price(price: object, *, where: str) -> None:
    """Refuse what is no share, and everything: who spends all on profiling has nothing to spend it of."""
    if not isinstance(price, int | float) or isinstance(price, bool) or not 0 < price < 1:
        raise QueryError(f"{where}: price: expected a share above 0 and below 1, such as 0.005, got {price!r}")


class Profiler:
    """Says how many rows of a task to profile."""

    def __init__(self, p: float | str, share: float) -> None:
        self._p = None if isinstance(p, str) else float(p)
        self._share = share
        # What may be spent on bursts now and then; what bursts at once have cost and is not paid; what those may take
        # of the rows by now, and since the last change; what rows have cost since then; rows that are due.
        self._purse = self._debt = self._urgent = self._renewal = self._since = self._due = 0.0
        self.wanted = ROWS_WANTED if self.is_auto else 0

    @property
    def is_auto(self) -> bool:
        """Tell whether it goes by what profiling costs."""
        return self._p is None

    def want(self) -> None:
        """Ask for a burst at once: what was known is of a stream that is no more."""
        self.wanted, self._urgent = (ROWS_WANTED if self.is_auto else 0), 0.0
        self._renewal, self._since = RENEWAL_SHARE * self._since, 0.0

    def count(self, rows: int, known: int, cost: Cost, chance: Chance) -> int:
        """Say how many of a task's rows to profile, where so many are in the window."""
        if self._p is None:
            return self._count_affordable(rows, known, cost)
        self._due += float(chance().binomial(rows, self._p))
        if self._due < BURST_ROWS:
            return 0
        count = min(int(self._due), rows)
        self._due -= count
        return count

    def _count_affordable(self, rows: int, known: int, cost: Cost) -> int:
        if cost.row <= 0:
            return 0
        self._since += rows * cost.row
        self._earn(self._share * rows * cost.row, cost)
        if self.wanted and (count := self._count_urgent(rows, known, cost)):
            return count
        count = min(int((self._purse - cost.step) / max(cost.aside, LEAST)), rows)
        if count < min(max(BURST_ROWS, self._enough(cost)), rows):
            return 0
        self._purse -= cost.burst(count)
        return count

    def _earn(self, earned: float, cost: Cost) -> None:
        """Put a share of what rows cost into the purse, and pay debts."""
        repaid = min(REPAID * earned, self._debt)
        self._debt -= repaid
        most = MOST_SAVED * cost.burst(max(BURST_ROWS, self._enough(cost)))
        self._purse = min(self._purse + earned - repaid, most)

    def _count_urgent(self, rows: int, known: int, cost: Cost) -> int:
        # What bursts at once may take is saved up too: a task of few rows would not pay for any.
        self._urgent = min(self._urgent + URGENT_SHARE * rows * cost.row, cost.burst(ROWS_WANTED))
        limit = self._share * CREDIT_ROWS * cost.row
        affordable = min(self._urgent, max(limit - self._debt, self._renewal)) - cost.step
        most = ROWS_WANTED if known else FIRST_ROWS
        count = min(self.wanted, rows, int(affordable / max(cost.aside, LEAST)), most)
        if count < min(FIRST_ROWS, rows, self.wanted):
            return 0
        self.wanted -= count
        price = cost.burst(count)
        self._urgent -= price
        self._renewal = max(self._renewal - price, 0.0)
        self._debt = min(self._debt + price, max(limit, self._debt))
        return count

    def _enough(self, cost: Cost) -> int:
        """Rows of a burst that cost as much as its calls."""
        return int(min(cost.step / max(cost.aside, LEAST), 10 * BURST_ROWS))

    def snapshot(self) -> list[float]:
        """Plain values."""
        return [self._purse, self._debt, self._urgent, self._renewal, self._since, self._due, self.wanted]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a snapshot."""
        self._purse, self._debt, self._urgent, self._renewal, self._since, self._due, wanted = state
        self.wanted = int(wanted)
