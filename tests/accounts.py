"""A policy that keeps an account, in round numbers: it sees a micro-batch, samples, compares, and is in charge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eddy.contracts import Branch, Decision, Hop, Insight, Leg, Policy, Regret, RouteCost, Setting, State, Task
from eddy.observe.regret import sum_over_time
from eddy.policies.shared.account import KINDS, Account

STATES = ("idle", "sampling", "in a duel", "in charge")
"""One for each micro-batch; the last one stays."""

REASONS = (
    "the written order is all that is known",
    "content may save 40 %",
    "content saves 31 ± 2 %, 4,200 rows compared",
)
"""Why `auto` went from one state to the next. Between them its arm decided about the ways of classes."""


def account(stream: str, batch: int) -> Regret:
    """The account of a stream in one micro-batch: it samples, then has a duel, then saves."""
    state = STATES[min(batch, len(STATES) - 1)]
    saved = 0.5 if state == "in charge" else 0.0
    besides = {"sampling": 0.25 * (batch == 1), "duels": 0.12 * (batch == 2), "control": 0.01 * bool(saved)}
    learning = 0.02 * (batch > 0)
    return Regret(
        stream=stream,
        state=state,
        arm="query_mesh" if saved else "written",
        spent=2.0 - saved + sum(besides.values()) + learning,
        written=2.0,
        error=0.3 * (batch > 0),
        saved=saved,
        learning=learning,
        **besides,
    )


def so_far(stream: str, batch: int) -> Regret:
    """All that a stream has spent up to a micro-batch, as a policy tells it; each has the same share of the error."""
    past = [account(stream, number) for number in range(batch + 1)]
    (whole,) = sum_over_time(past)
    return whole._replace(error=past[-1].error * len(past))


class Accounted(Policy):
    """Sends everything the written way, and tells of each stream what `auto` tells."""

    def __init__(self, setting: Setting) -> None:
        self.batch = -1
        self.streams: set[str] = set()

    @property
    def insight(self) -> Insight:
        streams = sorted(self.streams)
        return Insight(
            decisions=[decision for stream in streams for decision in self._decide(stream)],
            regrets=[so_far(stream, self.batch) for stream in streams],
        )

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        self.streams.add(task.lineage.origin)
        return [Leg(route=(ready[0],), rows=np.arange(task.rows))]

    def learn(self) -> None:
        self.batch += 1

    def snapshot(self) -> State:
        streams = {stream: self._leave(stream) for stream in sorted(self.streams)}
        return {"batch": self.batch, "streams": streams}

    def restore(self, state: State) -> None:
        self.batch, self.streams = state["batch"], set(state["streams"])

    def _leave(self, stream: str) -> State:
        """What `auto` leaves of a stream in a checkpoint."""
        kept, past = Account(regret=0.02), [account(stream, batch) for batch in range(self.batch + 1)]
        for one in past:
            kept.pay_rows(written=one.written, spent=one.written - one.saved)
            for kind in KINDS:
                kept.pay(kind, getattr(one, kind))
        told = REASONS[: self.batch + 1]
        return {"state": past[-1].state, "arm": past[-1].arm, "account": kept.snapshot(), "reasons": list(told)}

    def _decide(self, stream: str) -> Sequence[Decision]:
        """The second micro-batch has two decisions of `auto`, and all from the third on have one of its arm."""
        spans = {0: [0], 1: [0, 1], 2: [1]}
        made = [
            Decision(stream=stream, number=number, reason=REASONS[number], seconds=0.0, policy="auto")
            for number in spans.get(self.batch, [2])
        ]
        if self.batch >= 2:
            way = RouteCost(route=("even", "big"), share=1.0, predicted=2.0, observed=3.0)
            made.append(
                Decision(
                    stream=stream,
                    number=0,
                    reason="first rows",
                    seconds=0.1,
                    ways=(way,),
                    tree=(Branch(level=0, way=0),),
                    policy="query_mesh",
                )
            )
        return made
