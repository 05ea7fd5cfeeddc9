"""A shop's clicks, orders and payments, to try joins with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_whole

SHOP_ROWS = 6_000
"""Clicks; every third leads to an order, and most orders are paid."""

BEGIN = np.datetime64("2026-01-01T08:00:00", "us")
EVERY = np.timedelta64(500, "ms")
"""From one click to the next."""

USERS = 500
PAGES = np.array("home search shoes coats books sale help".split())
COUNTRIES = np.array("at fr de it pl".split())
LATEST = 60
"""Seconds from a click to its order, and from an order to its payment, at most."""

SHIFT = 0.5
"""The share of the clicks after which a sale begins, and what was dear to look at is what most people look at."""


def shop(*, rows: int = SHOP_ROWS, seed: int = 0) -> Workload:
    """Make clicks, orders, payments and a table of users.

    Halfway a sale begins.

    >>> shop(rows=90).tuples
    144
    """
    check_whole(rows, "rows", where="shop")
    rng = np.random.default_rng([seed, 7])
    data = _inputs(rng, rows)
    query = eddy.Query(
        name="shop",
        streams=[
            eddy.Stream(name, time="at", window=eddy.Range("2 minutes"), delay="2 minutes")
            for name in ("clicks", "orders", "payments")
        ],
        tables=[eddy.Table("users")],
        joins=["clicks.id = orders.click", "orders.id = payments.order_id", "orders.user = users.id"],
        select=["orders.id", "clicks.page", "payments.paid", "users.country"],
    )
    return Workload(name="shop", query=query, data=data, drift_points=(int(rows * SHIFT),))


def is_sale(page: pa.Array) -> pa.Array:
    """Tell of pages whether they are the sale's."""
    return pc.equal(page, "sale")


def _inputs(rng: np.random.Generator, rows: int) -> dict[str, pa.Table]:
    at = BEGIN + np.arange(rows) * EVERY
    sale = (np.arange(rows) >= rows * SHIFT) & (rng.random(rows) < 0.8)
    users = rng.integers(USERS, size=rows)
    pages = np.where(sale, "sale", PAGES[rng.integers(len(PAGES), size=rows)])
    clicks: dict[str, Any] = {"at": _times(at), "id": np.arange(rows), "user": users, "page": pages}
    # However few clicks there are, every stream has a row: an experiment tries its policies on one.
    ordered = np.sort(rng.choice(rows, max(rows // 3, 1), replace=False))
    when = at[ordered] + _later(rng, len(ordered))
    price = np.round(np.where(sale[ordered], 0.3, 1.0) * rng.gamma(2.0, 40.0, len(ordered)), 2)
    orders: dict[str, Any] = {"at": _times(when), "id": np.arange(len(ordered)), "click": ordered}
    orders |= {"user": users[ordered], "price": price}
    paid = np.sort(rng.choice(len(ordered), max(len(ordered) * 4 // 5, 1), replace=False))
    late = when[paid] + _later(rng, len(paid))
    payments: dict[str, Any] = {"at": _times(late), "order_id": paid, "paid": price[paid]}
    table: dict[str, Any] = {"id": np.arange(USERS), "country": COUNTRIES[rng.integers(len(COUNTRIES), size=USERS)]}
    tables = {"clicks": clicks, "orders": orders, "payments": payments, "users": table}
    return {
        name: pa.table(columns).sort_by("at") if "at" in columns else pa.table(columns)
        for name, columns in tables.items()
    }


def _times(moments: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array(moments, pa.timestamp("us", "UTC"))


def _later(rng: np.random.Generator, rows: int) -> np.ndarray[Any, Any]:
    return rng.integers(1, LATEST * 1_000, rows).astype("timedelta64[ms]")
