"""A market: stocks, news, blogs and currencies.

The Query Mesh paper polled prices of the New York Stock Exchange, exchange rates, news and blogs, and published none of
them. This generator has the shape that its motivating example (section 1.1) gives: stocks do well, so that most of them
match a bullish pattern, and few are written about; but the harvest was poor, so that stocks of agriculture hardly ever
match, and are all over the news. The best order of the ones is the worst of the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_whole
from eddy.jobs.experiments.workloads.burn import add_work
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Integers, Mask

MARKET_ROWS = 40_000
"""Of stocks; the other streams have what is written in the same time."""

FIRST = np.datetime64("2026-01-05T14:30:00", "us")
SECONDS = {"stocks": 1.0, "news": 60.0, "blogs": 20.0, "rates": 10.0}
"""From one tuple to the next, on average."""

WINDOWS = {"stocks": "60 seconds", "news": "1 hour", "blogs": "3 hours", "rates": "1 minute"}
"""As in the paper's query; an exchange rate holds until the next one of its currency."""

APART = "6 hours"
"""Streams may be so far from each other after the same number of tuples: little news is made while stocks are sold."""

SECTORS = np.array("agriculture banks energy health media metals retail software telecom transport".split())
INDUSTRIES, SYMBOLS = 100, 800
"""Ten to a sector, and eight symbols to an industry."""

CURRENCIES = np.array("CAD CHF EUR GBP JPY USD".split())

AGRICULTURE = 0.25
"""The share of the stocks: they are sold a lot."""

WRITTEN = 0.6
"""The share of the news and blogs that is about agriculture."""

BULLISH, POOR = 0.8, 0.03
"""The shares of stocks that match a pattern: of all others, and of agriculture."""

PATTERN_US = 20
"""Microseconds to match a pattern, the dearest of the operators."""


def market(*, rows: int = MARKET_ROWS, seed: int = 0, pattern_us: float = PATTERN_US) -> Workload:
    """Make the streams, and ask for bullish stocks that are talked about.

    >>> market(rows=100).query.inputs
    ('stocks', 'news', 'blogs', 'rates')
    """
    check_whole(rows, "rows", where="market")
    check_number(pattern_us, "pattern_us", where="market")
    rng = np.random.default_rng([seed, 9])
    end = rows * SECONDS["stocks"]
    data = {name: make(rng, max(round(end / SECONDS[name]), 1)) for name, make in MAKERS.items()}
    query = eddy.Query(
        name="market",
        streams=[eddy.Stream(n, time="at", window=eddy.Range(WINDOWS[n]), delay=APART) for n in MAKERS],
        joins=["stocks.industry = news.industry", "stocks.symbol = blogs.symbol", "stocks.currency = rates.currency"],
        filters=[
            eddy.Filter("bullish", on="stocks", function=add_work(rises, pattern_us), columns=["trend"]),
        ],
        select=["stocks.id", "news.id AS news_id", "blogs.id AS blog_id", "rates.rate"],
    )
    return Workload(name="market", query=query, data=data, facts={"operators": 4, "cost_us": pattern_us})


def rises(trend: np.ndarray[Any, Any]) -> Mask:
    """Tell whether a price has risen, which is what is bullish here."""
    return np.asarray(trend, np.float64) > 0


def _stocks(rng: np.random.Generator, rows: int) -> pa.Table:
    symbol = _symbols(rng, rows, AGRICULTURE)
    good = rng.random(rows) < np.where(_is_agriculture(symbol), POOR, BULLISH)
    columns: dict[str, Any] = {"price": np.round(np.exp(rng.normal(3.5, 0.8, rows)), 2)}
    columns |= {"volume": np.exp(rng.normal(8, 2, rows)).astype(np.int64)}
    columns |= {"trend": np.where(good, 1, -1) * rng.exponential(0.02, rows)}
    columns |= {"currency": pa.array(CURRENCIES[rng.integers(len(CURRENCIES), size=rows)])}
    return _table(rng, rows, "stocks", {**_names(symbol), **columns})


def _news(rng: np.random.Generator, rows: int) -> pa.Table:
    symbol = _symbols(rng, rows, WRITTEN)
    names = _names(symbol)
    return _table(rng, rows, "news", {"sector": names["sector"], "industry": names["industry"]})


def _blogs(rng: np.random.Generator, rows: int) -> pa.Table:
    return _table(rng, rows, "blogs", _names(_symbols(rng, rows, WRITTEN)))


def _rates(rng: np.random.Generator, rows: int) -> pa.Table:
    which = np.arange(rows) % len(CURRENCIES)
    rate = np.round(np.exp(rng.normal(0, 0.02, rows)), 4)
    return _table(rng, rows, "rates", {"currency": pa.array(CURRENCIES[which]), "rate": rate})


MAKERS = {"stocks": _stocks, "news": _news, "blogs": _blogs, "rates": _rates}
"""What makes each stream."""


def _symbols(rng: np.random.Generator, rows: int, agriculture: float) -> Integers:
    """Draw companies; the first tenth of them are of agriculture."""
    first = SYMBOLS // len(SECTORS)
    grown = rng.random(rows) < agriculture
    return np.where(grown, rng.integers(first, size=rows), rng.integers(first, SYMBOLS, rows))


def _is_agriculture(symbol: Integers) -> Mask:
    return symbol < SYMBOLS // len(SECTORS)


def _names(symbol: Integers) -> dict[str, Any]:
    industry = symbol * INDUSTRIES // SYMBOLS
    return {
        "symbol": pa.array([f"C{number:03}" for number in symbol]),
        "industry": pa.array([f"industry-{number}" for number in industry]),
        "sector": pa.array(SECTORS[industry * len(SECTORS) // INDUSTRIES]),
    }


def _table(rng: np.random.Generator, rows: int, name: str, columns: dict[str, Any]) -> pa.Table:
    gaps: Floats = rng.exponential(SECONDS[name] * 1e6, rows)
    at = FIRST + np.cumsum(gaps).astype(np.int64).astype("timedelta64[us]")
    return pa.table({"at": pa.array(at, pa.timestamp("us", "UTC")), "id": np.arange(rows), **columns})
