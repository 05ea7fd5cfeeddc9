"""Costs of filters that users say: what is refused, what counts, what is told. Policies: `tests/policies/checks.py`."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.engine.snapshot import unpack
from eddy.observe.wire import from_plain, to_plain
from eddy.query.cost import USUAL_ROW, read_tariff

ROWS = 6_000
TABLE = pa.table({"ts": range(ROWS), "v": np.random.default_rng(1).random(ROWS)})
SCHEMA = TABLE.schema


def is_large(v: pd.Series) -> pd.Series:
    return v > 0.5


def is_small(v: pd.Series) -> pd.Series:
    return v < 0.9


def two(first: Any, second: Any) -> eddy.Query:
    """Two functions on one stream, with their costs."""
    filters = [
        eddy.Filter("small", on="a", function=is_small, cost=first),
        eddy.Filter("large", on="a", function=is_large, cost=second),
    ]
    return eddy.Query(streams=[eddy.Stream("a")], filters=filters)


def engine(query: eddy.Query, policy: str = "source") -> Engine:
    return wiring.engine(query, {"a": SCHEMA}, policy, tables={}, clock=float, seed=0)


@pytest.mark.parametrize("cost", [-1, math.nan, math.inf, True, [], "3 tokens", "-1 seconds"])
def test_a_cost_is_a_number_or_a_time(cost: Any) -> None:
    with pytest.raises(eddy.QueryError, match='filter "f": cost: expected a '):
        eddy.Filter("f", on="a", function=is_large, cost=cost)


def test_a_number_and_none_are_no_common_unit() -> None:
    with pytest.raises(eddy.QueryError, match=r'expected a number for every function, .* got none for filter "large"'):
        two(3, None)


def test_a_number_and_a_time_are_no_common_unit() -> None:
    with pytest.raises(eddy.QueryError, match=r'got a time of filter "small" and a number of filter "large"'):
        two("3 seconds", 3)


def test_sql_without_a_number_counts_as_nothing() -> None:
    """It takes no tokens, and nobody can say so of a text in `eddy.where`."""
    filters = [eddy.Filter("text", on="a", where="v > 0"), *two(1, 3).filters]
    tariff = read_tariff(filters)
    assert tariff.costs == pytest.approx({"text": 0, "small": 1, "large": 3})
    assert sum(tariff.seconds.values()) / 3 == pytest.approx(USUAL_ROW)


@pytest.mark.parametrize("costs", [(0, 0), (1e308, 1e308), (5e-324, 0)])
def test_any_numbers_add_up(costs: tuple[float, float]) -> None:
    """A cost of nothing, and such as no float holds the sum of."""
    found = eddy.run_local(two(*costs), {"a": TABLE}, policy="content", clock=float)
    values = TABLE["v"].to_numpy()
    assert found.results.num_rows == np.count_nonzero((values > 0.5) & (values < 0.9))


def test_a_time_counts_beside_what_the_clock_says() -> None:
    """One filter has a cost, the other what it takes: nothing, by a clock that stands still."""
    for costs, first in ((("1 second", None), "large"), ((None, "1 second"), "small")):
        found = eddy.run_local(two(*costs), {"a": TABLE}, policy="source", batch_rows=500, clock=float)
        latest = found.report.operators(by_batch=True).query("batch == 11")
        assert latest.set_index("operator")["rows_in"].idxmax() == first
        frame = found.report.operators().set_index("operator")
        assert frame["cost"].notna().to_dict() == {"small": costs[0] is not None, "large": costs[1] is not None}


def test_unit_costs_stay_calls() -> None:
    """Who asks for calls alone gets them: the filter that drops most first, however dear it is."""
    policy = {"name": "source", "costs": "unit"}
    found = eddy.run_local(two(1, 1_000), {"a": TABLE}, policy=policy, batch_rows=500, clock=float)
    latest = found.report.operators(by_batch=True).query("batch == 11").set_index("operator")
    assert latest["rows_in"].idxmax() == "large"


def test_stored_rows_cost_once() -> None:
    """In a join a filter is asked once about a row, and that is what is paid."""
    rng = np.random.default_rng(2)
    data = {s: pa.table({"ts": range(400), "k": rng.integers(0, 20, 400), "v": rng.random(400)}) for s in "ab"}
    filters = [eddy.Filter(f"{s}_large", on=s, function=is_large, columns=["v"], cost=2.5) for s in "ab"]
    query = eddy.Query(
        streams=[eddy.Stream(s, time="ts", window=eddy.Range(50), delay=0) for s in "ab"],
        joins=["a.k = b.k"],
        filters=filters,
    )
    results = []
    for policy in ("fixed", "random", "auto", "content"):
        found = eddy.run_local(query, data, policy=policy, batch_rows=50, clock=float)
        results.append(sorted(map(str, found.results.to_pylist())))
        frame = found.report.operators()
        asked = frame[frame["operator"].isin(["a_large", "b_large"])]
        assert asked["cost"].tolist() == (2.5 * asked["evaluated"]).tolist()
        assert frame[~frame["operator"].isin(["a_large", "b_large"])]["cost"].isna().all()
    assert results == [results[0]] * 4 != [[]] * 4


def test_rows_with_a_null_that_are_not_asked_cost_nothing() -> None:
    table = pa.table({"v": [1.0, None, 0.2, None]})
    asked = eddy.Filter("large", on="a", function=is_large, nulls="skip", cost=3)
    found = eddy.run_local(eddy.Query(streams=[eddy.Stream("a")], filters=[asked]), {"a": table})
    assert found.report.operators()["cost"].tolist() == [6.0]


def test_accounts_and_explanations_are_in_the_unit() -> None:
    found = eddy.run_local(two(30, 10), {"a": TABLE}, policy="auto", batch_rows=500, clock=float)
    written = found.report.regret()["written"].sum()
    assert 30 * ROWS < written < 40 * ROWS
    text = eddy.explain(found)
    assert f"of {written:,.4g} in the written order" in text
    assert "  cost\n" in text
    assert "small on a, cost 30: " in eddy.explain(two(30, 10))
    (html,) = [found.report._repr_html_()]
    assert f"{written:,.4g}" in html


def test_costs_are_sent_with_the_counters() -> None:
    running = engine(two(30, 10))
    list(running.run({"a": TABLE.to_batches()[0]}))
    counted = running.read_counters()
    sent = from_plain(json.loads(json.dumps(to_plain(counted))))
    assert eddy.Report([sent]).operators().equals(eddy.Report([counted]).operators())
    assert sent.costs == {"small": 30.0, "large": 10.0}
    assert not sent.in_seconds


def test_other_costs_are_learned_anew() -> None:
    """What a policy has learned of other costs would rank the filters wrongly; the rest of the state goes on."""
    batch = TABLE.to_batches()[0]
    first = engine(two(30, 10), "content")
    list(first.run({"a": batch}))
    same, other, without = engine(two(30, 10), "content"), engine(two(10, 30), "content"), engine(two(None, None))
    for one in (same, other, without):
        one.restore(first.snapshot())
    policies = [unpack(one.snapshot())[0] for one in (first, same, other)]
    assert policies[0]["prices"] == policies[1]["prices"] != policies[2]["prices"] == []
    for one in (same, other, without):
        list(one.run({"a": batch}))


def test_a_predicate_has_a_cost() -> None:
    """In `eddy.where` too, beside texts that have none."""
    frame = pd.DataFrame({"v": [0.1, 0.6, 0.95]})
    dear = eddy.predicate(cost=5)(is_large)
    left = eddy.where(frame, dear, "v < 0.9")
    assert left["v"].tolist() == [0.6]
    frame = eddy.report_of(left).operators().set_index("operator")
    assert frame["cost"]["sql_1"] == 0
    assert frame["cost"]["is_large"] == 5 * frame["evaluated"]["is_large"]
