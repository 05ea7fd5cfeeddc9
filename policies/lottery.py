"""Lottery scheduling, as the first eddies routed.

An operator wins a ticket for each tuple that it is given and loses one for each that it returns, so that one which
drops tuples holds more. Where several operators are ready, each tuple draws one, with chances by tickets, or the group
that it has become draws one for all (`drawing`); old tickets expire. After the ticket scheme of the eddies work that
the content-based routing paper builds on (its reference 2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Hop, Leg, Observation, Policy, Setting, State, Task, check_whole, fading
from eddy.policies.shared.drawing import draw


class Lottery(Policy):
    """Sends each tuple to an operator that it draws, by tickets.

    `half_life` is the number of tuples given to an operator after which its older tickets count half.

    >>> Lottery(Setting(operators=("cheap", "dear")), half_life=500).snapshot()
    {'tickets': []}
    """

    def __init__(self, setting: Setting, *, half_life: int = 1_000) -> None:
        self._half_life = check_whole(half_life, "half_life", where='policy "lottery"')
        self._operators = len(setting.operators)
        self._tickets: dict[Hop, float] = {}

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """One hop for each tuple; everybody holds one ticket at least."""
        tickets = np.array([1 + self._tickets.get(hop, 0.0) for hop in ready])
        return draw(task, ready, tickets / tickets.sum(), self._operators)

    def observe(self, observation: Observation) -> None:
        """Tickets won by consuming, lost by returning."""
        for hop, statistic in zip(observation.hops, observation.statistics, strict=True):
            kept = self._tickets.get(hop, 0.0) * fading(statistic.rows_in, self._half_life)
            self._tickets[hop] = max(kept + statistic.rows_in - statistic.rows_out, 0.0)

    @property
    def is_calm(self) -> bool:
        """Tickets are won and lost in every round."""
        return False

    def snapshot(self) -> State:
        """The tickets."""
        return {"tickets": [[hop.operator, hop.pattern, held] for hop, held in self._tickets.items()]}

    def restore(self, state: State) -> None:
        """Go on with the tickets that were held."""
        self._tickets = {Hop(operator, pattern): held for operator, pattern, held in state["tickets"]}
