"""One job's file has one answer on every Spark; `make oldest` and `make versions` run it on those before ours."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from eddy.jobs.config.config import load
from eddy.jobs.run import run_job, sinks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = r"""
[query]
name = "same"
joins = ["orders.user = clicks.user", "clicks.at <= orders.at", "orders.user = users.id"]
select = ["orders.id", "orders.at", "orders.price", "clicks.page", "clicks.tags", "users.country"]
[streams.orders]
time = "at"
window = "2 minutes"
delay = "1 hour"
source = { format = "parquet", path = "orders", files_per_trigger = 1 }
[streams.clicks]
time = "at"
window = "2 minutes"
delay = "1 hour"
source = { format = "parquet", path = "clicks", files_per_trigger = 1 }
[tables.users]
source = { format = "csv", path = "users", schema = { id = "bigint", country = "string" } }
[filters]
dear = { on = "orders", where = "price >= 10.50 and price % 2 <> 0.25" }
seen = { on = "clicks", function = "tests.jobs.test_same_job:is_seen", columns = ["page"] }
named = { on = "clicks", where = "upper(page) <> 'IT\\'S' and coalesce(page, 'x') not like '%z_'" }
near = { on = ["orders", "users"], where = "users.country in ('at', 'fr') or orders.price > 90" }
[engine]
cells = 2
pushdown = false
[trigger]
available_now = true
[sink]
format = "parquet"
path = "out"
[checkpoint]
location = "checkpoint"
"""

ROWS, FILES = 400, 3
BEGIN = datetime(2026, 1, 1, 12, tzinfo=UTC)
PAGES = ["/a", "it's", None, "/azb", "/ü"]
COUNTRIES = ("at", "fr", "de")
WINDOW = 60
"""Rows of a stream in two minutes."""


def is_seen(page: Any) -> Any:
    return page != "/a"


def make_tags(row: int) -> list[str | None] | None:
    return [str(row), None] if row % 3 else None


def write(place: Path) -> None:
    """Write what the job reads: times, decimals, lists, nulls, and letters that are no ASCII."""
    at = [BEGIN + timedelta(seconds=2 * n) for n in range(ROWS)]
    numbers = range(ROWS)
    price = pa.array([Decimal(n * 7 % 400) / 4 for n in numbers], pa.decimal128(20, 2))
    user = [n * n % 23 for n in numbers]
    orders = pa.table({"at": at, "id": list(numbers), "user": user, "price": price})
    clicks = pa.table(
        {"at": at, "user": user, "page": [PAGES[n % 5] for n in numbers], "tags": list(map(make_tags, numbers))}
    )
    for name, table in {"orders": orders, "clicks": clicks}.items():
        (place / name).mkdir()
        for part in range(FILES):
            share = table.slice(part * ROWS // FILES, ROWS // FILES + 1 if part == FILES - 1 else ROWS // FILES)
            pq.write_table(share, place / name / f"{part}.parquet")
    (place / "users").mkdir()
    countries = "\n".join(f"{n},{COUNTRIES[n % 3]}" for n in range(23))
    (place / "users" / "all.csv").write_text(f"id,country\n{countries}\n")


def expect() -> list[str]:
    """Work the answer out row by row."""
    found = []
    for order, click in itertools.product(range(ROWS), range(ROWS)):
        price, page, user = Decimal(order * 7 % 400) / 4, PAGES[click % 5], order * order % 23
        joins = user == click * click % 23 and 0 <= order - click <= WINDOW
        shown = page == "/ü"  # all others are dropped by a filter, as is what is no page at all
        near = user % 3 < 2 or price > 90
        if joins and shown and near and price >= Decimal("10.50") and price % 2 != Decimal("0.25"):
            found.append(str((order, f"{price:.2f}", page, make_tags(click), COUNTRIES[user % 3])))
    return sorted(found)


def test_a_job_gives_one_answer(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "job.toml").write_text(JOB)
    asked = load(tmp_path / "job.toml")
    sinks.write_answer(run_job.answer(asked, spark), asked).start().awaitTermination()
    rows = pq.read_table(tmp_path / "out").to_pylist()
    found = [str((r["id"], f"{r['price']:.2f}", r["page"], r["tags"], r["country"])) for r in rows]
    assert sorted(found) == expect()
    assert found
