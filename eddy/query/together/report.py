"""The reports of queries that are answered together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eddy.errors import unknown_name
from eddy.observe.counters import Counters
from eddy.observe.insight import Insight
from eddy.observe.notebook import heading, table
from eddy.observe.report import Report
from eddy.observe.statistics import total
from eddy.observe.sum_cells import SUMMED
from eddy.observe.text import plural
from eddy.query.together.queries import LONE
from eddy.tuples import Hop
from eddy.tuples.pandas_frames import make_frame

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("query", "rows", "results", "routing_calls", "reused", "seconds", "shared_seconds", "alone_seconds", "saved")
"""The columns of `ReportTogether.queries`."""


@dataclass(frozen=True, repr=False)
class ReportTogether(Report):
    """The report of all queries, and of each of them.

    As a report it is of all: streams, operators and predicates are called as in "alerts.orders", rows count once for
    each query that wants them, and seconds and bytes add up to those of the engine.
    """

    members: Mapping[str, Report]

    @classmethod
    def of(cls, counters: Mapping[str, Sequence[Counters]]) -> ReportTogether:
        """Make that of queries whose micro-batches are the same."""
        whole = [
            merge_queries(dict(zip(counters, parts, strict=True))) for parts in zip(*counters.values(), strict=True)
        ]
        return cls(whole, {name: Report(own) for name, own in counters.items()})

    def __repr__(self) -> str:
        told = plural(len(self.counters), "micro-batch", "micro-batches")
        return f"ReportTogether({plural(len(self.members), 'query', 'queries')}, {told})"

    def _repr_html_(self) -> str:
        return f"{heading(repr(self))}{table(self.queries())}"

    def __getitem__(self, query: str) -> Report:
        """Give the report of one query: it tells of its part of the work."""
        if query not in self.members:
            raise unknown_name("query", query, self.members, where="report")
        return self.members[query]

    def queries(self) -> pd.DataFrame:
        """One row for each query.

        `rows` are those that came for it, as `Report.batches` counts them, and `routing_calls` its tuples that were
        handed to operators. `reused` are rows about which a function was not asked, since another query had asked it,
        or its cache had the answer. `seconds` are those of its own work, and an even share of the `shared_seconds` that
        admitting, storing and letting go of rows took for all. `alone_seconds` estimates what it would have cost alone,
        from what a row costs at filters of the same name, and without what Spark takes for each query; `saved` is the
        share of them that it did not cost.
        """
        asked = self._price_filters()
        rows = [_tell(name, report.counters, asked) for name, report in self.members.items()]
        return make_frame(rows, list(COLUMNS))

    def _price_filters(self) -> dict[str, float]:
        """Find the seconds of a row about which a function was asked, by the name of its filter."""
        rows: dict[str, float] = {}
        seconds: dict[str, float] = {}
        for counters in (c for report in self.members.values() for c in report.counters):
            for hop, done in counters.operators.items():
                asked = done.evaluated - done.skipped - done.reused
                rows[hop.operator] = rows.get(hop.operator, 0) + asked
                seconds[hop.operator] = seconds.get(hop.operator, 0) + done.seconds
        return {name: seconds[name] / asked for name, asked in rows.items() if asked}


def merge_queries(told: Mapping[str, Counters]) -> Counters:
    """Merge the counters of queries in one micro-batch into those of all."""
    if set(told) == {LONE}:
        return told[LONE]
    parts = {f"{query}.": counters for query, counters in told.items()}
    first = next(iter(told.values()))
    return replace(
        first,
        **{name: sum(getattr(one, name) for one in told.values()) for name in (*SUMMED, "state", "held")},
        streams={q + name: count for q, one in parts.items() for name, count in one.streams.items()},
        operators={
            Hop(q + hop.operator, hop.pattern): s for q, one in parts.items() for hop, s in one.operators.items()
        },
        routes={
            (q + stream, label, tuple(q + name for name in route)): rows
            for q, one in parts.items()
            for (stream, label, route), rows in one.routes.items()
        },
        classes={(q + s, label): name for q, one in parts.items() for (s, label), name in one.classes.items()},
        insight=Insight(
            uses=[replace(use, operator=q + use.operator) for q, one in parts.items() for use in one.insight.uses],
            decisions=[replace(d, stream=q + d.stream) for q, one in parts.items() for d in one.insight.decisions],
            regrets=[r._replace(stream=q + r.stream) for q, one in parts.items() for r in one.insight.regrets],
        ),
        trees={(q + key[0], *key[1:]): lines for q, one in parts.items() for key, lines in one.trees.items()},
        faults=[replace(f, predicate=q + f.predicate) for q, one in parts.items() for f in one.faults],
        indexes=[replace(index, input=q + index.input) for q, one in parts.items() for index in one.indexes],
        tunings=[replace(tuning, input=q + tuning.input) for q, one in parts.items() for tuning in one.tunings],
        caches=[replace(cache, cache=q + cache.cache) for q, one in parts.items() for cache in one.caches],
        costs={q + name: cost for q, one in parts.items() for name, cost in one.costs.items()},
        in_seconds=all(one.in_seconds for one in told.values()),
        # The rows of the slowest query are the last to be late.
        watermark=min((one.watermark for one in told.values() if one.watermark is not None), default=None),
        shared=0.0,
        sharers=1,
    )


def _tell(query: str, counters: Sequence[Counters], prices: Mapping[str, float]) -> list[object]:
    """Tell of one query what `ReportTogether.queries` has."""
    done = [(hop.operator, statistic) for c in counters for hop, statistic in c.operators.items()]
    seconds, shared = (sum(value) for value in ([c.seconds for c in counters], [c.shared for c in counters]))
    own_share = sum(c.shared / c.sharers for c in counters)
    spared = sum(statistic.reused * prices.get(name, 0.0) for name, statistic in done)
    alone = seconds - own_share + shared + spared
    return [
        query,
        sum(s.rows for c in counters for s in c.streams.values()),
        sum(c.results for c in counters),
        sum(int(total(c.operators).rows_in) for c in counters),
        sum(int(statistic.reused) for _, statistic in done),
        seconds,
        shared,
        alone,
        1 - seconds / alone if alone else 0.0,
    ]
