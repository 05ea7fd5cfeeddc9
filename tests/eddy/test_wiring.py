"""Which columns an engine reads, and what is wrong, is known before there is an engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.contracts import Hop, Leg, Policy, Setting, Task
from eddy.jobs.config.sections import POLICY
from eddy.policies.fixed import Fixed
from eddy.policies.registry import POLICIES
from eddy.sql import Column

WIDE = pa.schema([(name, pa.int64()) for name in ("ts", "k", "v", "w", "spare", "bad")])
SCHEMAS = {"a": WIDE, "b": WIDE, "t": pa.schema([("k", pa.int64()), ("spare", pa.int64())])}


def query(*, join: str = "a.k = b.k", where: str = "v > 1") -> eddy.Query:
    return eddy.Query(
        streams=[eddy.Stream("a", time="ts", malformed="bad"), eddy.Stream("b", time="ts")],
        tables=[eddy.Table("t")],
        joins=[join, "a.k = t.k"],
        filters=[eddy.Filter("f", on="b", where=where)],
        select=["a.k as k"],
    )


def read(policy: Any, **changes: str) -> dict[str, list[str]]:
    found = wiring.list_read_columns(query(**changes), SCHEMAS, policy, float)
    return {name: schema.names for name, schema in found.items()}


def build(policy: Any, **changes: str) -> None:
    tables = {"t": pa.RecordBatch.from_pylist([], schema=SCHEMAS["t"])}
    streams = {name: SCHEMAS[name] for name in "ab"}
    wiring.engine(query(**changes), streams, policy, tables=tables, clock=float, seed=0)


def test_what_nothing_reads_is_left_out() -> None:
    needed = {"a": ["ts", "k", "bad"], "b": ["ts", "k", "v"], "t": ["k"]}
    assert read("fixed") == needed
    assert read({"name": "content", "attributes": ["a.w", "b.k"]}) == {**needed, "a": ["ts", "k", "w", "bad"]}


@pytest.mark.parametrize("where", ["v > 1", "w > v and k < 3", "true"])
def test_the_default_reads_what_the_written_order_reads_and_no_more(where: str) -> None:
    assert read("auto", where=where) == read("fixed", where=where)
    assert "w" in read({"name": "auto", "attributes": ["a.w"]}, where=where)["a"]


def test_nobody_names_the_default_twice() -> None:
    """Here, on Spark and in a job's file the policy is the same when nobody names one."""
    named = {inspect.signature(f).parameters["policy"].default for f in (eddy.run_local, eddy.iter_local, eddy.attach)}
    assert named == {POLICY.keys["name"].default} == {"auto"}


def test_a_policy_is_told_of_the_same_query_as_in_an_engine() -> None:
    told: list[Setting] = []

    def make(setting: Setting) -> Fixed:
        told.append(setting)
        return Fixed(setting)

    read(make)
    build(make)
    first, second = ([getattr(one, name) for name in ("operators", "columns", "reads", "clock")] for one in told)
    assert first == second
    assert told[0].operators == ("f", "probe_a", "probe_b", "probe_t")


def test_a_policy_is_told_what_a_filter_reads_itself_if_it_is_sql() -> None:
    told: list[Setting] = []

    def make(setting: Setting) -> Fixed:
        told.append(setting)
        return Fixed(setting)

    def dear(v: Any) -> Any:
        return v

    filters = [
        eddy.Filter("both", on="a", where="v > w"),
        eddy.Filter("none", on="a", where="true"),
        eddy.Filter("dear", on="a", function=dear),
    ]
    asked = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=filters, select=["a.ts"])
    wiring.list_read_columns(asked, {"a": WIDE}, make, float)
    assert told[0].sql_reads == {"both": {Column("a", "v"), Column("a", "w")}, "none": set()}


@pytest.mark.parametrize(
    ("policy", "changes", "message"),
    [
        ("fixt", {}, 'unknown policy "fixt"'),
        ({"name": "fixed", "order": ["g"]}, {}, 'policy "fixed": order: unknown operator "g"'),
        ({"name": "content", "attributes": ["a.x"]}, {}, 'attributes: unknown classifier attribute "a.x"'),
        ({"name": "lottery", "half_life": 0}, {}, "half_life: expected a whole number of 1 or more, got 0"),
        ("fixed", {"where": "x > 1"}, 'filter "f": unknown column "x"'),
        ("fixed", {"where": "v"}, 'filter "f": '),
        ("fixed", {"join": "a.x = b.k"}, 'unknown column "a.x"'),
        ("fixed", {"join": "a.k = array(b.k)"}, 'join "a.k = array'),
    ],
)
def test_what_is_wrong_is_said_as_an_engine_would_say_it(policy: Any, changes: dict[str, str], message: str) -> None:
    def said(act: Callable[..., Any]) -> str:
        with pytest.raises(eddy.QueryError, match=message) as caught:
            act(policy, **changes)
        return str(caught.value)

    assert said(read) == said(build)


def test_of_several_queries_an_error_says_which() -> None:
    right, wrong = eddy.Query(name="right", streams=[eddy.Stream("b", time="ts")]), query(where="x > 1")
    data = {name: schema.empty_table() for name, schema in SCHEMAS.items()}
    with pytest.raises(eddy.QueryError, match=r'^query "wrong": filter "f": unknown column "x"'):
        eddy.run_local(eddy.Queries([right, replace(wrong, name="wrong")]), data)
    with pytest.raises(eddy.QueryError, match=r'^query "right": policy "fixed": order: unknown operator "f"'):
        eddy.run_local(eddy.Queries([right]), {"b": data["b"]}, policy={"name": "fixed", "order": ["f"]})


def test_queries_that_share_a_stream_compare_times_as_one_type() -> None:
    """A stream of whole times may be beside one of fractions: rows have one time in all queries."""
    whole, parts = (pa.table({"k": [1], "ts": pa.array([1], kind)}) for kind in (pa.int64(), pa.float64()))
    pairs = [
        eddy.Query(name=f"a{n}", streams=[eddy.Stream(s, time="ts") for s in ("a", n)], joins=[f"a.k = {n}.k"])
        for n in "bc"
    ]
    with pytest.raises(eddy.QueryError, match='queries: the times of "ab" and "ac" are of other types'):
        eddy.run_local(eddy.Queries(pairs), {"a": whole, "b": whole, "c": parts})


class OnlyPlan(Policy):
    """It has what it must have, and no more."""

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return [Leg(route=ready[:1])]


def test_a_policy_that_only_plans_runs() -> None:
    query = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=[eddy.Filter("f", on="a", where="ts > 1")])
    assert eddy.run_local(query, {"a": pa.table({"ts": [1, 2]})}, policy=OnlyPlan).results["a_ts"].to_pylist() == [2]


class NoSetting(Fixed):
    """It takes nothing."""

    def __init__(self) -> None:
        super().__init__(Setting(operators=()))


class NoPlan(Policy):
    """It has not been written yet."""

    def __init__(self, setting: Setting) -> None:
        pass


class ByPlace(Fixed):
    """Its parameter may be given by its place."""

    def __init__(self, setting: Setting, depth: int = 3) -> None:
        super().__init__(setting, order=setting.operators[:depth])


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (NoSetting, 'policy "NoSetting": it cannot be built as Name.setting, .* too many positional arguments; write'),
        (NoPlan, 'policy "NoPlan": it has no "plan"; write it'),
        ({"name": "by_place", "depth": 2}, 'policy "by_place": expected keyword-only parameters, got "depth" without'),
    ],
)
def test_a_class_that_is_no_policy_yet_says_what_to_write(
    policy: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(POLICIES, "by_place", ByPlace)
    with pytest.raises(eddy.QueryError, match=message):
        build(policy)


def test_a_plan_that_is_wrong_names_its_policy_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name and parameters, as a config file has them."""
    monkeypatch.setattr(Fixed, "plan", lambda *_: [])
    query = eddy.Query(streams=[eddy.Stream("a", time="ts")], filters=[eddy.Filter("f", on="a", where="ts > 1")])
    with pytest.raises(eddy.EngineError, match=r'^policy {"name": "fixed"}: its legs leave out 2'):
        eddy.run_local(query, {"a": pa.table({"ts": [1, 2]})}, policy="fixed")
