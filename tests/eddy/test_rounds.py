"""How a micro-batch is cut into rounds, and that the policy learns after each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.contracts import Hop, Leg, Policy, Setting, Task
from eddy.engine.rounds import FIRST_ROUND, LARGEST_ROUND, NEW_ROUND, StoredTuples, cut
from eddy.tuples import Lineage, Tuples

DEAR = 100e-6
"""Seconds of a row: calls as such do not matter beside it."""


class Learner(Policy):
    """Notes how many rows it is asked about between two lessons, and is calm when it has had some."""

    def __init__(
        self, setting: Setting, calm_after: int | None = None, *, urgent: bool = False, new_for: int = 0
    ) -> None:
        self.rounds = [0]
        self.calm_after = calm_after
        self.urgent = urgent
        self.new_for = new_for

    @property
    def is_new(self) -> bool:
        return len(self.rounds) <= self.new_for

    @property
    def is_urgent(self) -> bool:
        return self.urgent

    @property
    def is_calm(self) -> bool:
        return self.calm_after is not None and len(self.rounds) > self.calm_after

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        if not task.lineage.done:
            self.rounds[-1] += task.rows
        return [Leg(route=ready)]

    def learn(self) -> None:
        self.rounds.append(0)


def told(
    batches: Sequence[int],
    *,
    row: float,
    calm_after: int | None = None,
    streams: str = "s",
    urgent: bool = False,
    new_for: int = 0,
) -> list[int]:
    """The rows of each round of some micro-batches, by a filter whose rows take so many seconds."""
    now = [0.0]
    made: list[Learner] = []

    def build(setting: Setting) -> Policy:
        made.append(Learner(setting, calm_after, urgent=urgent, new_for=new_for))
        return made[-1]

    def work(values: np.ndarray) -> np.ndarray:
        now[0] += 20e-6 + row * len(values)
        return values >= 0

    filters = [eddy.Filter("work", on=streams[0], function=work, columns=["v"])]
    query = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in streams],
        joins=[f"{a}.v = {b}.v" for a, b in pairwise(streams)],
        filters=filters,
    )
    first = np.cumsum([0, *batches])
    feeds = {
        s: [pa.table({"ts": np.arange(i, j), "v": np.arange(i, j)}) for i, j in pairwise(first.tolist())]
        for s in streams
    }
    eddy.run_local(query, feeds, policy=build, clock=lambda: now[0])
    return made[0].rounds[:-1]


def test_rounds_double_up_to_the_largest() -> None:
    sizes = told([100_000], row=DEAR)
    assert sizes[:5] == [FIRST_ROUND, 2_000, 4_000, 8_000, LARGEST_ROUND]
    assert sum(sizes) == 100_000
    assert max(sizes) == LARGEST_ROUND


def test_each_micro_batch_begins_small() -> None:
    assert told([2_500, 500, 0, 3_000], row=DEAR) == [1_000, 1_500, 500, 0, 1_000, 2_000]


def test_a_policy_that_is_calm_gets_the_rest_in_one() -> None:
    assert told([50_000, 50_000], row=DEAR, calm_after=2) == [1_000, 2_000, 47_000, 50_000]


def test_rounds_are_large_where_calls_would_cost_more_than_rows() -> None:
    sizes = told([200_000, 200_000], row=20e-9)
    assert sizes[0] == FIRST_ROUND
    assert sum(sizes) == 400_000
    # A call takes 20 microseconds, and so do the rows of a thousand: a round needs 99 times as many.
    assert min(sizes[1:-1]) > 90_000  # the last one has what is left


def test_a_micro_batch_that_was_cut_in_two_shows_how_large_rounds_have_to_be() -> None:
    """As three streams of a join with a thousand rows each, whose probes take a millisecond a call."""
    assert told([3_000] * 3, row=100e-9) == [1_000, 2_000, 3_000, 3_000]
    assert told([3_000] * 2, row=DEAR) == [1_000, 2_000] * 2


def test_rounds_are_small_where_a_policy_waits_for_a_few_rows() -> None:
    cheap = 1e-9
    assert told([20_000], row=cheap, urgent=True) == told([20_000], row=DEAR)
    assert told([20_000], row=cheap) != told([20_000], row=DEAR)


def test_the_first_round_is_small_while_nothing_is_known() -> None:
    assert told([1_000, 1_000], row=DEAR, new_for=1) == [NEW_ROUND, 2 * NEW_ROUND, 2 * NEW_ROUND, 1_000]
    # Where rows take less than a hundredth of their call, the first round shows it, and all others go in one.
    assert told([50_000], row=1e-9, new_for=1) == [NEW_ROUND, 50_000 - NEW_ROUND]


def test_streams_are_cut_together() -> None:
    sizes = told([2_000], row=DEAR, streams="ab")
    assert [sum(sizes), len(sizes)] == [4_000, 3]


@given(owners=st.lists(st.integers(0, 2), min_size=1, max_size=40), size=st.integers(1, 9))
def test_every_row_is_in_one_round_in_order_of_arrival(owners: list[int], size: int) -> None:
    numbers = np.flatnonzero(np.ones(2 * len(owners)))[::2]
    arrived = []
    for stream in range(3):
        own = numbers[np.array(owners) == stream]
        lineage = Lineage(str(stream), frozenset(str(stream)), frozenset())
        arrived.append(StoredTuples(Tuples(lineage, {str(stream): own}), own))
    found: list[int] = []
    for begun in range(0, len(owners), size):
        parts = cut(arrived, numbers, begun, min(begun + size, len(owners)))
        found += sorted(number for part in parts for ids in part.ids.values() for number in ids.tolist())
    assert found == numbers.tolist()
