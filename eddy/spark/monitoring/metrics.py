"""The metrics of a query, by one list for every system that takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from eddy.observe.counters import StreamCount
from eddy.observe.statistics import Statistic
from eddy.spark.monitoring.news import BatchNews

Labelled = tuple[tuple[str, ...], float]
"""The values of a metric's labels, and its own."""

COUNTER, SUM, LAST = "counter", "sum", "last"
"""The kinds of metrics."""

WHOSE = ("query", "step")
"""Labels that every metric has: the query, and "attach" or the name of a step of `eddy.where`."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric: what it is called, and how it is read of a micro-batch.

    A `COUNTER` grows by what a micro-batch has. So does a `SUM`, which may fall as well. `LAST` is what it was in the
    last micro-batch.
    """

    name: str
    text: str
    read: Callable[[BatchNews], Iterator[Labelled]]
    kind: str = COUNTER
    unit: str = ""
    labels: tuple[str, ...] = ()


def _whole(read: Callable[[BatchNews], float]) -> Callable[[BatchNews], Iterator[Labelled]]:
    def read_one(news: BatchNews) -> Iterator[Labelled]:
        yield (), read(news)

    return read_one


def _by_stream(read: Callable[[StreamCount], float]) -> Callable[[BatchNews], Iterator[Labelled]]:
    def read_all(news: BatchNews) -> Iterator[Labelled]:
        yield from (((name,), read(count)) for name, count in news.whole.streams.items())

    return read_all


def _by_operator(read: Callable[[Statistic], float]) -> Callable[[BatchNews], Iterator[Labelled]]:
    def read_all(news: BatchNews) -> Iterator[Labelled]:
        yield from (((hop.operator,), read(done)) for hop, done in news.whole.operators.items())

    return read_all


def _read_bad(news: BatchNews) -> Iterator[Labelled]:
    for name, count in news.whole.streams.items():
        yield from (((name, kind), rows) for kind, rows in count.bad.items())


def _read_faults(news: BatchNews) -> Iterator[Labelled]:
    yield from (((fault.predicate, fault.on_error), fault.rows) for fault in news.whole.faults)


def _read_accounts(news: BatchNews) -> Iterator[Labelled]:
    for regret in news.whole.insight.regrets:
        for part in ("spent", "written"):
            yield (regret.stream, part), getattr(regret, part)


STREAM, OPERATOR = ("stream",), ("operator",)

METRICS = (
    Metric(name="batches", text="micro-batches with rows", read=_whole(lambda _: 1)),
    Metric(name="rows", text="rows that came", labels=STREAM, read=_by_stream(lambda c: c.rows)),
    Metric(name="late_rows", text="rows dropped as late", labels=STREAM, read=_by_stream(lambda c: c.late)),
    Metric(name="bad_rows", text="rows that could take no part", labels=("stream", "kind"), read=_read_bad),
    Metric(name="results", text="results", read=_whole(lambda news: news.whole.results)),
    Metric(
        name="query_results",
        text="results of each of several queries that are answered together",
        labels=("member",),
        read=lambda news: (((name,), results) for name, results in news.results.items()),
    ),
    Metric(
        name="errors",
        text="rows for which a predicate had no answer",
        labels=("predicate", "on_error"),
        read=_read_faults,
    ),
    Metric(
        name="operator_rows_in",
        text="tuples handed to an operator, which are routing calls",
        labels=OPERATOR,
        read=_by_operator(lambda done: done.rows_in),
    ),
    Metric(
        name="operator_evaluated",
        text="of these, those that a filter had not judged before, or candidates of a probe",
        labels=OPERATOR,
        read=_by_operator(lambda done: done.evaluated),
    ),
    Metric(
        name="operator_rows_out",
        text="tuples that came out of an operator",
        labels=OPERATOR,
        read=_by_operator(lambda done: done.rows_out),
    ),
    Metric(
        name="operator_time",
        text="time at work in an operator, of all cells",
        unit="seconds",
        labels=OPERATOR,
        read=_by_operator(lambda done: done.seconds),
    ),
    Metric(name="work_time", text="time of all cells", unit="seconds", read=_whole(lambda news: news.whole.seconds)),
    Metric(
        name="planning_time",
        text="time in which the policy planned",
        unit="seconds",
        read=_whole(lambda news: news.whole.planning),
    ),
    Metric(
        name="learning_time",
        text="time in which the policy learned",
        unit="seconds",
        read=_whole(lambda news: news.whole.learning),
    ),
    Metric(
        name="adapting",
        text="costs of a policy with an account: what was spent, and what the written order would have taken",
        kind=SUM,
        labels=("stream", "part"),
        read=_read_accounts,
    ),
    Metric(
        name="decisions",
        text="decisions that the policy has told, where it keeps an account",
        read=_whole(lambda news: len(news.decisions)),
    ),
    Metric(
        name="last_batch",
        text="the number of the last micro-batch",
        kind=LAST,
        read=_whole(lambda news: news.whole.batch),
    ),
    Metric(
        name="last_batch_time",
        text="how long it took by the clock",
        kind=LAST,
        unit="seconds",
        read=_whole(lambda news: news.seconds or 0.0),
    ),
    Metric(
        name="stored_rows",
        text="rows in the state, copies in several cells included",
        kind=LAST,
        labels=STREAM,
        read=_by_stream(lambda c: c.stored),
    ),
    Metric(
        name="state_size",
        text="bytes of the state as it is saved",
        kind=LAST,
        unit="bytes",
        read=_whole(lambda news: news.whole.state),
    ),
    Metric(
        name="cache_size",
        text="bytes of caches of parts of joins",
        kind=LAST,
        unit="bytes",
        read=_whole(lambda news: sum(cache.nbytes for cache in news.whole.caches)),
    ),
)
"""Every metric; a new one is its entry here and its line in docs/monitoring.md."""


def list_values(metric: Metric, news: BatchNews) -> Iterator[Labelled]:
    """List the values of a metric in a micro-batch, each by the values of all its labels."""
    whose = (news.query, news.step)
    yield from (((*whose, *labels), value) for labels, value in metric.read(news))
