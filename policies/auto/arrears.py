"""Arrears: what the arm of one stream leaves unasked, and rows of others have to ask.

A filter of one stream is asked about each of its rows once, by whoever needs to know first. In the written order that is
the row itself; an arm may probe first, and leave rows unasked that nothing has joined yet:

    written    a: f probe_b            f is asked about every row of a
    an arm     a: probe_b f            rows of a that find no b stay, and f was not asked
    written    b: g probe_a f          finds some of them later, and asks

So each question is paid for by the stream whose row it is about, whoever asks. Then all streams together pay what all
have cost, and rows of `b` in the written order cost what they would if `a` had gone in the written order as well: rows
of `a` that `f` drops would have been gone, and about the others nothing would have been asked. That holds at any time,
also while windows fill, and nobody has to go in the written order for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eddy.contracts import Counts, Hop, Leg, Observation
from eddy.observe.prices import Price
from eddy.policies.auto.arms import Lane
from eddy.query.join_graph import probe_name

PAID_SHARE = 0.01
"""The share of the written order's cost below which nothing is owed any more: the rows have been asked about, or gone."""

NUMBERS = ("asked", "spared", "is_owing")


class Arrears:
    """What others ask about rows of one stream.

    `judged` has the stream of each filter that is asked once about each of its rows; `price` has the price of a hop.
    """

    def __init__(self, stream: str, judged: Mapping[str, str], price: Callable[[Hop], Price]) -> None:
        self._stream = stream
        self._judged = judged
        self._price = price
        # Since it was settled: what others have asked, and what rows in the written order need not ask, as others have.
        self.asked = self.spared = 0.0
        # Whether an arm that has gone has left rows that nobody has asked about yet.
        self.is_owing = False

    def is_shared(self, hop: Hop) -> bool:
        """Tell whether a filter is asked once about each row, by whoever comes first."""
        return hop.operator in self._judged

    def price(self, hop: Hop, work: float, leg: Leg, made: Counts, own: float) -> float:
        """Price a tuple of some legs at a shared filter, which looks at so many rows for each.

        `made` says which of the leg's tuples pass, `own` is what the router takes for each.
        """
        unit, owner = self._price(hop).unit, self._judged[hop.operator]
        lane = leg.tag if isinstance(leg.tag, Lane) else None
        if lane is None or lane.arm is not None:
            return own + (unit * work if owner == self._stream else 0.0)
        if owner == self._stream:
            share = min(lane.trail.rows / len(made), 1.0) if lane.trail.rows else 1.0
            self.spared += len(made) * max(share - work, 0.0) * unit
            return own + unit * max(share, work)
        # Rows that the filter drops would not have been found.
        left = np.count_nonzero(made) / len(made)
        probes = [hop for hop in leg.route if hop.operator == probe_name(owner)]
        return float(left * own - (1 - left) * sum(self._price(hop).unit for hop in probes))

    def note_asked(self, observation: Observation) -> None:
        """Note what rows of another stream have asked."""
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            if self._judged.get(hop.operator) == self._stream:
                self.asked += statistic.evaluated * self._price(hop).unit

    def note_spared(self, observation: Observation) -> None:
        """Note what idle rows of the stream need not ask."""
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            if self._judged.get(hop.operator) == self._stream:
                self.spared += (statistic.rows_in - statistic.evaluated) * self._price(hop).unit

    def find_work(self, hop: Hop, usual: float) -> float:
        """Find how many rows a hop looks at for each tuple, if all streams go in the written order."""
        owner = self._judged.get(hop.operator)
        return usual if owner is None else float(owner == self._stream)

    def settle(self) -> float:
        """Give what is owed, and begin anew."""
        owed, self.asked, self.spared = max(self.asked - self.spared, 0.0), 0.0, 0.0
        return owed

    def settle_idle(self, cost: float) -> float:
        """Give what is owed for rows of arms that have gone, while idle rows have cost so much."""
        owed = self.settle()
        self.is_owing = self.is_owing and owed > PAID_SHARE * cost
        return owed

    def snapshot(self) -> list[Any]:
        """Plain values."""
        return [getattr(self, name) for name in NUMBERS]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        for name, value in zip(NUMBERS, state, strict=True):
            setattr(self, name, value)
