"""What is said of a query before it meets any data."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import eddy


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

joins
  clicks -- orders: orders.user = clicks.user
  orders -- users: orders.user = users.id
  clicks -- orders: clicks.at <= orders.at

access patterns: what each input is searched by
  orders: orders.user (from clicks), orders.user (from users)
  clicks: clicks.user (from orders)
  users: users.id (from orders)

windows and watermarks
  orders: by "at", window "10 minutes", rows up to "1 minute" late
  clicks: by "at", window "5 minutes", rows up to "90 seconds" late
  the watermark is that of the slowest stream; later rows are dropped and counted

filters, in the order in which "fixed" runs them
  dear on orders: dear of "orders.price"
  adult on users: age >= 18

aggregates of the answer on Spark
  by the newest time in a result: greatest(ordered, clicks.at (not selected)), withWatermark with any delay
  by the time of            withWatermark with at least
  ordered                   "990 seconds"
  clicks.at (not selected)  "960 seconds"

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
            [eddy.Stream("a", time="t", delay="0 seconds"), eddy.Stream("b", time="t", delay="1 second")],
            ["greatest(a_t, b_t)", "  a_t             none is enough"],
        ),
    ],
)
def test_what_is_missing_is_said(streams: list[eddy.Stream], told: list[str]) -> None:
    text = eddy.explain(eddy.Query(streams=streams, cross=True))
    assert [line for line in told if line not in text] == []


def test_only_queries_and_runs_are_explained() -> None:
    wrong: Any = {"a": 1}
    said = r"explain: expected a Query\(...\), a run, a Report, or the very frame that eddy.where gave, got dict"
    with pytest.raises(eddy.QueryError, match=said):
        eddy.explain(wrong)
    assert eddy.explain(eddy.Report([])).startswith("0 micro-batches, 0 rows")
