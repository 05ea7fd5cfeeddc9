"""News of a micro-batch, for everybody who hears of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from eddy.errors import describe_error
from eddy.observe.counters import Counters
from eddy.observe.insight import Decision, DecisionKey
from eddy.observe.report import BATCH

LOGGER = logging.getLogger("eddy.batch")
"""Hears of every micro-batch, at the level INFO. Nobody is shown it who has not asked for it."""

BEGINNING = "1970-01-01T00:00:00.000Z"
"""The watermark as long as no row of some stream has come."""


@dataclass(frozen=True, kw_only=True)
class BatchNews:
    """What is new with a micro-batch.

    `step` is "attach", or the name of a step of `eddy.where`. Of queries that are answered together, `results` has
    those of each, by its name. `whole` are the counters of all cells, of which there are
    `cells`; `decisions` are those that have not been told before, each with its cell. What Spark says of the
    micro-batch is in `seconds`, `rows_per_second` and `watermark`, None where it says nothing.
    """

    query: str
    step: str
    whole: Counters
    cells: int = 1
    results: Mapping[str, int] = field(default_factory=dict)
    decisions: Sequence[tuple[int, Decision]] = ()
    seconds: float | None = None
    rows_per_second: float | None = None
    watermark: str | None = None


Hearer = Callable[[BatchNews], None]

HEARERS: list[Hearer] = []
"""Those who hear of the micro-batches of this driver, besides the log."""


def listen_to(hearer: Hearer) -> None:
    """Let somebody hear of every micro-batch from now on."""
    HEARERS.append(hearer)


def leave(hearer: Hearer) -> None:
    """Let somebody hear no more."""
    HEARERS.remove(hearer)


def is_heard() -> bool:
    """Tell whether anybody wants to hear: what is told takes some time to put together."""
    return bool(HEARERS) or LOGGER.isEnabledFor(logging.INFO)


def tell(news: BatchNews) -> None:
    """Tell everybody. One who fails is no reason for a query to fail, nor for others to hear nothing."""
    if LOGGER.isEnabledFor(logging.INFO):
        LOGGER.info("%s", write_line(news), extra={"event": "batch", "fields": dict(list_fields(news))})
    for hearer in tuple(HEARERS):  # one may come or go in another thread
        try:
            hearer(news)
        except Exception as error:
            LOGGER.warning("metrics of micro-batch %d are not told: %s", news.whole.batch, describe_error(error))


def write_line(news: BatchNews) -> str:
    """Write a micro-batch for people."""
    rows, results = (BATCH[name](news.whole) for name in ("rows", "results"))
    return f'query "{news.query}", {news.step}: micro-batch {news.whole.batch}: {rows:,} rows, {results:,} results'


def list_fields(news: BatchNews) -> Iterator[tuple[str, Any]]:
    """Give a micro-batch as plain values; none of them is a value of a row."""
    yield from (("query", news.query), ("step", news.step), ("cells", news.cells))
    yield from ((name, value(news.whole)) for name, value in BATCH.items() if name != "decisions")
    # By Spark's clock, and in all: those in `seconds` are of the cells, which work side by side.
    told = {"trigger_seconds": news.seconds, "rows_per_second": news.rows_per_second, "watermark": news.watermark}
    yield from ((name, value) for name, value in told.items() if value is not None)
    if news.results:
        yield "results_by_query", dict(news.results)
    streams = news.whole.streams
    yield "late_by_stream", {name: count.late for name, count in streams.items() if count.late}
    yield "bad_by_stream", {name: dict(count.bad) for name, count in streams.items() if count.bad}
    # The sample of a fault is a value, which reports show where the query allows it.
    yield "faults", [{k: v for k, v in asdict(fault).items() if k != "sample"} for fault in news.whole.faults]
    yield "routing_decisions", news.whole.decisions
    yield (
        "decisions",
        [{"stream": d.stream, "cell": cell, "policy": d.policy, "reason": d.reason} for cell, d in news.decisions],
    )


class NewDecisions:
    """Finds decisions that have not been told yet, of policies that keep an account.

    Policies without one decide too often for a log: their reasons are in the report.
    """

    def __init__(self) -> None:
        self._known: dict[int, set[DecisionKey]] = {}

    def find(self, cells: Mapping[int, tuple[bool, Sequence[Decision]]]) -> list[tuple[int, Decision]]:
        """Find what is new in each cell: whether its policy keeps an account, and its last decisions."""
        found = []
        for cell, (accounts, decisions) in cells.items():
            told = decisions if accounts else ()
            known = self._known.get(cell, set())
            # A policy goes on telling its last decisions. What it does not tell any more, it does not tell again.
            self._known[cell] = {decision.key for decision in told}
            found += [(cell, decision) for decision in told if decision.key not in known]
        return found
