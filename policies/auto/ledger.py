"""The ledger of a stream: what rows cost as they are routed, and what they would cost in the written order.

Operators count by their fitted prices, and so do calls and the router's own work; planning and learning count by the
clock. Where only calls count (`costs = "unit"`), a call costs 1, and nothing else costs anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import Statistics
from eddy.observe.prices import ALONE, SHARED, Fit, Prices
from eddy.policies.auto.arms import Arm
from eddy.policies.auto.charges import Charges
from eddy.policies.auto.duel import (
    CHANGED_SHARE,
    HALF_LIFE_ROWS,
    HALF_LIFE_TURNS,
    ROWS_OF_A_ROUND,
    Bill,
    Cost,
    Thinking,
    has_changed,
)
from eddy.policies.auto.guard import ArmGuard
from eddy.policies.auto.sample import SAMPLE_ROWS
from eddy.policies.shared.account import Account
from eddy.policies.shared.merit import INSTANT
from eddy.tuples import Hop

USUAL_THINKING = 150e-6
"""Seconds that an arm takes in a round to plan and learn, before it has shown: the quickest one takes about as much."""

USUAL_WAKING = 5e-3
"""Seconds that an arm that tells rows apart takes to begin, before it has shown."""

USUAL_SCREENING = 1e-3
"""Seconds that dividing a sample and looking at it take by each attribute, and by none, before it has shown."""

SELDOM = 0.1
"""The share of rounds in which an arm that tells no rows apart has a leg more, to explore, before it has shown."""

MIXING_SHARE = 0.05
"""The share of a row's cost that dealing rows out to several legs may take; beyond it, whole rounds take turns."""

CHEAP_ROW = 2e-6
"""Seconds of a row below which dealing out is taken to be dear, before it has been seen."""

ROUNDS_AHEAD = 8
"""Rounds of 100,000 rows: a look that is further off does not come within a micro-batch, however it is cut."""

FIRST_LOOK, LATEST_LOOK = 500, 40_000
"""Rows between two looks at an idle stream: at first soon, later seldom, since each look takes some steps in Python."""

NEWEST_WEIGHT = 0.2
"""The weight of the newest round in what is usual."""

CHAMPION, CHALLENGER, CONTROL, SAMPLE = "champion", "challenger", "control", "sample"
"""The lanes: of who is in charge, of who is in a duel with it, of the written order, and of a sample."""

NUMBERS = ("calls", "usual", "counted", "idle_rows", "idle_rounds", "quiet_rows", "quiet_rounds", "row", "row_calls")


class Ledger:
    """What a stream's rows cost.

    `turns` says whether whole rounds are compared: then a case is a round, and its cost is that of a row in it, calls
    included. Otherwise a case is a row, and calls count by the round. `written` is the standard, what cases cost if all
    streams go in the written order; `beside` is what they do cost in that order beside the arms of others.
    """

    def __init__(
        self,
        account: Account,
        prices: Prices,
        *,
        unit: bool,
        pool: list[Ledger] | None = None,
        charges: Charges | None = None,
    ) -> None:
        self.account = account
        self.prices = prices
        self.unit = unit
        # Those of all streams: what an arm has shown on one of them is what is known of it on the others.
        self._others = [] if pool is None else pool
        self._others.append(self)
        self.charges = charges or Charges(prices, unit=unit, stream="", judged={})
        self.turns = False
        self.written = Cost()
        self.beside = Cost() if self.charges.arrears.judges else self.written
        # Whether the last round has shown that the written order costs something else by now.
        self.has_changed = False
        self.calls = self.usual = 0.0
        self.thinking: dict[str, Thinking] = {}
        self.screening = Fit()
        self.bookkeeping = 0.0
        # Rows and rounds in which an arm was in charge and nobody counted, and what a row cost when somebody last did.
        self.quiet_rows, self.quiet_rounds, self.counted = 0, 0, 0.0
        # An idle stream is settled now and then: rows and rounds since, and what a row and a round's calls cost then.
        self.idle_rows, self.idle_rounds, self.row, self.row_calls = 0, 0, 0.0, 0.0

    def choose_turns(self, row: float, hops: int) -> None:
        """Choose between rows of the same rounds and rounds in turns, where a row costs so much."""
        mixing = self.prices[SHARED].row * hops
        is_dear = mixing > MIXING_SHARE * row if mixing else row < CHEAP_ROW
        turns = is_dear and not self.unit
        if turns != self.turns:
            self.turns = turns
            self.forget_written()

    def think(self, arm: Arm) -> Thinking:
        """What is known of an arm's thinking."""
        return self.thinking.setdefault(arm.name, Thinking())

    def row_prices(self, hops: Sequence[Hop]) -> list[float]:
        """What a row costs at each operator, the router's own work included."""
        if self.unit:
            return [1.0] * len(hops)
        own, prices = self.prices[ALONE].row, {hop: self.prices[hop] for hop in hops}
        asked = (self.charges.arrears.find_work(hop, prices[hop].load) for hop in hops)
        return [max(prices[hop].unit * work + own, INSTANT) for hop, work in zip(hops, asked, strict=True)]

    def current(self, champion: Arm | None, guard: ArmGuard) -> float:
        """What a case costs as it is routed now."""
        if champion is not None and guard.arm.cases:
            return guard.arm.mean
        return self.beside.mean if self.beside.cases else self.row

    @property
    def in_order(self) -> float:
        """What a case costs in the written order."""
        return self.written.mean if self.written.cases else self.row

    def cases(self, bill: Bill | None) -> tuple[float, float, float]:
        """The cases of a lane: how many, what they cost, and the squares of that."""
        if bill is None or not bill.rows:
            return (0.0, 0.0, 0.0)
        if not self.turns:
            return (bill.rows, bill.seconds, bill.squares)
        row = bill.total / bill.rows
        return (1.0, row, row * row)

    def extra(self, arm: Arm | None) -> float:
        """What a case costs by an arm besides its steps: more than in the written order, in calls and thinking."""
        if arm is None or self.unit or not self.usual:
            return 0.0
        thinking = self.think(arm)
        calls = 0.0 if self.turns else thinking.calls - self.calls
        return (thinking.seconds(self.usual) + calls) / self.usual + thinking.arrears.mean

    def arm_price(self, name: str, *, tells_classes: bool = True) -> float:
        """What a round takes with an arm besides its rows: planning, learning, and calls for more legs.

        Before it has shown on this stream, it is what it was on others; and before that, one leg more, which an arm
        that tells no rows apart has in few rounds.
        """
        if self.unit:
            return 0.0
        known, calls = self.thinking.get(name), self.calls or self.row_calls
        if known is not None:
            return known.seconds(self.usual) + max(known.calls - calls, 0.0)
        shown = [other.arm_price(name) for other in self._others if name in other.thinking]
        return max(shown) if shown else USUAL_THINKING + calls * (1.0 if tells_classes else SELDOM)

    def waking_price(self, name: str, *, tells_classes: bool) -> float:
        """What it takes to wake an arm."""
        if self.unit:
            return 0.0
        known = self.thinking.get(name)
        return (USUAL_WAKING if tells_classes else 0.0) if known is None else known.waking

    @property
    def least_thinking(self) -> float:
        """What any policy takes in a round."""
        return 0.0 if self.unit else USUAL_THINKING

    def screening_price(self, attributes: int) -> float:
        """What it takes to divide a sample and to look at it."""
        looks = 1 + attributes
        return 0.0 if self.unit else max(self.screening.price.seconds(looks), USUAL_SCREENING * looks)

    def pay_thinking(self, kind: str, seconds: float) -> None:
        """Count what was thought: nothing where only calls count."""
        if not self.unit:
            self.account.pay(kind, seconds)

    def pay_screening(self, looks: int, seconds: float) -> None:
        """Count dividing and looking at a sample, and note what each attribute of it takes."""
        self.screening.add(looks, looks, seconds)
        self.pay_thinking("sampling", seconds)

    def note_round(self, rows: int) -> None:
        """Note the rows of a round."""
        self.usual = _follow(self.usual, rows)

    def is_time_to_look(self, look: int) -> bool:
        """Tell whether an idle stream is to be looked at: after so many rows, and not each of few large rounds."""
        return self.idle_rows >= look and self.idle_rounds >= look // FIRST_LOOK

    def is_look_near(self, look: int, *, saves: bool) -> bool:
        """Tell whether a large micro-batch is to be cut, so that the next look comes within it.

        A stream that saves up may have enough before the micro-batch is over.
        """
        if not saves:
            return self.is_time_to_look(look)
        return self.idle_rounds + ROUNDS_AHEAD >= look // FIRST_LOOK

    def settle_idle(self, route: Sequence[Hop], statistics: Statistics, attributes: int, cells: int) -> float:
        """Write down idle rows at what they cost by all that has been seen; gives the share by which that changed.

        All `cells` of a query together have the allowance of one sample: of its rows, and of a look at them by so many
        `attributes`, unless that takes more than the rows do.
        """
        former, row, calls, left, prices = self.row, 0.0, 0.0, 1.0, self.row_prices(route)
        for hop, price in zip(route, prices, strict=True):
            row += left * price
            calls += 0.0 if self.unit else self.prices[hop].step + self.prices[ALONE].step
            left *= statistics[hop].rate
        self.usual = self.idle_rows / self.idle_rounds
        if not former:
            sample = SAMPLE_ROWS * sum(prices)
            self.account.allowance = (sample + min(sample, self.screening_price(attributes)) + calls) / cells
        self.row, self.row_calls = row, calls
        known = row + (calls / self.usual if self.turns else 0.0)
        if abs(known - self.written.mean) > CHANGED_SHARE * self.written.mean:
            # What was compared long ago says nothing of rows as they are now.
            self.forget_written()
        self.account.pay_rows(self.unsettled, self.unsettled + self.charges.arrears.settle_idle())
        self.charges.end_round()
        self.idle_rows = self.idle_rounds = 0
        return abs(row - former) / former if former else 0.0

    @property
    def unsettled(self) -> float:
        """What the rows have cost that an idle stream has not settled yet, if they are as the last ones were."""
        return self.idle_rows * self.row + self.idle_rounds * self.row_calls

    def settle(
        self, rows: int, bills: Mapping[str, Bill], guard: ArmGuard, champion: Arm | None, challenger: Arm | None
    ) -> None:
        """Write down what a round would have cost in the written order, and what it did cost."""
        in_order = bills.get(CONTROL if champion is not None else CHAMPION)
        self.has_changed = False
        if in_order is not None and in_order.rows:
            self._note_written(in_order)
        # Rows that are tried on count as if they had cost what those of the champion do: the rest is what trying costs.
        #
        #     written   |---------------------------|      what the rows would have cost in the written order
        #     champion  |-----------------|  saved         what they cost by the champion
        #     tried     |--------------------|             what a challenger's, the control's, the sample's do cost
        #                                  ^^ spent besides
        calls = 0.0 if self.turns else self.calls
        now = self._find_now(bills.get(CHAMPION), self.current(champion, guard))
        # Nothing was saved where nobody is in charge, unless by the arms of others.
        standard = None if champion is not None or in_order is None else in_order.standard
        written, usual = self._find_now(standard, self.in_order) * rows + calls, now * rows + calls
        self.account.pay_rows(written, usual + self._pay_lanes(bills, now, calls, champion, challenger))
        self._settle_arrears(bills, champion, challenger)
        if champion is not None and self.quiet_rounds:
            self._settle_quiet(champion, (self.counted + now) / 2)
        self.counted = now

    def _pay_lanes(
        self, bills: Mapping[str, Bill], now: float, calls: float, champion: Arm | None, challenger: Arm | None
    ) -> float:
        """Write down what was spent besides; gives what the champion's own rows cost more than is usual."""
        more = 0.0
        for name, bill in bills.items():
            expected = now * bill.rows
            if name == CHAMPION and champion is not None:
                more += bill.total - expected - calls
                self.account.pay("learning", self._count_thinking(bill, champion))
            elif name == CHALLENGER and challenger is not None:
                self.account.pay("duels", bill.total - expected + self._count_thinking(bill, challenger))
            elif name in (SAMPLE, CONTROL):
                self.account.pay("sampling" if name == SAMPLE else "control", bill.total - expected)
        kind = "sampling" if SAMPLE in bills else "duels" if CHALLENGER in bills else "control"
        self.account.pay(kind, self.charges.end_round())
        self.pay_thinking("learning", self.bookkeeping)
        self.bookkeeping = 0.0
        return more

    def _settle_arrears(self, bills: Mapping[str, Bill], champion: Arm | None, challenger: Arm | None) -> None:
        """Write down what rows of other streams have asked that the arms have left to them."""
        asked, spared = self.charges.arrears.settle()
        self.account.pay_rows(0.0, -spared)
        rows = {
            arm.name: (bills[lane].rows if lane in bills else 0) + (self.quiet_rows if arm is champion else 0)
            for lane, arm in ((CHAMPION, champion), (CHALLENGER, challenger))
            if arm is not None
        }
        for name, count in rows.items():
            # Nobody knows whose rows were asked about, so each is as likely.
            share = count / sum(rows.values()) if any(rows.values()) else 1 / len(rows)
            owed = share * max(asked - spared, 0.0)
            self.thinking.setdefault(name, Thinking()).arrears.add(count, owed, 0.0)

    def forget_arrears(self) -> None:
        """Forget what arms have left to others: the stream has changed."""
        for thinking in self.thinking.values():
            thinking.arrears = Cost()

    def _note_written(self, bill: Bill) -> None:
        """Note what rows in the written order have cost; what they cost before a change says nothing of them."""
        self.written.half_life = HALF_LIFE_TURNS if self.turns else HALF_LIFE_ROWS
        newest = Cost()
        newest.add(*self.cases(bill.standard))
        self.has_changed = not self.turns and has_changed(newest, self.written)
        if self.has_changed:
            self.forget_written()
        self.written.add(*self.cases(bill.standard))
        if self.beside is not self.written:
            self._note_beside(bill)
        self.calls = _follow(self.calls, bill.calls)

    def _note_beside(self, bill: Bill) -> None:
        """Note what rows in the written order cost beside the arms of others, which change it at any time."""
        newest = Cost()
        newest.add(*self.cases(bill))
        if not self.turns and has_changed(newest, self.beside):
            self.beside.sums = [0.0, 0.0, 0.0]
        self.beside.half_life = self.written.half_life
        self.beside.add(*self.cases(bill))

    def forget_written(self) -> None:
        """Forget what rows in the written order have cost."""
        for cost in (self.written, self.beside):
            cost.sums = [0.0, 0.0, 0.0]

    def _find_now(self, bill: Bill | None, usually: float) -> float:
        """Find what a row costs as it is routed now: by the round's own rows, if the others may be of another time."""
        if self.turns or bill is None or bill.rows < ROWS_OF_A_ROUND:
            return usually
        return bill.seconds / bill.rows

    def _settle_quiet(self, champion: Arm, now: float) -> None:
        """Write down the rounds in which nobody counted."""
        written, usual, learning = self.expect_quiet(champion, now)
        self.account.pay_rows(written, usual)
        self.account.pay("learning", learning)
        self.quiet_rows = self.quiet_rounds = 0

    def expect_quiet(self, champion: Arm | None, now: float) -> tuple[float, float, float]:
        """Expect what rounds have cost in which nobody counted: they are like those in which somebody does.

        Gives what the written order would have cost, what rows did cost, and what thinking did.
        """
        rows, rounds = self.quiet_rows, self.quiet_rounds
        if champion is None or not rounds:
            return 0.0, 0.0, 0.0
        thinking = self.think(champion)
        calls = (0.0, 0.0) if self.turns else (self.calls, thinking.calls)
        learning = 0.0 if self.unit else rounds * thinking.seconds(rows / rounds)
        return self.in_order * rows + calls[0] * rounds, now * rows + calls[1] * rounds, learning

    def _count_thinking(self, bill: Bill, arm: Arm) -> float:
        """Note an arm's calls in a round; gives the seconds that it thought."""
        thinking = self.think(arm)
        thinking.calls = _follow(thinking.calls, bill.calls)
        return 0.0 if self.unit else bill.thinking

    def find_error(self, champion: Arm | None) -> float:
        """The standard error of what the written order would have cost: none while it is what rows did."""
        if champion is None or not self.written.mean or not np.isfinite(self.written.error):
            return 0.0
        return self.account.written * self.written.error / self.written.mean

    def snapshot(self) -> dict[str, Any]:
        """Plain values; `account` is apart, for reports."""
        return {
            "turns": self.turns,
            "written": self.written.sums,
            "beside": self.beside.sums,
            "thinking": {name: thinking.snapshot() for name, thinking in self.thinking.items()},
            "screening": self.screening.snapshot(),
            "arrears": self.charges.arrears.snapshot(),
            **{name: getattr(self, name) for name in NUMBERS},
        }

    def restore(self, state: Mapping[str, Any], account: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.account.restore(account)
        self.turns = bool(state["turns"])
        self.written.sums = list(map(float, state["written"]))
        self.beside.sums = list(map(float, state["beside"]))
        self.thinking = {str(name): Thinking.restore(value) for name, value in state["thinking"].items()}
        self.screening = Fit.restore(state["screening"])
        self.charges.arrears.restore(state["arrears"])
        for name in NUMBERS:
            setattr(self, name, state[name])


def _follow(usual: float, newest: float) -> float:
    """Let what is usual follow the newest round; the first one is all that is known."""
    return usual + (newest - usual) * (NEWEST_WEIGHT if usual else 1.0)
