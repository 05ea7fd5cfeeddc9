"""What the courses of all streams share, and what they ask each other for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eddy.classes.classifier import Features
from eddy.contracts import Hop, Policy, Statistics
from eddy.observe.prices import Prices
from eddy.policies.auto.arms import Arm
from eddy.policies.auto.charges import Charges
from eddy.policies.auto.guard import WholeGuard
from eddy.policies.auto.ledger import Ledger
from eddy.policies.caching.joined import Caching, find_saving
from eddy.policies.shared.account import Account

LONGEST_THOUGHT = 5.0
"""Seconds that an arm may have thought at once: more is a clock that was set, or a machine that slept."""


class Challenge(NamedTuple):
    """A duel that may begin: with whom, what is hoped to be saved in each case, and in a usual round."""

    arm: str
    hoped: float
    stake: float


@dataclass(frozen=True)
class Conduct:
    """What the courses of all streams share.

    `arms` says of each arm, in the order in which they are tried, whether it tells rows apart. `build` makes an arm for
    a stream that may spend what is left of its account. `judged` has the stream of each filter that is asked once about
    each of its rows: what one stream's rows are asked spares those of others the question. `caching` says
    which arms place caches, and which there are.
    """

    written: Policy
    arms: Mapping[str, bool]
    features: Features
    build: Callable[[str, str, float], Arm]
    prices: Prices
    clock: Callable[[], float]
    accounts: list[Account]
    regret: float
    control: float
    unit: bool
    cells: int
    judged: Mapping[str, str]
    caching: Caching
    ledgers: list[Ledger] = field(default_factory=list)
    whole: WholeGuard = field(default_factory=WholeGuard)

    def open_ledger(self, stream: str) -> Ledger:
        """Open a stream's ledger, among those of all streams."""
        charges = Charges(self.prices, unit=self.unit, stream=stream, judged=self.judged)
        account = Account(self.regret, pool=self.accounts)
        return Ledger(account, self.prices, unit=self.unit, pool=self.ledgers, charges=charges)

    def would_mix(self, champion: str, challenger: str) -> bool:
        """Whether tuples of both would come back to be planned for, and nobody could tell whose they are."""
        return self.arms.get(champion, False) and self.arms[challenger]

    def find_joined(self, route: Sequence[Hop], ledger: Ledger, statistics: Statistics) -> float:
        """Find the share of the written order's cost that caches may save, where some arm places them."""
        if not self.caching.arms:
            return 0.0
        prices = dict(zip(route, ledger.row_prices(route), strict=True))
        return find_saving(route, prices, statistics, self.prices.probes, self.caching.options)

    def measure(self, started: float) -> float:
        """Measure the time since then, by a clock that may stand still, go back, or jump."""
        return min(max(self.clock() - started, 0.0), LONGEST_THOUGHT)
