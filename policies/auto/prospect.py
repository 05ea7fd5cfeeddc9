"""Prospects: what there may be to gain on a stream, who could gain it, and when to try again."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import Statistics
from eddy.policies.auto.deal import DOUBT, LEAST_FEARED
from eddy.policies.auto.duel import LEAST_GAIN, LEAST_TURNS
from eddy.policies.auto.ledger import Ledger
from eddy.policies.auto.sample import SAMPLE_ROWS, TriedRows
from eddy.policies.auto.screen import Found, screen
from eddy.policies.shared.merit import INSTANT
from eddy.tuples import Hop

FIRST_WAIT, MOST_DOUBLINGS = 20_000, 4
"""Rows until what was not worth it is tried again; it doubles so often each time that it was not."""

SHORTEST_WAIT = 4_000
"""Rows that an arm waits at least, however little its duel has cost, and from one sample to the next."""

FEW_GLANCED, SURE_GLANCED, LEAST_GLANCED = 100, 2.0, 0.05
"""Rows that an operator must have seen for its place to be doubted without a sample, the standard errors by which it
is taken to let more rows pass than it did, and the share of the written order's cost that another order must save."""

HOPE = 0.25
"""The part of what is left above the floor that a policy is hoped to gain, where the screen found less: it looks at one
attribute at a time."""

HOPE_OF_KEYS = 0.6
"""The part of what look-ups may save in the place of probes that caches are hoped to gain: keys come again, or not."""

MUCH_OF_MOST = 0.5
"""The part of what the most promising arm may save that another one has to promise to come before it."""

UNSEEN = Found(1.0, 1.0, 1.0, 0.0, 0.0)
"""What is taken to be found where a sample cannot be had: nothing, and everything may be hoped for."""

NUMBERS = ("next_sample", "patience", "sampled", "wanted", "glanced", "joined")


class Prospect:
    """What the last sample said, and who waits until when.

    `tellers` has the arms, in the order in which they are tried, and whether they tell rows apart; those in `joining`
    take one look-up for several probes.
    """

    def __init__(self, ledger: Ledger, tellers: Mapping[str, bool], joining: Collection[str] = ()) -> None:
        self._ledger = ledger
        self._tellers, self._joining = tellers, frozenset(joining)
        self.found: Found | None = None
        # The last sample, for arms to learn from.
        self.lesson: TriedRows | None = None
        # For each arm that lost: the row of the stream until which it waits, and how many rows that were.
        self.waits: dict[str, list[float]] = {}
        # The row from which on there may be a sample; samples in vain; the row at which the last one was over; and the
        # price of something that is worth it, and that the account does not bear yet.
        self.next_sample, self.patience, self.sampled = 0, 0, 0
        self.wanted = 0.0
        # The share that another order may save by what rows show on their way; good until there is a sample.
        self.glanced = 0.0
        # The share that look-ups may save in the place of probes.
        self.joined = 0.0

    def begin_anew(self, rows: int) -> None:
        """Forget what was found: the stream has changed, if only as a window fills up."""
        self.found = self.lesson = None
        soonest = self.sampled + SHORTEST_WAIT if self.sampled else rows
        self.patience, self.waits, self.next_sample, self.glanced = 0, {}, max(rows, soonest), 0.0

    def glance(self, route: Sequence[Hop], statistics: Statistics) -> None:
        """See what the rows of an idle stream show on their way: whether another order may save much.

        They show what operators make of the rows that come to them in the written order. That says as much as a sample
        where operators do not depend on each other, and costs nothing; where they do, the duel will tell.
        """
        self.glanced = 0.0
        if self.found is not None:
            return
        costs = self._ledger.row_prices(route)
        seen = [statistics[hop] for hop in route]
        rates = [one.rate for one in seen]
        errors = [math.sqrt(max(p * (1 - p), 0.0) / max(one.rows_in, 1.0)) for p, one in zip(rates, seen, strict=True)]
        likely = [
            min(p + SURE_GLANCED * error, 1.0) if one.rows_in >= FEW_GLANCED else 1.0
            for p, error, one in zip(rates, errors, seen, strict=True)
        ]
        places = sorted(range(len(route)), key=lambda place: (likely[place] - 1) / costs[place])
        written = _price_order(range(len(route)), rates, costs)
        other = _price_order(places, [max(pair) for pair in zip(rates, likely, strict=True)], costs)
        saved = 1 - other / max(written, INSTANT)
        self.glanced = saved if saved >= LEAST_GLANCED else 0.0

    def postpone(self, arm: str, rows: int, lost: float = 0.0) -> int:
        """Let an arm wait, each time twice as long as before; says for how many rows.

        The first time it waits until what it has `lost` is the share that may be spent of what has come since.
        """
        row = max(self._ledger.in_order, INSTANT)
        first = min(max(lost / (self._ledger.account.regret * row), SHORTEST_WAIT), FIRST_WAIT)
        wait = 2 * self.waits[arm][1] if arm in self.waits else first
        wait = min(wait, FIRST_WAIT * 2**MOST_DOUBLINGS)
        self.waits[arm] = [rows + wait, wait]
        return int(wait)

    def postpone_sample(self, rows: int) -> int:
        """Let the next sample wait, each time twice as long unless something came of the last; says for how long."""
        wait = FIRST_WAIT * int(2 ** min(self.patience, MOST_DOUBLINGS))
        self.next_sample, self.patience = rows + wait, self.patience + 1
        return wait

    def price_sample(self, hops: tuple[Hop, ...], current: float, attributes: int, rows: int) -> float | None:
        """Price a sample and the look at it; None where nothing that it may show is worth it.

        That is a policy's thinking in each round, and the sample itself within as many rows as there have been.
        """
        prices = self._ledger.row_prices(hops)
        most = current - min(prices)
        if most * self._ledger.usual <= self._ledger.least_thinking:
            return None
        price = max(SAMPLE_ROWS * (sum(prices) - current), 0.0) + self._ledger.screening_price(attributes)
        return price if most * max(rows, FIRST_WAIT) > price else None

    def buy_sample(self, hops: tuple[Hop, ...], current: float, attributes: int, rows: int, *, has_arm: bool) -> bool:
        """Tell whether a sample is worth its price, and the account bears it."""
        if (price := self.price_sample(hops, current, attributes, rows)) is None:
            self.postpone_sample(rows)
            return False
        # Rows of an arm that saves much are cheap beside those of a sample: it comes the more seldom.
        share = self._ledger.account.regret * current * (rows - self.sampled)
        return not (has_arm and self.sampled and price > share) and self.buy(price)

    def buy(self, price: float) -> bool:
        """Tell whether the account bears something; if not, it is saved up for."""
        bears = self._ledger.account.allows(price)
        self.wanted = 0.0 if bears else price
        return bears

    def count_saving_rows(self, least: int, most: int) -> int:
        """Count the rows until the account may bear what is wanted."""
        ledger = self._ledger
        each = ledger.account.regret * (ledger.in_order + ledger.row_calls / max(ledger.usual, 1))
        return int(min(max((self.wanted - ledger.account.left) / max(each, INSTANT), least), most))

    def count_owing_rows(self) -> int:
        """Count the rows of which the share that may be spent pays for all that was learned so far."""
        account = self._ledger.account
        return int(account.optional["learning"] / max(account.regret * self._ledger.in_order, INSTANT))

    def look(self, sample: TriedRows, rows: int) -> Found:
        """See what a sample says."""
        ledger = self._ledger
        costs = np.array(ledger.row_prices(sample.hops))
        least = ledger.least_thinking / ledger.usual
        # The same sample is halved in the same way whenever it is looked at.
        self.found = screen(sample.outcomes, sample.buckets, costs, np.random.default_rng(rows), least)
        self.lesson, self.sampled, self.glanced = sample, rows, 0.0
        self.postpone_sample(rows)
        return self.found

    def give_up_sampling(self, rows: int) -> None:
        """Hope without a sample: rows come to one operator first, and it would show nothing of those behind it."""
        self.found, self.lesson, self.glanced = UNSEEN, None, 0.0
        self.postpone_sample(rows)

    def list_challengers(self, champion: str, current: float, rows: int) -> Iterator[tuple[str, float, float]]:
        """List the arms that may save enough: their names, what they may save in each case, and their price."""
        if self.found is None and not self.glanced:
            return
        ledger, in_order = self._ledger, max(self._ledger.in_order, INSTANT)
        found: list[tuple[float, tuple[str, float, float]]] = []
        for name, tells_classes in self._tellers.items():
            if name == champion or self.waits.get(name, [0])[0] > rows:
                continue
            hoped = self._hope(current / in_order, tells_classes=tells_classes) * in_order
            if name in self._joining:
                hoped = max(hoped, (HOPE_OF_KEYS * self.joined + current / in_order - 1) * in_order)
            each = ledger.arm_price(name, tells_classes=tells_classes)
            once = ledger.waking_price(name, tells_classes=tells_classes)
            # What it may save until it would be tried again has to be more than what it takes.
            saved = hoped - each / ledger.usual
            if saved > LEAST_GAIN * in_order and saved * FIRST_WAIT > once:
                found.append((saved, (name, hoped, each + once + self._price_turns(hoped, in_order))))
        most = max((saved for saved, _ in found), default=0.0)
        # The order of the arms counts among those that may save much: a duel for little keeps another one waiting.
        yield from (one for _, one in sorted(found, key=lambda pair: pair[0] < MUCH_OF_MOST * most))

    def _price_turns(self, hoped: float, in_order: float) -> float:
        """What the rounds may cost that a duel in turns needs at least, if it goes as ill as is feared."""
        if not self._ledger.turns:
            return 0.0
        feared = max(2 * DOUBT * in_order - hoped, LEAST_FEARED * in_order)
        return LEAST_TURNS * self._ledger.usual * feared

    def _hope(self, now: float, *, tells_classes: bool) -> float:
        """The share of the written order's cost that an arm may save, beside what is saved now."""
        found = self.found
        if found is None:
            return 0.0 if tells_classes else self.glanced + now - 1
        single = now - found.single / found.written
        if not tells_classes:
            return single
        beyond = max(now - found.floor / found.written, 0.0)
        return max(single, now - found.classes / found.written, HOPE * beyond)

    def snapshot(self) -> dict[str, Any]:
        """Plain values; the sample is apart, as it has arrays."""
        found = None if self.found is None else list(self.found)
        return {"found": found, "waits": self.waits, **{name: getattr(self, name) for name in NUMBERS}}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.found = None if state["found"] is None else Found(*state["found"])
        self.waits = {name: list(wait) for name, wait in state["waits"].items()}
        for name in NUMBERS:
            setattr(self, name, state[name])


def _price_order(places: Sequence[int], rates: Sequence[float], costs: Sequence[float]) -> float:
    """What a row costs in an order, if operators do not depend on each other."""
    left, spent = 1.0, 0.0
    for place in places:
        spent += left * costs[place]
        left *= rates[place]
    return spent
