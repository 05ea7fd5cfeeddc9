"""What every policy must do; each check is crossed with every registered policy."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Leg, Observation, Policy, Setting, State, Task
from eddy.engine import Engine
from eddy.local import Run
from eddy.observe.insight import Insight
from eddy.policies.registry import POLICIES
from eddy.tuples import Hop
from eddy.tuples.arrow import no_rows
from eddy.wiring import PolicyChoice
from tests import reference
from tests.policies.choices import chosen

ROWS = 3_000
"""Thirty micro-batches of a hundred: enough for a policy to learn, and to change its mind halfway."""


def steady_clock() -> Callable[[], float]:
    """Time that passes evenly, in steps that floats hold exactly: what is learned of costs is the same every time."""
    ticks = itertools.count()
    return lambda: next(ticks) / 1024


@cache
def stream() -> pa.Table:
    """A class in `k`, and three filters whose selectivities depend on it and swap halfway."""
    rng = np.random.default_rng(7)
    late = np.arange(ROWS) >= ROWS // 2
    k = rng.integers(0, 3, ROWS)
    values = {f"v{i}": (rng.random(ROWS) + 0.4 * ((k + late) % 3 == i)) for i in range(3)}
    return pa.table({"ts": np.arange(ROWS), "k": k, **values})


def query() -> eddy.Query:
    """Three filters over the stream."""
    filters = [eddy.Filter(f"f{i}", on="a", where=f"v{i} > 0.7e0") for i in range(3)]
    return eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.ts"])


FILTERS = ("f0", "f1", "f2")


def engine(name: str) -> Engine:
    """An engine whose clock is steady."""
    choice = chosen(name, FILTERS, "a.k")
    return wiring.engine(query(), {"a": stream().schema}, choice, tables={}, clock=steady_clock(), seed=0)


def run(choice: PolicyChoice, *, seed: int = 0, batch_rows: int = 100, first: int = 0, rows: int = ROWS) -> Run:
    """A run over the stream, or a part of it, whose clock is steady."""
    policy = chosen(choice, FILTERS, "a.k") if isinstance(choice, str) else choice
    data = {"a": stream().slice(first, rows)}
    return eddy.run_local(query(), data, policy=policy, seed=seed, batch_rows=batch_rows, clock=steady_clock())


def batches(start: int, stop: int) -> list[dict[str, pa.RecordBatch]]:
    """Some rows of the stream in micro-batches of a hundred."""
    return [{"a": part} for part in stream().slice(start, stop - start).to_batches(max_chunksize=100)]


@dataclass
class Watched(Policy):
    """A policy, and what it was told."""

    policy: Policy
    observed: list[Observation] = field(default_factory=list)
    learned: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.features = self.policy.features

    @property
    def insight(self) -> Insight:
        return self.policy.insight

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return self.policy.plan(task, ready)

    def observe(self, observation: Observation) -> None:
        self.observed.append(observation)
        if self.policy.is_listening:
            self.policy.observe(observation)

    def learn(self) -> None:
        self.learned.append(len(self.observed))
        self.policy.learn()

    @property
    def is_calm(self) -> bool:
        return self.policy.is_calm

    @property
    def is_urgent(self) -> bool:
        return self.policy.is_urgent

    def snapshot(self) -> State:
        return self.policy.snapshot()

    def restore(self, state: State) -> None:
        self.policy.restore(state)


def watched(name: str, watches: list[Watched]) -> Callable[[Setting], Policy]:
    """Builds a policy and keeps a hold of it."""

    def build(setting: Setting) -> Policy:
        watches.append(Watched(wiring.make_policy(chosen(name, FILTERS, "a.k"), setting)))
        return watches[-1]

    return build


@cache
def watched_run(name: str) -> tuple[Watched, Run]:
    """A run over the whole stream, for the checks that look at what it leaves."""
    watches: list[Watched] = []
    found = run(watched(name, watches))
    return watches[0], found


def routes(found: Run) -> list[list[Any]]:
    """What was routed where, with everything but the seconds."""
    frame = found.report.operators(by_batch=True).drop(columns=["seconds", "microseconds"])
    rows: list[list[Any]] = frame.to_numpy().tolist()
    return rows


@cache
def naive(first: int, rows: int) -> list[int]:
    """The times of the rows of a part of the stream that pass all filters."""
    question = reference.Question(
        streams={"a": reference.Source(time="ts")},
        conditions=[_above(f"v{i}", 0.7) for i in range(3)],
        select=[("a", "ts")],
    )
    expected = reference.answer(question, [{"a": stream().slice(first, rows).to_pylist()}])
    return sorted(row[0] for row in expected.elements())


def check_the_answer_is_right(name: str) -> None:
    """Whatever it learns, the naive answer; small micro-batches are as many as large ones, around the change."""
    for batch_rows, first, rows in ((1_000, 0, ROWS), (100, 0, ROWS), (7, 1_300, 400)):
        results = run(name, batch_rows=batch_rows, first=first, rows=rows).results
        assert sorted(results["ts"].to_pylist()) == naive(first, rows) != []


def check_joins_are_answered(name: str) -> None:
    """Probes are operators like any other: the same answer as the static order gives."""
    rng = np.random.default_rng(3)
    data = {s: pa.table({"ts": np.arange(600), "k": rng.integers(0, 40, 600)}) for s in "abc"}
    asked = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(50), delay=0) for s in data],
        joins=["a.k = b.k", "b.k = c.k"],
        filters=[eddy.Filter("even", on="b", where="k % 2 = 0")],
    )
    results = [
        eddy.run_local(asked, data, policy=p, batch_rows=50).results for p in (chosen(name, ["even"], "a.k"), "fixed")
    ]
    found, expected = [sorted(tuple(row.values()) for row in table.to_pylist()) for table in results]
    assert found == expected != []


def check_a_seed_fixes_the_routes(name: str) -> None:
    """The same seed routes the same way, so that a retried task does as the first try did."""
    assert routes(run(name, seed=3)) == routes(run(name, seed=3))


def check_nothing_is_lost(name: str) -> None:
    """Rows in = dropped + survived, over everything that the policy was told."""
    watch, found = watched_run(name)
    frame = found.report.operators()
    assert (frame["rows_out"] <= frame["rows_in"]).all()
    assert (frame["evaluated"] <= frame["rows_in"]).all()
    # What was asked aside was told of rows that a step has dropped already.
    steps = [o for o in watch.observed if not o.is_profile or o.legs[0].exhaustive]
    passed = [np.logical_and.reduce(o.outcomes) for o in steps]
    assert sum(int((~one).sum()) for one in passed) == ROWS - found.results.num_rows


def check_a_snapshot_is_plain(name: str) -> None:
    """JSON and arrays: nothing that would have to be unpickled."""
    watch, _ = watched_run(name)
    for part in watch.snapshot().values():
        assert isinstance(part, np.ndarray) or json.dumps(part) is not None


def check_insight_only_tells(name: str) -> None:
    """Whoever looks at a policy, however often, changes nothing."""
    policy = watched_run(name)[0].policy
    before = cloudpickle.dumps(policy.snapshot())
    assert policy.insight == policy.insight
    assert cloudpickle.dumps(policy.snapshot()) == before


def check_it_learns_once_a_micro_batch(name: str) -> None:
    """After all that was observed in it, and never in between."""
    watches: list[Watched] = []
    run(watched(name, watches), batch_rows=500)
    assert watches[0].learned == sorted(watches[0].learned)
    assert len(watches[0].learned) == ROWS // 500
    assert watches[0].learned[-1] == len(watches[0].observed)


def check_what_is_restored_goes_on_as_it_was(name: str) -> None:
    """A policy restored from what another has learned makes the same decisions from then on."""
    first, restored = engine(name), dict[int, Engine]()
    for number, batch in enumerate(batches(0, ROWS), 1):
        found = [part.to_pydict() for part in first.run(batch)]
        for second in restored.values():
            assert [part.to_pydict() for part in second.run(batch)] == found
            assert _calls(first) == _calls(second)
        if ended := restored.pop(number - 10, None):
            assert first.snapshot() == ended.snapshot()
        if number % 4 == 0:
            restored[number] = engine(name)
            restored[number].restore(first.snapshot())
    assert all(first.snapshot() == second.snapshot() for second in restored.values())


def check_a_restart_changes_no_report(name: str) -> None:
    """What a policy has learned of a stream is told before the stream's next rows come."""
    first, second = engine(name), engine(name)
    for batch in batches(0, ROWS):
        list(first.run(batch))
    second.restore(first.snapshot())
    for one in (first, second):
        list(one.run({"a": no_rows(stream().schema)}))
    told, again = first.read_counters(), second.read_counters()
    assert repr(told.insight.decisions) == repr(again.insight.decisions)
    assert first.snapshot() == second.snapshot()


def check_nothing_is_kept_of_rows_that_are_gone(name: str) -> None:
    """Neither filters nor a join leave more behind in a policy, the older the query is."""
    rng = np.random.default_rng(5)
    watches: list[Watched] = []
    asked = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(50), delay=0) for s in "ab"], joins=["a.k = b.k"]
    )
    choice = chosen(name, [], "a.k")
    sizes = []
    for rows in (1_000, 4_000):
        data = {
            s: [
                pa.table({"ts": np.arange(start, start + 50), "k": rng.integers(0, 40, 50)})
                for start in range(0, rows, 50)
            ]
            for s in "ab"
        }
        eddy.run_local(asked, data, policy=partial(_kept, choice, watches=watches))
        sizes.append(len(cloudpickle.dumps(watches[-1].policy)))
    assert sizes[1] <= 1.2 * sizes[0] + 500


def _kept(choice: PolicyChoice, setting: Setting, watches: list[Watched]) -> Policy:
    watches.append(Watched(wiring.make_policy(choice, setting)))
    return watches[-1].policy


def check_state_does_not_grow(name: str) -> None:
    """What is kept depends on the query, not on its age."""
    old = engine(name)
    sizes = []
    for _ in range(3):
        for batch in batches(0, ROWS):
            list(old.run(batch))
        snapshot = old.snapshot()
        # Before it is compressed: room that is kept free takes no bytes in the blob. Long lists are such a part, too.
        parts = itertools.chain.from_iterable(json.loads(snapshot.meta.partition(" ")[2])["sections"].values())
        sizes.append(len(snapshot.meta) + sum(size for _, size, _ in parts))
    assert sizes[2] <= 1.1 * sizes[0]


def check_rounds_are_small_where_calls_alone_count(name: str) -> None:
    """However cheap rows are: a policy that has learned something soon saves calls in the same micro-batch."""
    if "costs" not in wiring.policy_parameters(name):
        return
    choice = chosen(name, FILTERS, "a.k")
    own = dict(choice) if isinstance(choice, Mapping) else {"name": name}
    made: list[Policy] = []

    def keep(setting: Setting) -> Policy:
        made.append(wiring.make_policy({**own, "costs": costs}, setting))
        return made[-1]

    for costs in ("unit", "time"):
        wiring.engine(query(), {"a": stream().schema}, keep, tables={}, clock=steady_clock(), seed=0)
        # Who has nothing to learn gets a micro-batch whole.
        expected = costs == "unit"
        assert made[-1].is_calm or made[-1].is_urgent == expected, f"expected is_urgent {expected}, costs {costs!r}"


def check_costs_that_are_said_count(name: str) -> None:
    """A policy that goes by costs goes by those that filters have, in whatever unit, and time has no say."""
    goes_by_costs = "costs" in wiring.policy_parameters(name)
    table, batch_rows, last = pa.concat_tables([stream()] * 4), 500, 6
    units: list[tuple[float | str, ...]] = [
        (400, 20, 1),
        (4e-20, 2e-21, 0),
        ("400 milliseconds", "20 milliseconds", "1 millisecond"),
    ]
    for costs in units:
        filters = [
            eddy.Filter(f"f{i}", on="a", function=_is_large, columns=[f"v{i}"], cost=cost)
            for i, cost in enumerate(costs)
        ]
        asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.ts"])
        choice = chosen(name, FILTERS, "a.k")
        found = eddy.run_local(asked, {"a": table}, policy=choice, batch_rows=batch_rows, clock=float)
        assert found.results.num_rows == 4 * len(naive(0, ROWS))
        steps = found.report.operators(by_batch=True)
        latest = steps[steps["batch"] >= steps["batch"].max() + 1 - last]
        dearest = (steps["cost"] / steps["evaluated"]).max() * last * batch_rows
        # The written order asks the dearest filter about all rows; that of costs about a fifth of them.
        assert not goes_by_costs or latest["cost"].sum() < 0.25 * dearest


def _is_large(values: pd.Series) -> pd.Series:
    return values > 0.7


def check_an_unknown_parameter_is_refused(name: str) -> None:
    """A slip in a config file is an error, not a default."""
    with pytest.raises(eddy.QueryError, match=f'policy "{name}": unknown parameter "no_such_parameter"'):
        wiring.make_policy({"name": name, "no_such_parameter": 1}, Setting(operators=()))


def check_one_operator_is_routed_to(name: str) -> None:
    """With nothing to choose there is one way."""
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=[eddy.Filter("f", on="a", where="v0 > 0.7e0")])
    found = eddy.run_local(asked, {"a": stream()}, policy=chosen(name, ["f"], "a.k"))
    assert found.report.operators()["rows_in"].sum() == ROWS


def _above(column: str, least: float) -> reference.Condition:
    return lambda found: bool(found["a"][column] > least)


def _calls(engine: Engine) -> dict[Hop, tuple[float, float]]:
    return {hop: (s.rows_in, s.rows_out) for hop, s in engine.read_counters().operators.items()}


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
POLICY_NAMES = sorted(POLICIES)
