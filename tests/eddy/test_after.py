"""A filter that waits for others never sees what they drop: any policy, any route, any micro-batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.contracts import Leg, Policy, Setting, Task
from eddy.engine import Engine
from eddy.errors import EngineError
from eddy.policies.registry import POLICIES
from eddy.spark.before.pushdown import divide, find_pushable
from eddy.tuples import Hop
from eddy.tuples.arrow import one_batch
from eddy.tuples.lineage import Lineage, Machine, Rule
from eddy.wiring import PolicyChoice
from tests.filters import SeenTooEarly
from tests.policies.checks import steady_clock
from tests.policies.choices import chosen
from tests.policies.wild import Wild
from tests.tries import fewer

ROWS, BATCH = 3_000, 250
STORED = 1_500
"""Rows of each stream where two are joined: in half as many micro-batches, each of which has many more steps."""

NAMES = ("f0", "f1", "f2", "f3")

CHOICES: Mapping[str, PolicyChoice] = {
    **{name: chosen(name, NAMES, "a.c") for name in sorted(POLICIES)},
    "the other way round": {"name": "fixed", "order": list(reversed(NAMES))},
    "a mesh of few rows": {"name": "query_mesh", "S": 100, "T": 10, "costs": "unit"},
    "wild": Wild,
}
"""Every policy, the worst order, a mesh that is soon made, and whatever is allowed."""

WAITS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "one": {"f3": ["f0"]},
    "all": {"f0": ["f1", "f2", "f3"]},
    "a chain": {"f0": ["f1"], "f1": ["f2"], "f2": ["f3"]},
    "two and two": {"f0": ["f2", "f3"], "f1": ["f2", "f3"]},
}
"""Which filters wait for which others."""

Where = Mapping[str, str]
"""The input of each filter."""

Row = Mapping[str, Any]


def table(seed: int) -> pa.Table:
    """Rows of a class `c`, on which depends which filter drops most, and a value for each filter."""
    rng = np.random.default_rng(seed)
    c = rng.integers(0, 3, ROWS)
    values = {f"v{n}": rng.random(ROWS) + 0.3 * (c == n) for n in range(len(NAMES))}
    return pa.table({"ts": np.arange(ROWS), "k": rng.integers(0, 60, ROWS), "c": c, **values})


DATA = {name: table(seed) for seed, name in enumerate("ab")}


def passes(value: float) -> bool:
    """What every filter asks of its value."""
    return value > 0.5


def judge(number: int, guards: Sequence[int]) -> Callable[..., Any]:
    """A filter's function; it raises if it sees a row that one of those that it waits for drops."""

    def ask(*values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        for guard in guards:
            if not (values[guard] > 0.5).all():
                raise SeenTooEarly(f"f{number} sees what f{guard} drops")
        return values[number] > 0.5

    ask.__annotations__ = {"values": np.ndarray}
    return ask


def filters(waits: Mapping[str, Sequence[str]], on: Where) -> Iterator[eddy.Filter]:
    """Filters over the values of a row, each with a look at those that it waits for on the same input."""
    for number, name in enumerate(NAMES):
        mine = on.get(name, "a")
        guards = [NAMES.index(other) for other in waits.get(name, ()) if on.get(other, "a") == mine]
        yield eddy.Filter(
            name,
            on=mine,
            function=judge(number, guards),
            columns=[f"v{n}" for n in range(len(NAMES))],
            after=waits.get(name),
        )


def query(waits: Mapping[str, Sequence[str]], on: Where | None = None, *, joined: bool = False) -> eddy.Query:
    """The filters over one stream, or over two that are joined."""
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(100), delay=0) for name in ("ab" if joined else "a")]
    if not joined:
        streams = [eddy.Stream("a", time="ts")]
    select = [f"{stream.name}.ts as {stream.name}" for stream in streams]
    return eddy.Query(
        streams=streams, joins=["a.k = b.k"] if joined else [], filters=list(filters(waits, on or {})), select=select
    )


def found(
    asked: eddy.Query, policy: PolicyChoice, batch_rows: int = BATCH, seed: int = 0, rows: int = ROWS
) -> list[tuple[int, ...]]:
    """The times of the rows in the answer."""
    data = {name: DATA[name].slice(0, rows) for name in asked.inputs}
    run = eddy.run_local(asked, data, policy=policy, batch_rows=batch_rows, seed=seed, clock=steady_clock())
    return sorted(tuple(row.values()) for row in run.results.to_pylist())


@cache
def naive(behind: str = "", rows: int = ROWS) -> list[tuple[int, ...]]:
    """The answer, without an engine: of the stream `a`, or of a join if some filters are on `b`."""
    on, kept = dict.fromkeys(behind.split(), "b"), {}
    for name, whole in DATA.items():
        own = [n for n, f in enumerate(NAMES) if on.get(f, "a") == name]
        kept[name] = [row for row in whole.slice(0, rows).to_pylist() if all(passes(row[f"v{n}"]) for n in own)]
    if not on:
        return [(row["ts"],) for row in kept["a"]]
    return sorted((a["ts"], b["ts"]) for a, b in pairs(kept["a"], kept["b"]))


def pairs(left: Sequence[Row], right: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """Every two rows that a join finds."""
    alike: dict[int, list[Row]] = {}
    for row in right:
        alike.setdefault(row["k"], []).append(row)
    return ((a, b) for a in left for b in alike.get(a["k"], ()) if abs(a["ts"] - b["ts"]) <= 100)


BEHIND = ("f1 f3", "f2 f3")
"""The filters on `b` where two streams are joined."""


@pytest.mark.parametrize("policy", CHOICES)
@pytest.mark.parametrize("waits", WAITS)
def test_nobody_sees_what_those_before_drop(policy: str, waits: str) -> None:
    for batch_rows in (BATCH, 1_500):
        assert found(query(WAITS[waits]), CHOICES[policy], batch_rows) == naive()


@pytest.mark.parametrize("policy", CHOICES)
@pytest.mark.parametrize("waits", WAITS)
def test_it_holds_for_stored_rows_too(policy: str, waits: str) -> None:
    """Half of the filters are on each stream, so rows are met by probes before their own filters have asked."""
    for behind in BEHIND:
        on = dict.fromkeys(behind.split(), "b")
        assert found(query(WAITS[waits], on, joined=True), CHOICES[policy], rows=STORED) == naive(behind, STORED)
        assert len(naive(behind, STORED)) > 100


@fewer(2)
@given(
    order=st.permutations(NAMES),
    drawn=st.lists(st.sets(st.integers(0, 3), max_size=2), min_size=4, max_size=4),
    policy=st.sampled_from(sorted(CHOICES)),
    batch_rows=st.sampled_from([120, 400, 3_000]),
    seed=st.integers(0, 2**32),
)
def test_any_waits_without_a_circle_are_kept(
    order: list[str], drawn: list[set[int]], policy: str, batch_rows: int, seed: int
) -> None:
    waits = {name: [order[n] for n in drawn[place] if n < place] for place, name in enumerate(order)}
    asked = query({name: others for name, others in waits.items() if others})
    assert found(asked, CHOICES[policy], batch_rows, seed) == naive()


@pytest.mark.parametrize("policy", CHOICES)
def test_one_may_wait_for_a_filter_of_more_inputs(policy: str) -> None:
    """Then it sees a row once a combination with it has been let go on, and no others."""
    seen: set[int] = set()

    def dear(ts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        seen.update(ts.tolist())
        return np.asarray(ts % 2 == 0)

    asked = eddy.Query(
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(100), delay=0) for name in "ab"],
        joins=["a.k = b.k"],
        filters=[
            eddy.Filter("f0", on="a", function=dear, after=["f1", "f2"]),
            eddy.Filter("f1", on=["a", "b"], where="a.v0 + b.v0 > 1.4e0"),
            eddy.Filter("f2", on="b", where="v1 > 0.5e0"),
            eddy.Filter("f3", on=["a", "b"], where="a.c = b.c"),
        ],
        select=["a.ts as a", "b.ts as b"],
    )
    a, b = (DATA[name].to_pylist() for name in "ab")
    let_go = [(x, y) for x, y in pairs(a, b) if x["v0"] + y["v0"] > 1.4 and y["v1"] > 0.5]
    expected = sorted((x["ts"], y["ts"]) for x, y in let_go if x["ts"] % 2 == 0 and x["c"] == y["c"])
    assert found(asked, CHOICES[policy]) == expected != []
    assert seen <= {x["ts"] for x, _ in let_go}


@pytest.mark.parametrize("policy", CHOICES)
def test_errors_of_rows_that_are_dropped_before_are_not_even_counted(policy: str) -> None:
    data = {"a": pa.table({"ts": range(ROWS), "k": [n % 4 for n in range(ROWS)]})}
    asked = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        filters=[
            eddy.Filter("f0", on="a", function=lambda k: 6 / k > 2, columns=["k"], rowwise=True, after="f1"),
            eddy.Filter("f1", on="a", where="k <> 0"),
        ],
    )
    choices = {
        **CHOICES,
        "knows": chosen("knows", NAMES[:2], "a.k"),
        "the other way round": {"name": "fixed", "order": ["f0", "f1"]},
    }
    run = eddy.run_local(asked, data, policy=choices[policy], batch_rows=BATCH)
    assert run.report.errors().empty
    assert run.results.num_rows == ROWS // 2


def engine(waits: Mapping[str, Sequence[str]], policy: str, *, joined: bool) -> Engine:
    """An engine whose clock is steady."""
    asked = query(waits, dict.fromkeys(BEHIND[0].split(), "b") if joined else None, joined=joined)
    schemas = {name: DATA[name].schema for name in asked.inputs}
    return wiring.engine(asked, schemas, CHOICES[policy], tables={}, clock=steady_clock(), seed=0)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("policy", CHOICES)
def test_a_restart_may_change_it(policy: str, joined: bool) -> None:
    """Rows and verdicts go on; what was learned of other orders does not."""
    orders = [{}, *WAITS.values()]
    results, running = [], engine({}, policy, joined=joined)
    for number, start in enumerate(range(0, ROWS, BATCH)):
        if number % 2 == 0:
            snapshot = running.snapshot()
            running = engine(orders[number // 2 % len(orders)], policy, joined=joined)
            running.restore(snapshot)
        batch = {name: one_batch(name, DATA[name].slice(start, BATCH)) for name in ("ab" if joined else "a")}
        results += [tuple(row.values()) for part in running.run(batch) for row in part.to_pylist()]
    assert sorted(results) == naive(BEHIND[0] if joined else "")


class Exhausting(Policy):
    """Plans an exhaustive leg of hops that are not all ready."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        return [Leg(route=tuple(map(Hop, NAMES)), exhaustive=True)]


def test_a_sample_that_goes_to_all_operators_must_not_go_to_one_that_waits() -> None:
    with pytest.raises(EngineError, match=r'policy "Exhausting": operator "f3" may not act on a tuple'):
        found(query(WAITS["one"]), Exhausting)
    assert found(query({}), Exhausting) == naive()


RULES = {
    "x": Rule(needs=frozenset("a"), after=frozenset(["y", "z"])),
    "y": Rule(needs=frozenset("a")),
    "z": Rule(needs=frozenset("ab")),
    "probe_a": Rule(near=frozenset([frozenset("b")]), gives=frozenset("a")),
    "probe_b": Rule(near=frozenset([frozenset("a")]), gives=frozenset("b")),
}
"""a - b, a filter on a that waits for another, and for one on both."""


def machine_of(rules: Mapping[str, Rule]) -> Machine:
    return Machine(rules, {name: lambda lineage: "" for name in rules})


def ready(machine: Machine, lineage: Lineage) -> list[str]:
    return [hop.operator for hop in machine.ready(lineage)]


def test_it_may_act_once_those_before_have() -> None:
    machine = machine_of(RULES)
    start = machine.start("a")
    assert ready(machine, start) == ["y", "probe_b"]
    joined = machine.after(start, "probe_b")
    assert ready(machine, joined) == ["y", "z"]
    assert ready(machine, machine.after(joined, "y")) == ["z"]
    assert ready(machine, machine.after(machine.after(joined, "y"), "z")) == ["x"]


def test_a_verdict_of_a_stored_row_does_not_count_before_the_tuple_has_asked_for_it() -> None:
    machine = machine_of(RULES)
    assert ready(machine, machine.after(machine.start("b"), "probe_a")) == ["y", "z"]


def test_hops_are_independent_only_if_nobody_waits() -> None:
    alone = {"x": Rule(after=frozenset("yz")), "y": Rule(), "z": Rule()}
    machine = machine_of(alone)
    start = machine.start("a")
    # After y alone or z alone x is not ready yet, so one step does not tell.
    assert not machine.is_independent(start)
    assert not machine.is_independent(machine.after(start, "y"))
    assert machine.is_independent(machine.after(machine.after(start, "y"), "z"))
    assert machine_of({"y": Rule(), "z": Rule()}).is_independent(start)


def test_hops_are_not_independent_if_two_of_them_open_another() -> None:
    star = {
        "bc": Rule(needs=frozenset("bc")),
        "probe_a": Rule(near=frozenset([frozenset("b"), frozenset("c")]), gives=frozenset("a")),
        "probe_b": Rule(near=frozenset([frozenset("a")]), gives=frozenset("b")),
        "probe_c": Rule(near=frozenset([frozenset("a")]), gives=frozenset("c")),
    }
    machine = machine_of(star)
    assert not machine.is_independent(machine.start("a"))
    assert machine_of({name: star[name] for name in star if name != "bc"}).is_independent(machine.start("a"))


def test_a_pinned_filter_is_the_same_filter() -> None:
    one = eddy.Filter("x", on="a", where="v > 1", after="y")
    assert one.after == ("y",)
    assert one.pin(["z"]) == eddy.Filter("x", on="a", where="v > 1", after=["z"])
    assert one.pin(None) == eddy.Filter("x", on="a", where="v > 1")


def test_it_is_explained_in_the_order_in_which_filters_run() -> None:
    asked = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        filters=[
            eddy.Filter("x", on="a", where="u > 1", after=["z", "y"]),
            eddy.Filter("y", on="a", where="v > 1"),
            eddy.Filter("z", on="a", where="w > 1", after="y"),
        ],
    )
    lines = eddy.explain(asked).splitlines()
    first = lines.index('filters, in the order in which "fixed" runs them')
    assert lines[first + 1 : first + 4] == [
        "  y on a: v > 1",
        "  z on a, after y: w > 1",
        "  x on a, after z, y: u > 1",
    ]


def test_spark_evaluates_only_filters_that_wait_for_no_other_of_the_eddys() -> None:
    asked = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        filters=[
            eddy.Filter("behind_both", on="a", where="v0 > 5", after=["ours", "first"]),
            eddy.Filter("further_behind", on="a", where="v0 > 4", after="behind_both"),
            eddy.Filter("second", on="a", where="v0 > 3", after="first"),
            eddy.Filter("first", on="a", where="v0 > 2"),
            eddy.Filter("ours", on="a", function=passes, columns=["v0"], rowwise=True, after="second"),
        ],
    )
    may = find_pushable(asked, {"a": DATA["a"].schema}, ansi=True, zone="UTC")
    assert [f.name for f in may] == ["behind_both", "further_behind", "second", "first"]
    pushed, left = divide(asked, may, ())
    assert [f.name for f in pushed] == ["first", "second"]
    assert {f.name: f.after for f in left.filters} == {
        "behind_both": ("ours",),
        "further_behind": ("behind_both",),
        "ours": None,
    }
    # What the policy speaks of stays, and with it everything behind it.
    pushed, left = divide(asked, may, {"first"})
    assert (pushed, left) == ([], asked)
