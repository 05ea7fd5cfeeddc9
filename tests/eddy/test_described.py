"""What is said of a query before it meets any data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import eddy
from eddy.observe.counters import ClassRoute
from eddy.observe.statistics import Statistic
from eddy.query.cost import write_cost
from eddy.query.explain import describe
from eddy.query.explain.run import list_plans
from eddy.tuples import Hop


def dear(price: npt.NDArray[np.int64]) -> Any:
    return price > 100


QUERY = eddy.Query(
    name="bought",
    streams=[
        eddy.Stream("orders", time="at", window=eddy.Range("10 minutes"), delay="1 minute"),
        eddy.Stream("clicks", time="at", window=eddy.Range("5 minutes"), delay="90 seconds"),
    ],
    tables=[eddy.Table("users")],
    joins=["orders.user = clicks.user", "orders.user = users.id", "clicks.at <= orders.at"],
    filters=[eddy.Filter("dear", on="orders", function=dear), eddy.Filter("adult", on="users", where="age >= 18")],
    select=["orders.at AS ordered", "clicks.page", "users.country"],
)

TOLD = """
query "bought"

plan
  select orders.at AS ordered, clicks.page, users.country
  └─ join: orders.user = users.id
     ├─ join: orders.user = clicks.user and clicks.at <= orders.at
     │  ├─ filter dear: a Python function
     │  │  └─ orders
     │  └─ clicks
     └─ filter adult: age >= 18
        └─ users

access patterns: what each input is searched by
  orders: orders.user (from clicks), orders.user (from users)
  clicks: clicks.user (from orders)
  users: users.id (from orders)

windows and watermarks
  orders: by "at", window "10 minutes", rows up to "1 minute" late
    a row can be met until the watermark has come to its time: clicks.at <= orders.at
  clicks: by "at", window "5 minutes", rows up to "90 seconds" late
  the watermark is that of the slowest stream; later rows are dropped and counted

filters, in the order in which "fixed" runs them
  dear on orders: dear of "orders.price"
  adult on users: age >= 18

aggregates of the answer on Spark
  attach(.., time=NAME) declares the watermark: NAME is one of these times, or new, for the newest; by hand:
  by the newest time in a result: greatest(ordered, clicks.at (not selected)), withWatermark with any delay
  by the time of            withWatermark with at least
  ordered                   "390 seconds"
  clicks.at (not selected)  "390 seconds"

state on Spark
  in the checkpoint: rows are kept to be joined
"""


def test_a_query_is_explained_before_anything_runs() -> None:
    assert eddy.explain(QUERY) == TOLD.strip()


@pytest.mark.parametrize(
    ("streams", "told"),
    [
        ([eddy.Stream("a")], ["a: no event time, no window, no delay", "  none: no row has an event time"]),
        ([eddy.Stream("a", time="t", delay=1500)], ["timestamp_millis(a_t),", 'a_t             "1500 milliseconds"']),
        (
            [eddy.Stream("a", time="t", window=eddy.Range("1 hour")), eddy.Stream("b", time="t", delay="1 second")],
            [
                '  results of any age may come, and Spark will drop some: give "a" a delay',
                'warning: stream "b" has no window: every row is kept for ever, and the state grows',
                'warning: stream "a" has no delay: there is no watermark, and no row ever leaves the state',
            ],
        ),
        (
            [eddy.Stream("a", time="t"), eddy.Stream("b", time="t")],
            ['warning: streams "a", "b" have no delay: there is no watermark, and no row ever leaves the state'],
        ),
        (
            [eddy.Stream("a", time="t", delay="0 seconds"), eddy.Stream("b", time="t", delay="1 second")],
            ["greatest(a_t, b_t)", "  a_t             none is enough"],
        ),
    ],
)
def test_what_is_missing_is_said(streams: list[eddy.Stream], told: list[str]) -> None:
    text = eddy.explain(eddy.Query(streams=streams, cross=True))
    assert [line for line in told if line not in text] == []


def test_ticks_of_what_never_ends_come_with_a_warning() -> None:
    stream = eddy.Stream("a", time="t", delay=1)
    growing = "every tick tells all since the beginning, and the state grows"
    asked = eddy.Query(streams=[stream], emit=eddy.Every(5))
    assert growing in eddy.explain(asked)
    assert growing not in eddy.explain(replace(asked, emit="begin"))
    assert growing not in eddy.explain(replace(asked, streams=[replace(stream, window=eddy.Range(5))]))


def test_only_queries_and_runs_are_explained() -> None:
    wrong: Any = {"a": 1}
    said = r"explain: expected a Query\(...\), a run, a Report, or the very frame that eddy.where gave, got dict"
    with pytest.raises(eddy.QueryError, match=said):
        eddy.explain(wrong)
    assert eddy.explain(eddy.Report([])).startswith("0 micro-batches, 0 rows")


def test_a_plan_has_costs_tables_that_are_asked_and_every_combination() -> None:
    query = eddy.Query(
        streams=[eddy.Stream("a", time="t"), eddy.Stream("b", time="t")],
        tables=[eddy.Table("banned")],
        anti=["a.k = banned.k"],
        filters=[
            eddy.Filter("dear", on="a", function=dear, columns=["k"], cost="20 milliseconds"),
            eddy.Filter("both", on=["a", "b"], where="a.v < b.v"),
        ],
        cross=True,
    )
    told = list(describe.draw_plan(query, {"both": ", by somebody"}))
    assert told == [
        "  select all columns",
        "  └─ if banned has none: a.k = banned.k",
        "     ├─ filter both: a.v < b.v, by somebody",
        "     │  └─ every combination",
        f"     │     ├─ filter dear{write_cost(query.filters[0])}: a Python function",
        "     │     │  └─ a",
        "     │     └─ b",
        "     └─ banned",
    ]


def test_a_run_is_drawn_as_a_tree_with_costs() -> None:
    """Routes with the same beginning share it, and the commonest comes first."""
    steps = {"big": Statistic(100, 100, 25, 0.001), "odd": Statistic(50, 50, 25, 0.002)}
    routes = {("s", "", ("big", "odd")): 75, ("s", "", ("odd", "big")): 24, ("s", "", ("big",)): 1}
    frame = draw_routes(steps, routes)
    assert frame == [
        "",
        'plan of "s": where its rows set out to, and what a tuple takes there on average',
        "  s",
        "  ├─ big   76% of rows, 25% pass, 10 µs a tuple",
        "  │  └─ odd   75% of rows, 50% pass, 40 µs a tuple",
        "  └─ odd   24% of rows, 50% pass, 40 µs a tuple",
        "     └─ big   24% of rows, 25% pass, 10 µs a tuple",
    ]


def draw_routes(steps: dict[str, Statistic], routes: dict[ClassRoute, int]) -> list[str]:
    (counters,) = eddy.run_local(ONE, {"s": pa.table({"v": [1]})}).report.counters
    made = replace(counters, operators={Hop(name, ""): done for name, done in steps.items()}, routes=routes)
    return list(list_plans(eddy.Report([made])))


ONE = eddy.Query(streams=[eddy.Stream("s")], filters=[eddy.Filter("big", on="s", where="v > 0")])
