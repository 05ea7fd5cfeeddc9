"""The routes of a stream: whole ones where operators wait for others, and one for all rows where classes go alike."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Leg, Policy, Setting, Task
from eddy.policies.content.menu import Menu
from eddy.tuples import Hop

KINDS, ROWS = 3, 20_000
UNIT = {"name": "content", "attributes": ["s.kind", "s.noise"], "costs": "unit"}


class Asked:
    """A policy, with what it planned and which buckets it asked for."""

    def __init__(self) -> None:
        self.plans: list[tuple[Task, Sequence[Leg]]] = []
        self.looks: list[int] = []
        self.policy: Policy | None = None

    def build(self, setting: Setting) -> Policy:
        policy = wiring.make_policy(UNIT, setting)
        plan: Callable[..., Sequence[Leg]] = policy.plan

        def noting(task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
            legs = plan(task, ready)
            self.plans.append((task, legs))
            return legs

        vars(policy)["plan"] = noting
        self.policy = policy
        return policy


def stream(rates: Any, rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(0)
    kind = rng.integers(0, KINDS, rows)
    passed = {f"p{i}": rng.random(rows) < np.array(rates)[kind, i] for i in range(KINDS)}
    one = np.ones(rows, np.int64)
    return pa.table({"ts": np.arange(rows), "kind": kind, "noise": rng.integers(0, 9, rows), "one": one, **passed})


def run(rates: Any, *, dependent: bool = False) -> tuple[Asked, list[float]]:
    """Rows through three filters, and two tables of which one waits for the other."""
    data, asked = stream(rates), Asked()
    tables = {"near": pa.table({"one": [1], "two": [2]}), "far": pa.table({"two": [2]})} if dependent else {}
    query = eddy.Query(
        streams=[eddy.Stream("s", time="ts")],
        tables=[eddy.Table(name) for name in tables],
        joins=["s.one = near.one", "near.two = far.two"] if dependent else [],
        filters=[eddy.Filter(f"f{i}", on="s", where=f"p{i}") for i in range(KINDS)],
        select=["s.ts"],
    )
    held = {name: table.to_batches()[0] for name, table in tables.items()}
    engine = wiring.engine(query, {"s": data.schema}, asked.build, tables=held, clock=float, seed=0)
    calls = []
    for part in data.to_batches(max_chunksize=1_000):
        list(engine.run({"s": part}))
        calls.append(sum(s.rows_in for s in engine.read_counters().operators.values()) / part.num_rows)
    return asked, calls


APART = np.where(np.eye(KINDS, dtype=bool), 0.05, 0.9)
ALIKE = [[0.02, 0.3, 0.8], [0.1, 0.4, 0.9], [0.05, 0.5, 0.95]]


def test_routes_are_whole_where_operators_wait_for_others() -> None:
    asked, calls = run(APART, dependent=True)
    arrived = [task for task, _ in asked.plans if not task.lineage.done]
    assert len(asked.plans) == len(arrived)
    late = [legs for task, legs in asked.plans[-5:]]
    assert all(len(leg.route) == KINDS + 2 for legs in late for leg in legs)
    assert all(len({leg.route for leg in legs}) >= KINDS for legs in late)
    assert np.mean(calls[10:]) < 1.6


def test_all_rows_go_in_one_leg_while_classes_go_alike() -> None:
    """The classes differ in every rate, and in no order."""
    asked, _ = run(ALIKE)
    state: Any = asked.policy.snapshot() if asked.policy else None
    attributes = [numbers[0] for numbers in state["known"]["s"]["profiles"]]
    assert 0 in attributes
    late = [legs for _, legs in asked.plans[8:]]
    single = [legs for legs in late if len(legs) == 1]
    assert len(single) > len(late) / 2
    assert all(legs[0].rows is None for legs in single)


@pytest.mark.parametrize("cells", [None, [0, 1, 0]])
def test_a_menu_goes_on_after_a_restart(cells: list[int] | None) -> None:
    menu = Menu(
        ready=(Hop("a"), Hop("b")),
        hops=(Hop("a"), Hop("b")),
        orders=np.array([[0, 1], [1, 0]]),
        used=(3,),
        choice=None if cells is None else np.array(cells),
        saved=None if cells is None else np.zeros(len(cells)),
    )
    again = Menu.restore(json.loads(json.dumps(menu.snapshot())))
    assert again.snapshot() == menu.snapshot()
    assert again.routes == menu.routes
    assert not again.is_single
