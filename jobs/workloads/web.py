"""Web requests, most of which change halfway: filters to try."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import eddy
from eddy.comparison.workload import Workload
from eddy.errors import check_whole

if TYPE_CHECKING:
    import pandas as pd

WEB_ROWS = 60_000

BEGIN = np.datetime64("2026-01-01T08:00:00", "us")
EVERY = np.timedelta64(10, "ms")
"""From one request to the next."""


ROUNDS = 64
"""Rounds of a hash: dearer than the other filters by as much as a key that is stretched, and a demo still ends soon."""


def web(*, rows: int = WEB_ROWS, seed: int = 0) -> Workload:
    """Make requests.

    Halfway the attackers begin to come through the front door.

    >>> web(rows=100).drift_points
    (50,)
    """
    check_whole(rows, "rows", where="web")
    return Workload(name="web", query=QUERY, data={"web": requests(rows, seed)}, drift_points=(rows // 2,))


def requests(rows: int = WEB_ROWS, seed: int = 0) -> pa.Table:
    """Web requests; what most of them are like changes halfway."""
    rng = np.random.default_rng(seed)
    after = np.arange(rows) >= rows // 2
    signed = rng.random(rows) < np.where(after, 0.9, 0.1)
    agent = np.where(rng.random(rows) < np.where(after, 0.1, 0.9), "curl/8.5 (script)", "Mozilla/5.0 (person)")
    body = [
        f"user={u}&token={t:x}" for u, t in zip(rng.integers(0, 900, rows), rng.integers(0, 2**40, rows), strict=True)
    ]
    size = rng.integers(0, 10_000, rows)
    cookie = [f"theme=dark; session={n:x}" if has else "theme=dark" for n, has in enumerate(signed)]
    at = pa.array(BEGIN + np.arange(rows) * EVERY, pa.timestamp("us", "UTC"))
    return pa.table({"at": at, "size": size, "signed": signed, "agent": agent, "cookie": cookie, "body": body})


def has_session(cookie: pd.Series) -> pd.Series:
    """A cookie taken apart into its values."""

    def found(text: str) -> bool:
        return "session" in dict(part.strip().split("=", 1) for part in text.split(";"))

    return cookie.map(found)


def looks_scripted(agent: pd.Series) -> pd.Series:
    """A regular expression over the user agent."""
    pattern = re.compile(r"(?:^|[^a-z])(?:curl|wget|python)[/ ][\d.]+.*script")
    return agent.map(lambda text: pattern.search(text) is not None)


def bad_token(body: str) -> bool:
    """A hash that takes its time."""
    digest = body.encode()
    for _ in range(ROUNDS):
        digest = hashlib.sha256(digest).digest()
    return digest[0] < 128


QUERY = eddy.Query(
    name="suspicious_requests",
    streams=[eddy.Stream("web", time="at")],
    filters=[
        eddy.Filter("signed", on="web", where="signed and size > 100"),
        eddy.Filter("scripted", on="web", function=looks_scripted, columns=["agent"]),
        eddy.Filter("bad_token", on="web", function=bad_token, columns=["body"], rowwise=True),
    ],
    select=["web.at", "web.agent", "web.body"],
)
