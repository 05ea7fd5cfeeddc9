"""Counters become frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import eddy
from eddy.observe.counters import Counters
from eddy.observe.insight import Branch, Decision, RouteCost, Trees
from eddy.observe.report import MOST_ROUTE_ROWS, Report
from eddy.wiring import PolicyChoice
from tests.policies.checks import steady_clock

MODULI = {"ts": 200, "x": 3, "y": 4, "z": 5}
"""Of each column of the rows' numbers."""


def test_a_probe_has_a_row_for_each_access_pattern() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "abc"]
    asked = eddy.Query(streams=streams, joins=["a.x = b.x", "a.y = c.y", "b.z = c.z"], select=["a.ts"])
    data = {s: pa.table({name: [n % m for n in range(200)] for name, m in MODULI.items()}) for s in "abc"}
    report = eddy.run_local(asked, data, policy="random", batch_rows=50, clock=steady_clock()).report
    frame = report.operators()
    assert sorted(zip(frame["operator"], frame["pattern"], strict=True)) == [
        *[("probe_a", pattern) for pattern in ("a.x", "a.x, a.y", "a.y")],
        *[("probe_b", pattern) for pattern in ("b.x", "b.x, b.z", "b.z")],
        *[("probe_c", pattern) for pattern in ("c.y", "c.y, c.z", "c.z")],
    ]
    assert (frame["rows_in"] > 0).all()
    by_batch = report.operators(by_batch=True).groupby(["operator", "pattern"])[["rows_in", "rows_out"]].sum()
    whole = frame.set_index(["operator", "pattern"])[["rows_in", "rows_out"]].sort_index()
    assert (by_batch == whole).all(axis=None)


def test_a_filter_has_a_row_for_stored_rows() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in "ab"]
    asked = eddy.Query(streams=streams, joins=["a.x = b.x"], filters=[eddy.Filter("f", on="b", where="y > 0")])
    data = {
        s: pa.table({"ts": [n // 10 for n in range(100)], "x": [n % 10 for n in range(100)], "y": [1] * 100})
        for s in "ab"
    }
    frame = eddy.run_local(asked, data, policy={"name": "fixed", "order": ["probe_a", "probe_b"]}).report.operators()
    met = frame[frame["operator"] == "f"].set_index("pattern")
    assert met["rows_in"].to_dict() == {"": 550, "stored": 450}


@pytest.mark.parametrize("kind", [pa.timestamp("us", "Europe/Vienna"), pa.timestamp("ms"), pa.int64(), pa.float64()])
def test_a_report_says_by_which_watermark_rows_were_late(kind: pa.DataType) -> None:
    """The slowest stream holds it back, and `newest` says which that is."""

    def times(*seconds: int) -> pa.Array:
        ticks = pa.array([10**6 * second for second in seconds], pa.int64())
        return ticks.cast(pa.timestamp("us")).cast(kind) if pa.types.is_timestamp(kind) else ticks.cast(kind)

    delay = "2 seconds" if pa.types.is_timestamp(kind) else 2 * 10**6
    streams = [eddy.Stream(s, time="ts", window=eddy.Unbounded(), delay=delay) for s in "ab"]
    asked = eddy.Query(streams=streams, joins=["a.x = b.x"], select=["a.x"])
    came = {"a": [times(10), times(30), times(3, 25)], "b": [times(20), times(), times(9, 40)]}
    data = {s: [pa.table({"ts": at, "x": at.is_null()}) for at in parts] for s, parts in came.items()}
    report = eddy.run_local(asked, data).report
    marks, streams_told = report.batches()["watermark"], report.streams().pivot(index="batch", columns="stream")
    zone = "UTC" if getattr(kind, "tz", None) else None

    def seen(seconds: Sequence[int | None]) -> list[object]:
        stamps = [None if s is None else pd.Timestamp(s, unit="s", tz=zone) for s in seconds]
        plain = [None if s is None else s * 10**6 for s in seconds]
        return pd.Series(stamps if pa.types.is_timestamp(kind) else plain).astype(marks.dtype).tolist()

    assert repr(marks.tolist()) == repr(seen([None, 8, 18]))
    assert streams_told["newest"]["a"].tolist() == seen([10, 30, 30])
    assert streams_told["newest"]["b"].tolist() == seen([20, 20, 40])
    assert streams_told["late"].to_numpy().tolist() == [[0, 0], [0, 0], [1, 1]]


ROWS, BATCH = 6_000, 500
CITIES = ["Lima", "Oslo", "Rome"]
CONTENT = {"name": "content", "costs": "unit", "attributes": ["s.city", "s.heat"]}


def skewed(passing: Sequence[str] = CITIES) -> pa.Table:
    """Three cities, each of which another filter drops."""
    rng = np.random.default_rng(0)
    city = rng.integers(0, 3, ROWS)
    outcomes = {f"p{i}": rng.random(ROWS) < np.where(city == i, 0.05, 0.9) for i in range(3)}
    columns = {"ts": np.arange(ROWS), "city": np.array(passing)[city], "heat": rng.random(ROWS) * 100}
    return pa.table({**columns, **outcomes})


def filtered(policy: PolicyChoice = CONTENT, data: pa.Table | None = None) -> eddy.Run:
    filters = [eddy.Filter(f"op{i}", on="s", where=f"p{i}") for i in range(3)]
    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    table = skewed() if data is None else data
    return eddy.run_local(asked, {"s": table}, policy=policy, batch_rows=BATCH, clock=steady_clock())


def test_each_class_has_a_row_for_each_route_and_its_tuples() -> None:
    data = skewed()
    routes = filtered(data=data).report.routes()
    assert not routes.duplicated(["stream", "class", "route"]).any()
    assert routes["tuples"].sum() == ROWS
    assert routes["share"].sum() == pytest.approx(1)
    assert set(routes["class"]) == {"profiling", *(f"city={city}" for city in CITIES)}
    for i, city in enumerate(CITIES):
        part = routes[routes["class"] == f"city={city}"]
        assert part["tuples"].sum() <= (np.array(data["city"]) == city).sum()
        assert part.iloc[0]["route"].startswith(f"op{i} > ")


def test_knows_names_its_classes_by_the_values_it_was_told() -> None:
    told = {f"op{i}": [0.05 if i == k else 0.9 for k in range(2)] for i in range(3)}
    truth = {"attribute": "s.city", "values": CITIES[:2], "selectivities": told}
    data = skewed()
    tuples = (
        filtered({"name": "knows", "truth": truth, "costs": "unit"}, data)
        .report.routes()
        .groupby("class")["tuples"]
        .sum()
    )
    counts = data["city"].to_pandas().value_counts()
    assert tuples.to_dict() == {"city=Lima": counts["Lima"], "city=Oslo": counts["Oslo"], "city=others": counts["Rome"]}


def test_a_range_is_one_class_though_its_ends_move() -> None:
    rng = np.random.default_rng(0)
    heat = rng.normal(size=ROWS)
    # It changes a lot before long, so that it is cut anew.
    data = skewed().set_column(2, "heat", pa.array(heat * np.where(np.arange(ROWS) < 2_000, 1, 100)))
    for i in range(3):
        low, high = np.quantile(heat, [i / 3, (i + 1) / 3])
        passed = rng.random(ROWS) < np.where((heat >= low) & (heat <= high), 0.05, 0.9)
        data = data.set_column(3 + i, f"p{i}", pa.array(passed))
    run = filtered({**CONTENT, "attributes": ["s.heat"], "d": 6}, data)
    names = {name for c in run.report.counters for name in c.classes.values() if name.startswith("heat=")}
    shown = {name for name in run.report.routes()["class"] if name.startswith("heat=")}
    assert len(shown) <= 6 < len(names)


def test_the_rows_of_routes_are_bounded() -> None:
    def counters(batch: int) -> Counters:
        routes = {("s", f"c#{batch * 100 + n}", (f"op{n}",)): batch + 1 for n in range(100)}
        part = filtered("fixed", skewed().slice(0, 1)).report.counters[0]
        return Counters(**{name: getattr(part, name) for name in part.__slots__} | {"batch": batch, "routes": routes})

    routes = Report([counters(batch) for batch in range(30)]).routes()
    assert len(routes) == MOST_ROUTE_ROWS + 1
    assert routes["tuples"].sum() == sum(100 * (batch + 1) for batch in range(30))
    assert routes.loc[routes["class"] == "others", "route"].tolist() == ["various"]


def test_what_was_learned_adds_up_in_every_micro_batch() -> None:
    report = filtered().report
    learned = report.learning().groupby(["batch", "operator"])["calls"].sum()
    called = report.operators(by_batch=True).groupby(["batch", "operator"])["rows_in"].sum()
    pd.testing.assert_series_equal(learned, called, check_names=False, check_dtype=False)
    assert learned.index.get_level_values("batch").max() == ROWS // BATCH - 1


def test_a_run_is_explained_by_values_in_short_lines() -> None:
    text = eddy.explain(filtered())
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    for city in CITIES:
        assert any(line.startswith(f"  city={city} ") for line in lines)
    assert any("s.city" in line and "profiling" in line for line in lines)
    assert lines[-4].split() == ["operator", "rows", "in", "evaluated", "rows", "out", "rate", "us", "a", "row"]


def test_many_classes_are_explained_by_their_routes() -> None:
    data = skewed([f"{'long name of a town' * 3} {n}" for n in range(3)])
    text = eddy.explain(filtered({**CONTENT, "threshold": 0}, data))
    assert max(map(len, text.splitlines())) <= 120


MESH = {"name": "query_mesh", "costs": "unit", "attributes": ["s.city", "s.heat"], "S": 400}


def test_a_decision_has_its_reason_its_costs_and_its_tree() -> None:
    decisions = filtered(MESH).report.decisions()
    assert list(decisions) == [
        "batch",
        "stream",
        "policy",
        "reason",
        "ways",
        "predicted",
        "observed",
        "seconds",
        "tree",
    ]
    last = decisions.iloc[-1]
    # It begins in the first micro-batch, whose rows pay for a part of it only.
    assert (decisions.iloc[0]["reason"], decisions.iloc[0]["batch"]) == ("first rows", 1)
    assert (last["stream"], last["ways"]) == ("s", 3)
    assert last["observed"] == pytest.approx(last["predicted"], rel=0.15)
    assert (decisions["seconds"] > 0).all()
    told = last["tree"].splitlines()
    ways = dict(zip(told[::2], told[1::2], strict=True))
    assert len(ways) == len(CITIES)
    assert all(ways[f"city={city}"].startswith(f"  -> op{i} > ") for i, city in enumerate(CITIES))


def test_who_decides_nothing_has_no_decisions() -> None:
    frame = filtered("fixed").report.decisions()
    assert frame.empty
    assert "tree" in frame


def test_long_routes_and_reasons_are_cut() -> None:
    filters = [eddy.Filter(f"a_filter_with_a_name_that_is_rather_long_{i}", on="s", where=f"p{i}") for i in range(3)]
    asked = eddy.Query(streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.ts"])
    run = eddy.run_local(asked, {"s": skewed()}, policy=MESH, batch_rows=BATCH, clock=steady_clock())
    text = eddy.explain(run)
    assert "who takes which way" in text
    assert max(map(len, text.splitlines())) <= 120


def test_many_values_of_a_branch_are_counted() -> None:
    ways = (RouteCost(route=("x", "y"), share=1.0, predicted=1.0, observed=1.0),)
    tree = (Branch(level=0, attribute=0, buckets=tuple(range(9))), Branch(level=1, way=0))
    decision = Decision(stream="s", number=0, reason="", seconds=0.0, ways=ways, tree=tree)
    trees = Trees(lambda _stream, _attributes, some: [(str(b), f"k={b}") for (b,) in some])
    named = trees.lines([decision])[decision.key]
    assert named == ("k=0 or 1 or 2 or 3 or 4 or 4 more", "  -> x > y")


def test_operators_are_printed_with_all_their_columns() -> None:
    streams = [eddy.Stream(s, time="ts", window=eddy.Range(10), delay=0) for s in ("orders", "clicks")]
    asked = eddy.Query(
        streams=streams,
        joins=["orders.customer = clicks.customer"],
        filters=[eddy.Filter("suspicious", on="orders", where="customer > 2")],
    )
    data = {
        s: pa.table({"ts": [n // 10 for n in range(100)], "customer": [n % 10 for n in range(100)]})
        for s in asked.inputs
    }
    frame = eddy.run_local(asked, data).report.operators()
    head, *rows = str(frame).splitlines()
    assert head.split() == list(frame.columns)
    assert len(rows) == len(frame)
    assert max(map(len, (head, *rows))) <= 120
