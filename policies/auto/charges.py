"""Charges: what steps cost the lanes of their legs, and what the arm of one stream leaves for others to ask.

Operators count by their fitted prices, and so do calls and the router's own work. Where only calls count, a call costs
1, and nothing else costs anything.

A filter of one stream is asked about each of its rows once, by whoever needs to know first. In the written order that
is the row itself; an arm may probe first, and leave rows unasked that nothing has joined yet:

    written    a: f probe_b            f is asked about every row of a
    an arm     a: probe_b f            rows of a that find no b stay, and f was not asked
    written    b: g probe_a f          finds some of them later, and asks

So what rows of `b` cost in the written order, beside an arm of `a`, is more than they would cost if all streams went
that way: rows of `a` that `f` drops would have been gone, and about the others nothing would have been asked. The
standard that an account goes by has neither in it. It holds at any time, also while windows fill, and no round has to
be in the written order for it. What `a` itself has saved is less by what others ask instead: its arrears.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eddy.contracts import Counts, Hop, Leg, Observation
from eddy.observe.prices import ALONE, SHARED, Price, Prices
from eddy.policies.auto.arms import Lane
from eddy.policies.auto.duel import Trail
from eddy.query.join_graph import probe_name

FREE = Price(0.0, 0.0, 1.0)
"""The price of steps where only calls count."""

NUMBERS = ("asked", "spared", "idle_asked")


class Question(NamedTuple):
    """What a step asks about the tuples of one leg.

    `work` are the rows that it looks at for each tuple, `made` says how many tuples come out of each.
    """

    hop: Hop
    work: float
    leg: Leg
    made: Counts


class Charges:
    """Charges the steps of one stream's tuples to their lanes.

    `judged` has the stream of each filter that is asked once about each of its rows, whoever asks.
    """

    def __init__(self, prices: Prices, *, unit: bool, stream: str, judged: Mapping[str, str]) -> None:
        self._prices = prices
        self._unit = unit
        self._found: dict[Hop, Price] = {}
        # Where only calls count, all streams make their own.
        self.arrears = Arrears(stream, {} if unit else judged, self.find_price)
        # Seconds that the router had more to do since lanes took a step together.
        self.mixing = 0.0

    def charge(self, observation: Observation, *, is_mixed: bool = False) -> None:
        """Charge a step to the lanes of its legs; `is_mixed` says that several lanes take it together."""
        if is_mixed:
            self._note_mixing(sum(observation.rows))
        for hop, statistic, outcomes in zip(
            observation.hops, observation.statistics, observation.outcomes, strict=True
        ):
            price, called, begun = self.find_price(hop), set[int](), 0
            work = self._prices.work(hop, statistic) / max(statistic.rows_in, 1)
            for leg, count in zip(observation.legs, observation.rows, strict=True):
                lane, begun = leg.tag, begun + count
                if not isinstance(lane, Lane):
                    continue
                self._charge_rows(lane, Question(hop, work, leg, outcomes[begun - count : begun]))
                if id(lane.bill) not in called:
                    called.add(id(lane.bill))
                    lane.call(price.step + self._find_own(lane).step)

    def _charge_rows(self, lane: Lane, step: Question) -> None:
        """Charge the tuples of a leg for a step."""
        count, own = len(step.made), self._find_own(lane).unit
        row = standard = own + (1.0 if self._unit else self.find_price(step.hop).unit * step.work)
        if lane.standard is not None:
            if count and self.arrears.is_shared(step.hop):
                row, standard = self.arrears.price_written(step, lane.standard.trail, own)
            lane.standard.bill.pay(lane.standard.trail, count, standard)
        lane.bill.pay(lane.trail, count, row)

    def _find_own(self, lane: Lane) -> Price:
        """Find what the router takes itself for a step of a lane."""
        return self.find_price(ALONE if lane.alone else SHARED)

    def _note_mixing(self, rows: int) -> None:
        """Note that the router has more to do for a step of several lanes than for one."""
        shared, alone = self._prices[SHARED], self._prices[ALONE]
        if not self._unit and shared.step:
            self.mixing += max(shared.seconds(rows) - alone.seconds(rows), 0.0)

    def find_price(self, hop: Hop) -> Price:
        """Find a hop's price: one for the whole round, so that all lanes have the same."""
        found = self._found.get(hop)
        if found is None:
            found = self._found[hop] = FREE if self._unit else self._prices[hop]
        return found

    def end_round(self) -> float:
        """Let prices follow; gives what mixing has cost."""
        mixing, self.mixing, self._found = self.mixing, 0.0, {}
        return mixing


class Arrears:
    """What is asked about rows of one stream, and what its own ask.

    `judged` has the stream of each filter that is asked once about each of its rows; `price` has the price of a hop.
    """

    def __init__(self, stream: str, judged: Mapping[str, str], price: Callable[[Hop], Price]) -> None:
        self._stream = stream
        self._judged = judged
        self._price = price
        # Since it was settled: what others have asked about rows of the stream, and what rows in the written order need
        # not ask, since others were quicker; and what idle rows have asked about those of others, less what they need
        # not ask.
        self.asked = self.spared = self.idle_asked = 0.0

    @property
    def judges(self) -> bool:
        """Whether there is any such filter."""
        return bool(self._judged)

    def is_shared(self, hop: Hop) -> bool:
        """Tell whether a filter is asked once about each row, by whoever comes first."""
        return hop.operator in self._judged

    def find_work(self, hop: Hop, usual: float) -> float:
        """Find how many rows a hop looks at for each tuple, if all streams go in the written order."""
        owner = self._judged.get(hop.operator)
        return usual if owner is None else float(owner == self._stream)

    def price_written(self, asked: Question, trail: Trail, own: float) -> tuple[float, float]:
        """Price a tuple in the written order beside the arms of others, and by the standard.

        `own` is what the router takes for it. Each row of its own counts as asked, also where others were quicker: what
        they ask is paid for in either order.
        """
        unit, owner = self._price(asked.hop).unit, self._judged[asked.hop.operator]
        if owner == self._stream:
            share = max(min(trail.rows / len(asked.made), 1.0) if trail.rows else 1.0, asked.work)
            self.spared += (share - asked.work) * unit * len(asked.made)
            return own + unit * share, own + unit * share
        # Rows that the filter drops would not have been found.
        left = np.count_nonzero(asked.made) / len(asked.made)
        probes = [hop for hop in asked.leg.route if hop.operator == probe_name(owner)]
        standard = left * own - (1 - left) * sum(self._price(hop).unit for hop in probes)
        return own + unit * asked.work, float(standard)

    def note_asked(self, observation: Observation, *, by: object) -> None:
        """Note what rows of another stream have asked, on the lanes of who is in charge there.

        Those of the control and of a challenger ask to learn something: that is no fault of this stream.
        """
        of_others = [rows for leg, rows in zip(observation.legs, observation.rows, strict=True) if not _is_of(leg, by)]
        share = 1 - sum(of_others) / max(sum(observation.rows), 1)
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            if self._judged.get(hop.operator) == self._stream:
                self.asked += share * statistic.evaluated * self._price(hop).unit

    def note_idle(self, observation: Observation) -> None:
        """Note what idle rows of the stream ask about others, and what they need not ask."""
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            owner = self._judged.get(hop.operator)
            if owner is not None:
                spared = statistic.rows_in if owner == self._stream else 0.0
                self.idle_asked += (statistic.evaluated - spared) * self._price(hop).unit

    def settle(self) -> tuple[float, float]:
        """Give what others have asked, and what rows in the written order were spared, and begin anew."""
        told, self.asked, self.spared = (self.asked, self.spared), 0.0, 0.0
        return told

    def settle_idle(self) -> float:
        """Give what idle rows have cost more than the standard, and begin anew."""
        asked, self.asked, self.spared, self.idle_asked = self.idle_asked, 0.0, 0.0, 0.0
        return asked

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [getattr(self, name) for name in NUMBERS]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        for name, value in zip(NUMBERS, state, strict=True):
            setattr(self, name, value)


def _is_of(leg: Leg, arm: object) -> bool:
    """Tell whether a leg is of who is in charge: that of an idle stream, or of a quiet round, is on no lane."""
    return not isinstance(leg.tag, Lane) or leg.tag.arm is arm
