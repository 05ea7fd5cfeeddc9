"""Joins whose streams share verdicts: what `auto` says of itself, by a clock that operators alone move.

A filter takes ten microseconds for each row that it is asked about, a probe a part of one for each candidate. So what
the written order costs is known exactly: another engine goes that way, over the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import eddy
from benchmarks.workloads import BATCH, CONTRAST
from eddy import wiring
from eddy.contracts import Operator, Outcome, Tuples
from eddy.engine import Engine
from eddy.operators.registry import OPERATORS
from eddy.policies.auto.conduct import Challenge
from eddy.tuples.arrays import Mask
from tests.policies.auto.eager import Dear, Time

ASKED, CALLED, LOOKED = 10e-6, 30e-6, 0.2e-6
"""Seconds that a filter takes for a row that it is asked about, any operator for a call, a probe for a candidate."""

PAIRS = [one + other for one, other in combinations("abcd", 2)]


class Costly(Dear):
    """An operator that takes time for what it looks at, and next to none for verdicts that are known."""

    def run(self, tuples: Tuples) -> Outcome:
        outcome = self.operator.run(tuples)
        looks = self.name.startswith(("probe", "meets"))
        self.time.now += CALLED + outcome.evaluated * (LOOKED if looks else ASKED) + len(outcome.counts) * LOOKED
        return outcome


class Shape(NamedTuple):
    """Keys with as many values as windows have rows, or fewer; the shares of rows that each stream's filters pass."""

    keys: Mapping[str, int]
    passes: Sequence[float]
    rows: int
    gain: float = 1.0
    # The share of the rows after which keys have a fortieth of their values.
    changes: float = 1.0


WINDOW = 6_000
SHAPES = {
    "two": Shape({"ab": 12_000}, (0.6, 0.4), 24_000, gain=0.6),
    "chain of three": Shape({"ab": 12_000, "bc": 6_000}, (0.6, 0.4), 18_000, gain=0.6),
    "chain of four": Shape({"ab": 12_000, "bc": 6_000, "cd": 3_000}, (0.6, 0.4), 18_000, gain=0.6),
    "complete": Shape(dict(zip(PAIRS, (300, 1_200, 120, 6_000, 600, 30), strict=True)), (0.6, 0.5), 18_000, gain=0.6),
    "dense": Shape({"ab": 600, "bc": 600}, (0.2, 0.8), 24_000),
    "changes": Shape({"ab": 12_000, "bc": 6_000}, (0.6, 0.4), 24_000, changes=0.5),
}


def pass_some(values: np.ndarray[Any, np.dtype[np.int8]]) -> Mask:
    found: Mask = values.astype(np.bool_)
    return found


def make(shape: Shape) -> tuple[eddy.Query, dict[str, pa.Table]]:
    chance, rows = np.random.default_rng(1), shape.rows
    streams = sorted(set("".join(shape.keys)))
    data = {s: {"ts": np.arange(rows), "id": np.arange(rows)} for s in streams}
    small = np.arange(rows) >= shape.changes * rows
    for key, values in shape.keys.items():
        for s in key:
            data[s][key] = (chance.random(rows) * np.where(small, max(values // 40, 1), values)).astype(np.int64)
    for s in streams:
        for number, share in enumerate(shape.passes):
            data[s][f"f{number}"] = (chance.random(rows) < share).astype(np.int8)
    filters = [
        eddy.Filter(f"{s}{number}", on=s, function=pass_some, columns=[f"f{number}"])
        for s in streams
        for number in range(len(shape.passes))
    ]
    query = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(WINDOW), delay=0) for s in streams],
        joins=[f"{key[0]}.{key} = {key[1]}.{key}" for key in shape.keys],
        filters=filters,
        select=[f"{s}.id as {s}" for s in streams],
    )
    return query, {s: pa.table(columns) for s, columns in data.items()}


def build(query: eddy.Query, data: Mapping[str, pa.Table], policy: str, time: Time) -> Engine:
    with pytest.MonkeyPatch.context() as patch:
        for kind, made in list(OPERATORS.items()):
            patch.setitem(OPERATORS, kind, make_costly(made, time))
        schemas = {s: table.schema for s, table in data.items()}
        return wiring.engine(query, schemas, policy, tables={}, clock=time, seed=0)


def make_costly(made: Callable[..., Operator], time: Time) -> Callable[..., Operator]:
    return lambda *given: Costly(made(*given), time)


def run(query: eddy.Query, data: Mapping[str, pa.Table], policy: str) -> tuple[float, Engine]:
    time = Time((2e-6,))
    engine = build(query, data, policy, time)
    for batch in divide(data):
        list(engine.run(batch))
    return time.now, engine


def divide(data: Mapping[str, pa.Table]) -> Iterator[dict[str, pa.RecordBatch]]:
    parts = [table.combine_chunks().to_batches(max_chunksize=1_000) for table in data.values()]
    for batch in zip(*parts, strict=True):
        yield dict(zip(data, batch, strict=True))


@pytest.mark.parametrize("name", SHAPES)
def test_auto_keeps_its_promise_and_says_what_is_true(name: str) -> None:
    """Windows fill, arms come and go: the standard is what the written order would have cost all the time."""
    shape = SHAPES[name]
    query, data = make(shape)
    written, _ = run(query, data, "fixed")
    spent, engine = run(query, data, "auto")
    policy: Any = engine.lanes[""]._policy
    accounts = policy._conduct.accounts
    assert spent <= 1.02 * written + sum(one.allowance for one in accounts)
    assert spent <= shape.gain * written or shape.gain == 1.0
    told = policy.insight.regrets
    # Nobody may be told that more is saved than is. After a change rows of the control have to come before it is known.
    assert sum(one.written for one in told) < 1.06 * written
    if shape.changes == 1.0:
        assert sum(one.written for one in told) > 0.94 * written
    assert sum(one.spent for one in told) == pytest.approx(spent, rel=0.08)


@pytest.mark.parametrize(
    ("seed", "batches"),
    # A sample that costs twenty times what its rows do, and an arm that becomes a hundred times as dear within a round.
    [(10, 8), (8, 16), pytest.param(4, 40, marks=pytest.mark.long), pytest.param(12, 40, marks=pytest.mark.long)],
)
def test_auto_keeps_its_promise_where_orders_differ_by_a_thousand(seed: int, batches: int) -> None:
    """Every five micro-batches all keys have other numbers of values, and what was cheapest is the dearest."""
    data = {s: pa.table(dict(columns)) for s, columns in CONTRAST.data(batches * BATCH, seed).items()}
    written, _ = run(CONTRAST.query(), data, "fixed")
    spent, engine = run(CONTRAST.query(), data, "auto")
    policy: Any = engine.lanes[""]._policy
    assert spent <= 1.02 * written + sum(one.allowance for one in policy._conduct.accounts)


def list_waiting(engine: Engine) -> dict[str, Challenge]:
    policy: Any = engine.lanes[""]._policy
    return {name: one.next_challenge for name, one in policy._courses.items() if one.next_challenge is not None}


def test_challenges_that_wait_for_a_duel_elsewhere_wait_on_after_a_restart() -> None:
    query, data = make(SHAPES["chain of three"])
    time = Time((2e-6,))
    running, waiting = build(query, data, "auto", time), 0
    for batch in islice(divide(data), 8):
        list(running.run(batch))
        again = build(query, data, "auto", time)
        again.restore(running.snapshot())
        assert list_waiting(again) == list_waiting(running)
        waiting += len(list_waiting(running))
    assert waiting > 2
