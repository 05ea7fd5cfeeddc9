"""The guard of a stream: a policy learns only while that pays.

A stream begins the common way, in one order for all of its rows, which is one leg and one look-up. A look at the first
round's prices tells whether its rows are dear enough to try more. Then whatever the policy does beside the common order
is booked on an `Account`: planning and learning by the time for which the thread was at work, samples and steps that
are taken because classes go different ways by the fitted prices; what classes save is what the policy's own model says.
Older rows fade. When the account is overdrawn the stream goes the common way again, for a wait in rows, and is looked
at anew. Every try that fails doubles the wait, and what the next one may cost: in the long run they take their share.
A wait ends sooner if what filters let through has surely changed, once the last try is paid for: classes that appear
change what a filter makes of the rows that those before it have left, even if what each makes of all rows stays.

Where only calls count there is no look: thinking costs no calls.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import Leg, Lineage, Observation, Prices, Task
from eddy.observe.prices import ALONE, SHARED
from eddy.observe.statistics import fading
from eddy.policies.shared.account import Account
from eddy.policies.shared.merit import Costs, greedy_route, merit, row_price, step_price
from eddy.policies.shared.standing_order import Passing
from eddy.tuples import Hop

REGRET = 0.02
"""The share of the rows' cost that learning may take where it gains nothing: what few would notice."""

FIRST_WAIT = 50_000
"""Rows until a stream is looked at again: trying sooner would be dearer than the share that is allowed."""

MOST_DOUBLINGS = 10
"""Doublings of what a try may cost: four million rows' worth by then."""

LEAST_WAIT, WORTH_NOTING = 5_000, 2e-3
"""Rows that are waited for whatever changes, and seconds of a step from which on it is noted what it did: that takes a
fiftieth of it at most."""

LONGEST_WAIT = 50_000_000
"""Rows of a wait that does not double any more."""

ROWS_REMEMBERED = 20_000
"""Rows after which what they cost and saved counts half: a few rounds of the largest."""

ROWS_OF_NOW = 4_000
"""Rows after which the gain of a round counts half when it is asked whether classes pay by now."""

ROUNDS_TO_TRUST, ROUNDS_OF_USUAL, MOST_ABOVE = 3, 8, 3.0
"""Rounds before a next one can be told from the usual, rounds that are remembered as usual, and how many usual ones a
round counts as at most: one that samples takes three times as long."""

ROWS_TO_PAY_BACK = 100_000
"""Rows within which a try must pay for itself, if all were saved that can be: but for the cheapest operator."""

USUAL_ROUND = 1_000
"""Rows of a round where nobody says otherwise."""

ROWS_BETWEEN_ORDERS, LEAST_BETWEEN_ORDERS = 500_000, 1_000
"""Rows for which a common order stands at most, where they are cheap (100,000 may take half a millisecond), and at
least."""

FINDING, FINDING_SHARE = 10e-6, 0.01
"""Seconds that it takes to find the place of an operator in an order, and the share of the rows' time that this may
be."""

EXPLORING_SHARE = 0.03
"""The share of the rows' time that exploring may take: the calls of one more leg, and company for all others."""

USUAL_COMPANY = 100e-9
"""Seconds that a row of legs side by side takes the router more, at least, than one of a leg that is alone."""

EXPLORED_SHARE, MOST_EXPLORED = 0.01, 0.3
"""The share of all rows that explore, and of a task at most."""

ROWS_EXPLORED_FIRST = 200
"""Rows that explore together while some operator has seen few."""

FEW_SEEN = 100
"""Rows of which an operator must have seen some before it waits for its turn to be explored."""


NUMBERS = "_wait _waited _unpaid _lost _price _rows _spent _gained _recent _usual _rounds".split()
"""What a snapshot has of a guard besides its account."""


class Guard:
    """What a stream's classes have cost and saved, and how long it is to go without.

    The order in a round is: `arrive`, `spend`, `pay_sample`, `save`, `split` and `count_step` take note, and `look` or
    `close` ends the round. The first try may take as much as `try_rows` rows do; `price` is what a try is believed to
    take until there has been one.
    """

    def __init__(self, costs: Costs, prices: Prices, try_rows: int, price: float) -> None:
        self._costs, self._prices, self._try_rows, self._price = costs, prices, try_rows, price
        self.common = CommonOrder(costs)
        self._lost = 0
        self._wait = self._waited = self._unpaid = 0.0
        self._on_credit = 0
        self.is_looking = costs == "time"
        self._begin()
        self._clear()

    def _begin(self) -> None:
        """Begin a try; what has changed by now led to it."""
        self._passing = Passing()
        self._account = Account(REGRET)
        self._rows = self._spent = self._gained = self._recent = self._usual = 0.0
        self._rounds = 0

    def _clear(self) -> None:
        """Begin a round."""
        self._arrived, self._saved, self._sampled, self._seconds = 0, 0.0, 0.0, 0.0
        self._steps, self._together, self._is_split = 0, 0, False
        self._hops: dict[Hop, float] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether the stream was given up for now."""
        return self._wait > 0

    @property
    def is_closed(self) -> bool:
        """Whether the stream goes the common way."""
        return self.is_looking or self._wait > 0

    def arrive(self, rows: int) -> bool:
        """Count rows that arrive; says whether a wait is over with them, so that the policy begins anew."""
        self._arrived += rows
        if self._wait <= 0:
            return False
        self._wait, self._unpaid = self._wait - rows, self._unpaid - rows
        if self._wait > 0 and not self._may_try_soon():
            return False
        self._wait = 0.0
        self._begin()
        self.is_looking = self._costs == "time"
        return not self.is_looking

    def _may_try_soon(self) -> bool:
        """Tell whether the stream has changed, and may be tried at once: on credit once, until all is paid."""
        if self._unpaid <= 0:
            self._on_credit = 0
        if self._waited - self._wait < LEAST_WAIT or self._on_credit or not self._passing.has_changed:
            return False
        self._on_credit = int(self._unpaid > 0)
        return True

    def wake(self) -> bool:
        """Try at once, since somebody else has paid for a sample; says whether the policy begins anew."""
        was_closed = self.is_closed and self._lost > 0
        self._wait, self.is_looking = 0.0, False
        if was_closed:
            self._begin()
        return was_closed

    def look(self) -> bool:
        """End a round that was looked at; says whether the policy begins anew."""
        rows, hops = self._arrived, list(self._hops)
        if not rows or not hops:
            self._clear()
            return False
        prices = [row_price(hop, self._prices, self._costs) for hop in hops]
        # A first round is small, and its calls are not those of the rounds to come.
        steps = len(hops) * step_price(hops, self._prices, self._costs) / max(rows, USUAL_ROUND)
        work = sum(price * self._hops[hop] for hop, price in zip(hops, prices, strict=True)) / rows
        self._clear()
        self.is_looking = False
        is_hopeless = (work - min(prices)) * ROWS_TO_PAY_BACK < self._price
        if is_hopeless or (work + steps) * self._try_rows * 2.0**self._lost < self._price:
            self._give_up(work + steps)
            return False
        return self._lost > 0

    def spend(self, seconds: float) -> None:
        """Take note of planning and learning."""
        self._seconds += seconds

    def pay(self, seconds: float) -> None:
        """Book what was spent between two rounds."""
        self._account.pay("learning", seconds)
        self._spent += seconds

    def renew(self) -> None:
        """Begin to count anew whether classes pay by now: it was decided otherwise how rows go."""
        self._recent = 0.0

    @property
    def is_overdrawn(self) -> bool:
        """Whether more was spent than may be: nothing is to be bought, but what pays may go on."""
        account = self._account
        return account.spent > (1 + REGRET) * account.written + account.allowance

    def pay_sample(self, price: float) -> None:
        """Take note of what samples cost beside their way."""
        self._sampled += price

    def save(self, saved: float) -> None:
        """Take note of what rows save on the ways of their classes, as the model has it."""
        self._saved += saved

    def split(self, legs: Sequence[Leg]) -> None:
        """Take note of a plan: its legs may go side by side."""
        self._is_split = len(legs) > 1

    def count_step(self, step: Observation, *, is_noted: bool = True) -> None:
        """Count a step, and what it did, if that is to be noted."""
        if is_noted and not self.is_closed:
            self.notice(step)
        for hop in step.hops:
            self._hops[hop] = self._hops.get(hop, 0.0) + sum(step.rows)
        self._steps += len(step.hops)
        if self._is_split:
            self._together += sum(step.rows)

    def notice(self, step: Observation) -> None:
        """Take note of what a step did to rows on the common way."""
        if not self.is_looking and step.statistics[0].seconds >= WORTH_NOTING:
            self._passing.count(step)

    def rest(self) -> None:
        """End a round of a wait: what came in it is nobody's."""
        self._clear()

    def close(self, common: float) -> bool:
        """End a round; says whether to give up. `common` is what a row takes in the common order."""
        rows, hops = self._arrived, list(self._hops)
        if not rows:
            self._clear()
            return False
        price = step_price(hops, self._prices, self._costs)
        steps = price * max(self._steps - len(hops), 0) + self._together * self._price_of_company()
        written, seconds = rows * common + price * len(hops), self._clip(self._seconds)
        spent = seconds + self._sampled + steps
        kept, account = fading(float(rows), ROWS_REMEMBERED), self._account
        account.fade(kept)
        if not self._rows:
            # What has changed may be no classes at all: what is tried on credit takes no more than the first try may.
            account.allowance = self._try_rows * written / rows * 2.0 ** (0 if self._on_credit else self._lost)
        account.pay_rows(written, written - self._saved + steps)
        account.pay("sampling", self._sampled)
        account.pay("learning", seconds)
        self._rows, self._spent, self._gained = self._rows + rows, self._spent + spent, self._gained + self._saved
        self._recent = self._recent * fading(float(rows), ROWS_OF_NOW) + self._saved - spent
        # What is spent is spent: a stream whose classes pay by now goes on, however dear it was to find them.
        if self.is_overdrawn and self._recent <= 0:
            self._price = self._spent
            self._give_up(written / rows)
        elif self._recent > 0 and self._rows > ROWS_REMEMBERED:
            self._lost = self._on_credit = 0
            self._unpaid = 0.0
        self._clear()
        return self.is_waiting

    def _clip(self, seconds: float) -> float:
        """Count a round as no more than some usual ones: the machine may have been busy elsewhere."""
        if self._rounds >= ROUNDS_TO_TRUST:
            seconds = min(seconds, MOST_ABOVE * self._usual)
        self._rounds += 1
        self._usual += (seconds - self._usual) / min(self._rounds, ROUNDS_OF_USUAL)
        return seconds

    def _price_of_company(self) -> float:
        """Price a row of legs that go side by side, beside what it takes the router when there is but one."""
        if self._costs == "unit":
            return 0.0
        return max(self._prices[SHARED].row - self._prices[ALONE].row, 0.0)

    def _give_up(self, row: float) -> None:
        """Wait until what the try has lost is the allowed share of the rows' cost, and longer each time."""
        paid_off = (self._spent - self._gained) / (REGRET * row) if row > 0 else 0.0
        doubled = 2 * self._waited if self._lost else FIRST_WAIT
        # What an earlier try has cost is still to be paid, if this one was on credit.
        self._unpaid = paid_off + max(self._unpaid, 0.0)
        self._wait = self._waited = max(min(doubled, LONGEST_WAIT), self._unpaid)
        self._lost = min(self._lost + 1, MOST_DOUBLINGS)

    def snapshot(self) -> dict[str, Any]:
        """Plain values, between two rounds."""
        return {
            "numbers": [getattr(self, name) for name in NUMBERS],
            "passing": self._passing.snapshot(),
            "looking": self.is_looking,
            "credit": self._on_credit,
            "account": self._account.snapshot(),
            "common": self.common.snapshot(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for name, number in zip(NUMBERS, state["numbers"], strict=True):
            setattr(self, name, number)
        self._passing.restore(state["passing"])
        self.is_looking, self._on_credit = state["looking"], state["credit"]
        self._account.restore(state["account"])
        self.common.restore(state["common"])


class CommonOrder:
    """The order of merit over all rows of a stream; it stands for a while.

    It is not the `StandingOrder` of `source`, which weighs each look against noise and explores by a share of the rows.
    Here a stream has been given up, so that an order is found and explored only as often as its rows are dear.

    A few rows now and then go to another operator first, the one that has seen fewest, so that one that has become
    selective is noticed: they go together, since a leg costs a call however few its rows are.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        # Rows in all, since the order was found, and since some explored; the rows after which either comes again.
        self._age = self._rows = self._unexplored = 0
        self._stands = self._lot = float(LEAST_BETWEEN_ORDERS)
        self._merits: dict[Hop, float] = {}
        self._legs: dict[Lineage, tuple[Leg, ...]] = {}

    def legs(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """One leg, all the way, and now and then one that explores."""
        explored = 0 if task.lineage.done else self._arrive(task, ready)
        legs = self._legs.get(task.lineage)
        if legs is None:
            # An order that was restored has its merits, and stands as long as it was to stand.
            is_found = bool(self._merits)
            legs = self._legs[task.lineage] = (Leg(route=self._route(task, ready)),)
            if not is_found and not task.lineage.done:
                self._stands, self._lot = self._count_rows(task, legs[0].route)
        if not explored:
            return legs
        usual = legs[0].route
        first = min((hop for hop in ready if hop != usual[0]), key=lambda hop: task.statistics[hop].rows_in)
        drawn = np.zeros(task.rows, np.bool_)
        drawn[task.chance().integers(task.rows, size=explored)] = True
        return (
            Leg(route=usual, rows=np.flatnonzero(~drawn)),
            Leg(route=self._route(task, (first,)), rows=np.flatnonzero(drawn)),
        )

    def _arrive(self, task: Task, ready: tuple[Hop, ...]) -> int:
        """Count rows that arrive; says how many of them explore."""
        self._rows += task.rows
        self._age = min(self._age + task.rows, 2 * ROWS_BETWEEN_ORDERS)
        # A young stream changes: windows fill, and operators are met for the first time.
        if self._rows >= min(self._stands, max(self._age // 2, LEAST_BETWEEN_ORDERS)):
            self._rows, self._merits, self._legs = 0, {}, {}
        if len(ready) == 1:
            return 0
        self._unexplored += task.rows
        is_new = min(task.statistics[hop].rows_in for hop in ready) < FEW_SEEN and bool(self._merits)
        if not is_new and self._unexplored < self._lot:
            return 0
        explored = ROWS_EXPLORED_FIRST if is_new else math.ceil(EXPLORED_SHARE * self._unexplored)
        self._unexplored = 0
        return min(explored, int(MOST_EXPLORED * task.rows))

    def _count_rows(self, task: Task, route: Sequence[Hop]) -> tuple[float, float]:
        """Count the rows that an order stands for.

        And those after which some explore: their calls cost little then.
        """
        if self._costs == "unit":
            return LEAST_BETWEEN_ORDERS, LEAST_BETWEEN_ORDERS
        step = len(route) * step_price(route, task.prices, self._costs)
        reach, row = 1.0, step / task.rows
        for hop in route:
            row += reach * row_price(hop, task.prices, self._costs)
            reach *= task.statistics[hop].rate
        stands = min(len(route) * FINDING / (FINDING_SHARE * row), ROWS_BETWEEN_ORDERS)
        # The rows that do not explore lose as well: they have company.
        company = task.rows * max(task.prices[SHARED].row - task.prices[ALONE].row, USUAL_COMPANY)
        return max(stands, LEAST_BETWEEN_ORDERS), max((step + company) / (EXPLORING_SHARE * row), LEAST_BETWEEN_ORDERS)

    def _route(self, task: Task, ready: tuple[Hop, ...]) -> tuple[Hop, ...]:
        return greedy_route(task, ready, lambda hop: self._merit(task, hop))

    def _merit(self, task: Task, hop: Hop) -> float:
        # Routes follow from the merits, so these are all that must survive a restart.
        found = self._merits.get(hop)
        if found is None:
            price = row_price(hop, task.prices, self._costs)
            found = self._merits[hop] = merit(task.statistics[hop], price)
        return found

    def snapshot(self) -> list[Any]:
        """The rows, and the merits."""
        merits = [[*hop, found] for hop, found in self._merits.items()]
        return [self._rows, merits, self._stands, self._unexplored, self._lot, self._age]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        self._rows, merits, self._stands, self._unexplored, self._lot, self._age = state
        self._merits = {Hop(operator, pattern): found for operator, pattern, found in merits}
