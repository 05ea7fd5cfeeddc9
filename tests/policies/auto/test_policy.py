"""What `auto` refuses, what it drops, what it keeps, and how little it does while a stream is idle."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import NO_FEATURES, Column, Leg, Lineage, Observation, Policy, Prices, Setting, Statistics, Task
from eddy.engine import Engine
from eddy.policies.auto.arms import Arm, Kept
from eddy.policies.auto.charges import Charges
from eddy.policies.auto.course import DECISIONS_KEPT, Course
from eddy.policies.auto.duel import Bill
from eddy.policies.auto.ledger import Ledger
from eddy.policies.auto.policy import Auto
from eddy.policies.auto.sample import TriedRows
from eddy.policies.fixed import Fixed
from eddy.tuples import Hop
from tests.policies.auto.eager import Hasty, Time, build, hurry

NAN = float("nan")
KNOWS = {
    "name": "knows",
    "truth": {
        "attribute": "s.kind",
        "values": [0, 1, 2],
        "selectivities": {f"f{n}": [0.1, 0.5, 0.9] for n in range(3)},
    },
}

SHARES: Sequence[Any] = (0, -0.1, 1.01, NAN, float("inf"), True, "0.02", None, [0.1])


def query(filters: int = 3) -> eddy.Query:
    asked = [eddy.Filter(f"f{n}", on="s", where=f"p{n}") for n in range(filters)]
    return eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=asked, select=["s.ts", "s.kind"])


def rows(count: int, *, seed: int = 0, shares: Sequence[float] = (0.9, 0.5, 0.1)) -> pa.Table:
    rng = np.random.default_rng(seed)
    columns = {f"p{n}": rng.random(count) < share for n, share in enumerate(shares)}
    return pa.table({"ts": np.arange(count), "kind": rng.integers(0, 3, count), **columns})


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        *[({"regret": share}, "regret: expected a share above 0 and up to 1, got ") for share in SHARES],
        *[({"control": share}, "control: expected a share above 0 and up to 1, got ") for share in SHARES],
        *[({"d": d}, "d: expected a number of buckets from 2 to 250, got ") for d in (1, 251, 2.5, "24", True, [24])],
        ({"costs": "money"}, 'costs: expected "time" or "unit", got \'money\''),
        ({"costs": None}, 'costs: expected "time" or "unit", got None'),
        ({"attributes": "s.kind"}, "attributes: expected a list of \"stream.column\", got 's.kind'"),
        ({"attributes": 7}, 'attributes: expected a list of "stream.column", got 7'),
        ({"attributes": ["s.kin"]}, 'unknown classifier attribute "s.kin"; did you mean "s.kind"'),
        ({"attributes": [None]}, 'unknown classifier attribute "None"'),
        ({"arms": "content"}, 'arms: expected a list of policies, as ["source", "content"], got \'content\''),
        ({"arms": None}, 'arms: expected a list of policies, as ["source", "content"], got None'),
        ({"arms": {"name": "content"}}, "arms: expected a list of policies"),
        ({"arms": {"content"}}, "arms: expected a list of policies"),
        ({"arms": [7]}, 'arms: expected policies, by name or as {"name": ..., parameter: value}, got 7'),
        ({"arms": [["content"]]}, "arms: expected policies, by name or as"),
        ({"arms": [{"R": 5}]}, "arms: expected policies, by name or as"),
        ({"arms": [{"name": None}]}, "arms: expected policies, by name or as"),
        ({"arms": ["auto"]}, 'arms: "auto" cannot be an arm of itself; name the policies that it may choose from'),
        ({"arms": [{"name": "auto", "arms": []}]}, 'arms: "auto" cannot be an arm of itself'),
        ({"arms": ["content", "content"]}, 'arms: "content" is named twice; name each policy once'),
        ({"arms": ["content", {"name": "content", "R": 5}]}, 'arms: "content" is named twice'),
        ({"arms": ["contend"]}, 'arms: policy: unknown policy "contend"; did you mean "content"'),
        ({"arms": [{"name": "content", "threshhold": 1}]}, 'arms: policy "content": unknown parameter "threshhold"'),
        ({"arms": [{"name": "content", "R": 0}]}, 'arms: policy "content": R: expected a whole number of 1 or more'),
        ({"arms": ["knows"]}, 'arms: policy "knows": expected the parameter "truth", got none; add it'),
        ({"arms": [KNOWS], "d": 3}, 'arms: "knows" divides "s.kind" by values of its own'),
        ({"arms": [KNOWS], "d": 4}, 'arms: "knows" divides attributes into 3 buckets, and "auto" into 4'),
        ({"arms": [{"name": "query_mesh", "d": 9}]}, 'arms: "query_mesh" divides attributes into 9 buckets'),
        ({"regrets": 0.1}, 'unknown parameter "regrets"; did you mean "regret"'),
    ],
    ids=str,
)
def test_wrong_parameters_are_explained(parameters: Mapping[str, Any], message: str) -> None:
    with pytest.raises(eddy.QueryError) as refused:
        eddy.run_local(query(), {"s": rows(10)}, policy={"name": "auto", **parameters})
    assert str(refused.value).startswith('policy "auto": ')
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"arms": []},
        {"arms": ("source",)},
        {"arms": ["fixed"]},
        {"regret": 1, "control": 1},
        {"regret": 1e-300, "control": 1e-300},
        {"regret": np.float64(0.02)},
        {"attributes": []},
        {"attributes": ["s.kind", "s.kind"]},
        {"d": np.int64(8)},
        {"d": None},
        {"d": 3, "attributes": [], "arms": [KNOWS, "content"]},
    ],
    ids=str,
)
def test_the_bounds_are_allowed(parameters: Mapping[str, Any]) -> None:
    with hurry():
        found = eddy.run_local(query(), {"s": rows(200)}, policy={"name": "auto", "costs": "unit", **parameters})
    expected = eddy.run_local(query(), {"s": rows(200)}, policy="fixed")
    assert sorted(found.results["ts"].to_pylist()) == sorted(expected.results["ts"].to_pylist())


class Spy(Policy):
    """An arm that notes whatever it is told; it does as the written order does."""

    def __init__(self, setting: Setting, told: list[str]) -> None:
        self._fixed, self._told = Fixed(setting), told

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        self._told.append("plan")
        return self._fixed.plan(task, ready)

    def observe(self, observation: Observation) -> None:
        self._told.append("observe")

    def learn(self) -> None:
        self._told.append("learn")


def test_an_idle_stream_tells_no_arm_anything_and_builds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its plans are the legs of the written order as they are, and neither a step nor a lesson asks for a price."""
    told: list[str] = []
    plans: list[Sequence[Leg]] = []

    def refuse(*_: object) -> None:
        raise AssertionError("an idle stream counts nothing")

    for owner, name in (
        (Course, "observe"),
        (Course, "_ask"),
        (Charges, "charge"),
        (Ledger, "settle"),
        (Prices, "__getitem__"),
    ):
        monkeypatch.setattr(owner, name, refuse)

    class Watched(Auto):
        def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
            plans.append(super().plan(task, ready))
            return plans[-1]

    def choose(setting: Setting) -> Policy:
        def make(choice: Any, offered: Mapping[str, Any]) -> Policy:
            return Spy(setting, told) if choice == "spy" else setting.make(choice, offered)

        return Watched(_with(setting, make), arms=["spy"])

    # Too few rows for a first look.
    eddy.run_local(query(), {"s": rows(400)}, policy=choose, batch_rows=20, clock=Time())
    assert told == []
    assert len(plans) == 20
    assert all(plan is plans[0] for plan in plans)


def _with(setting: Setting, make: Callable[..., Policy]) -> Setting:
    return Setting(
        operators=setting.operators,
        columns=setting.columns,
        reads=setting.reads,
        prices=setting.prices,
        make=make,
        clock=setting.clock,
    )


def test_with_one_operator_or_no_arms_there_is_nothing_to_do() -> None:
    for filters, arms in ((1, ["source"]), (3, [])):
        engine = build(query(filters), {"s": rows(1).schema}, {"name": "auto", "arms": arms}, Time())
        for part in rows(3_000).to_batches(max_chunksize=100):
            list(engine.run({"s": part}))
        insight = engine.read_counters().insight
        assert (insight.regrets, insight.decisions) == ([], [])


def setting(operators: Sequence[str] = ("f0", "f1", "f2"), columns: Sequence[str] = ("kind",)) -> Setting:
    """A query's, of which `auto` knows the names alone."""
    found = tuple(Column("s", column) for column in columns)
    made = Setting(
        operators=tuple(operators),
        columns=found,
        reads=frozenset(found),
        make=lambda choice, offered: _make(choice, offered, made),
    )
    return made


def _make(choice: Any, offered: Mapping[str, Any], made: Setting) -> Policy:
    name = choice if isinstance(choice, str) else choice["name"]
    known = wiring.policy_parameters(name)
    taken = {key: value for key, value in offered.items() if key in known}
    return wiring.make_policy({"name": name, **taken}, made)


def learned(**parameters: Any) -> Mapping[str, Any]:
    """What an `auto` with something to lose writes down, as it comes back from a checkpoint."""
    made: list[Auto] = []

    def choose(given: Setting) -> Policy:
        made.append(Auto(given, **{"costs": "unit", "regret": 1.0, **parameters}))
        return made[-1]

    with hurry():
        eddy.run_local(query(), {"s": rows(600)}, policy=choose, batch_rows=20, clock=Time())
    state = made[0].snapshot()
    plain = {name: value for name, value in state.items() if not isinstance(value, np.ndarray)}
    assert plain["streams"]["s"]["ledger"]["thinking"]
    return {**state, **json.loads(json.dumps(plain))}


@pytest.mark.parametrize(
    ("given", "parameters"),
    [
        (setting(("f0", "f2", "f1")), {}),
        (setting(("f0", "f1")), {}),
        (setting(columns=("kind", "ts")), {}),
        (setting(), {"arms": ["content", "source", "query_mesh"]}),
        (setting(), {"arms": ["source"]}),
        (setting(), {"d": 9}),
        (setting(), {"attributes": []}),
    ],
    ids=["order", "operators", "columns", "arms in another order", "arms", "d", "attributes"],
)
def test_what_was_learned_for_something_else_is_dropped_with_a_word(
    given: Setting, parameters: Mapping[str, Any]
) -> None:
    state, policy = learned(attributes=["s.kind"]), Auto(given, **{"costs": "unit", **parameters})
    policy.restore(state)
    (decision,) = policy.insight.decisions
    assert decision.stream == "s"
    assert "begins anew" in decision.reason
    (regret,) = policy.insight.regrets
    assert (regret.state, regret.spent, regret.written) == ("idle", 0.0, 0.0)


def test_what_was_learned_for_the_same_goes_on() -> None:
    state, policy = learned(attributes=["s.kind"]), Auto(setting(), costs="unit", regret=1.0)
    policy.restore(state)
    assert json.dumps(policy.snapshot()["streams"]) == json.dumps(state["streams"])


def test_what_a_newer_version_wrote_is_refused() -> None:
    """The engine says so, since it cannot be told from damage."""
    state = {**learned(), "streams": {"s": {"state": "idle"}}}
    made_for = Auto(setting()).snapshot()["made for"]
    with pytest.raises(KeyError):
        Auto(setting()).restore({**state, "made for": made_for})


def drifting(part: int) -> pa.Table:
    """Rows whose best order changes with every part."""
    shares = [0.1, 0.5, 0.9]
    return rows(200, seed=part, shares=shares[part % 3 :] + shares[: part % 3])


def test_state_and_decisions_do_not_grow_with_age() -> None:
    """An arm has as much state late as early, and so has `auto` with the same arms in charge and in a duel."""
    choice = Hasty(["picky", "lottery", "source", "content"])
    with hurry():
        running = build(query(), {"s": rows(1).schema}, choice, Time())
        sizes: tuple[dict[Any, int], ...] = ({}, {}, {})
        decided = 0
        for part in range(45):
            for batch in drifting(part).to_batches(max_chunksize=50):
                list(running.run({"s": batch}))
            saved = running.snapshot()
            of_third, arms = sizes[part // 15], _held(running)
            of_third[arms] = max(of_third.get(arms, 0), len(saved.meta) + len(saved.blob))
            told = running.read_counters().insight.decisions
            assert len([one for one in told if one.policy == "auto"]) <= DECISIONS_KEPT
            decided = max([decided, *(one.number for one in told if one.policy == "auto")])
    assert decided > 3 * DECISIONS_KEPT
    early, _, late = sizes
    both = early.keys() & late.keys()
    assert len(both) >= 3
    assert all(late[arms] <= 1.2 * early[arms] for arms in both)


def _held(running: Engine) -> tuple[str | None, ...]:
    """The arms that a snapshot has."""
    policy: Any = running.lanes[""]._policy
    return tuple(
        arm and arm.name for course in policy._courses.values() for arm in (course.champion, course.challenger)
    )


@dataclass
class Counted(Time):
    """Time that counts how often somebody looks."""

    looks: int = 0

    def __call__(self) -> float:
        self.looks += 1
        return super().__call__()


def test_time_does_not_grow_with_age() -> None:
    """By looks at the clock, of which every plan, step and lesson takes some: the same rows, early and late."""
    time, counts = Counted(), []
    with hurry():
        running = build(query(), {"s": rows(1).schema}, Hasty(["lottery", "source"]), time)
        for number in range(24):
            before = time.looks
            list(running.run({"s": drifting(number).to_batches()[0]}))
            counts.append(time.looks - before)
    assert np.mean(counts[-9:]) <= 1.25 * np.mean(counts[:9])


@pytest.mark.parametrize("shares", [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.0, 1.0, 0.5)], ids=str)
@pytest.mark.parametrize("ticks", [(0.0,), (1.0,), (-1.0,), (1e9, -1e9)], ids=str)
def test_operators_that_never_or_always_pass_and_take_no_time(shares: Sequence[float], ticks: Sequence[float]) -> None:
    data = rows(300, shares=shares)
    with hurry():
        for batch_rows in (1, 7, 300):
            asked = Hasty(["source", "lottery", "picky", "query_mesh"])
            found = eddy.run_local(query(), {"s": data}, policy=asked, batch_rows=batch_rows, clock=Time(ticks))
            passed = np.logical_and.reduce([data[f"p{n}"].to_numpy() for n in range(3)])
            assert sorted(found.results["ts"].to_pylist()) == np.flatnonzero(passed).tolist()


def test_an_operator_that_raises_stops_the_run_as_it_would_without_auto() -> None:
    def fail(p0: pa.Array) -> pa.Array:
        raise ValueError("no answer")

    asked = eddy.Query(
        streams=[eddy.Stream("s", time="ts")],
        filters=[eddy.Filter("bad", on="s", function=fail), eddy.Filter("f1", on="s", where="p1")],
    )
    for policy in ("fixed", Hasty(["source", "lottery"])):
        with hurry(), pytest.raises(eddy.QueryError, match="raised ValueError: no answer"):
            eddy.run_local(asked, {"s": rows(500)}, policy=policy, batch_rows=10, clock=Time())


@pytest.mark.parametrize("planned", [None, 7, [None], [Leg(route=(Hop("f0", ""),), rows=np.array([9]))]])
def test_an_arm_whose_plan_cannot_be_read_is_named(planned: Any) -> None:
    class Bad(Policy):
        def plan(self, task: Task, ready: tuple[Hop, ...]) -> Any:
            return planned

    hop = Hop("f0", "")
    task = Task(
        lineage=Lineage("s", frozenset("s"), frozenset()),
        rows=4,
        statistics=Statistics(),
        prices=Prices(),
        chance=lambda: np.random.default_rng(0),
        after=lambda _route: (),
        independent=True,
        buckets=Kept(np.zeros((4, 0), np.uint8), ()),
    )
    arm = Arm("bad", Bad(Setting(operators=("f0",))), NO_FEATURES, "s", 0.0)
    told = 'policy "auto": arm "bad" must plan a list of Leg(...) with positions below 2, and planned '
    with pytest.raises(eddy.EngineError, match=re.escape(told + repr(planned)[:20])):
        arm.ask(task, (hop,), np.array([1, 3]), Bill())


def test_empty_micro_batches_change_nothing() -> None:
    with hurry():
        running = build(query(), {"s": rows(1).schema}, Hasty(["lottery", "source"]), Time())
        for batch in rows(200).to_batches(max_chunksize=20):
            list(running.run({"s": batch}))
            before = running.read_counters().insight
            for _ in range(3):
                list(running.run({"s": batch.slice(0, 0)}))
                after = running.read_counters().insight
                assert after.decisions == before.decisions
                assert [(one.state, one.arm) for one in after.regrets] == [
                    (one.state, one.arm) for one in before.regrets
                ]
                assert all(one.spent == one.written == 0 for one in after.regrets)


def test_no_arm_is_asked_about_no_rows() -> None:
    """A sample takes the only row of a round, and nothing is left for the one in charge."""
    with hurry():
        running = build(query(), {"s": rows(1).schema}, Hasty(["picky"], {"costs": "unit", "attributes": []}), Time())
        policy: Any = running.lanes[""]._policy
        batches = iter(rows(2_000).to_batches(max_chunksize=10))
        while not policy._courses or policy._courses["s"].champion is None:
            list(running.run({"s": next(batches)}))
        course = policy._courses["s"]
        course.sample = TriedRows(course.ready)
        list(running.run({"s": next(batches).slice(0, 1)}))
        assert len(course.sample) == 1
