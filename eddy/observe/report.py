"""Counters as pandas frames."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from eddy.classes.value_names import OTHERS
from eddy.observe.caching import CacheCount, judge_cache
from eddy.observe.counters import VARIOUS, CellCount, ClassRoute, Counters, StreamCount
from eddy.observe.indexing import IndexCount, Tuning, collect_tunings
from eddy.observe.insight import DecisionKey, Regret, RouteCost
from eddy.observe.notebook import MOST_NOTE_ROWS, folded, heading, table
from eddy.observe.regret import sum_over_batches, tell_adapting
from eddy.observe.statistics import Statistic, total
from eddy.observe.tariff import choose_writer
from eddy.observe.text import plural
from eddy.tuples.pandas_frames import make_frame, make_times

if TYPE_CHECKING:
    import pandas as pd

MOST_ROUTE_ROWS = 1_000
"""Rows of a stream in `Report.routes`, besides one for the rest: forty classes, and twenty-five routes of each."""

COUNTS = ["rows_in", "evaluated", "skipped", "reused", "rows_out", "seconds"]

BATCH: Mapping[str, Callable[[Counters], Any]] = {
    "batch": lambda c: c.batch,
    "rows": lambda c: sum(s.rows for s in c.streams.values()),
    "results": lambda c: c.results,
    "routing_calls": lambda c: total(c.operators).rows_in,
    "decisions": lambda c: c.decisions,
    "seconds": lambda c: c.seconds,
    "operator_seconds": lambda c: total(c.operators).seconds,
    "planning_seconds": lambda c: c.planning,
    "learning_seconds": lambda c: c.learning,
    "untimed": lambda c: sum(s.untimed for s in c.streams.values()),
    "late": lambda c: sum(s.late for s in c.streams.values()),
    "ahead": lambda c: sum(s.ahead for s in c.streams.values()),
    "restore_seconds": lambda c: c.restoring,
    "packing_seconds": lambda c: c.packing,
    "saving_seconds": lambda c: c.saving,
    "errors": lambda c: sum(fault.rows for fault in c.faults),
    "keyless": lambda c: sum(s.keyless for s in c.streams.values()),
    "malformed": lambda c: sum(s.malformed for s in c.streams.values()),
    "state_bytes": lambda c: c.state,
    "indexing_seconds": lambda c: c.indexing,
    "tuning_seconds": lambda c: c.tuning,
    "cache_bytes": lambda c: sum(cache.nbytes for cache in c.caches),
    "cache_look_ups": lambda c: sum(cache.look_ups for cache in c.caches),
    "cache_hits": lambda c: sum(cache.hits for cache in c.caches),
    "held": lambda c: c.held,
}
"""The columns of `Report.batches`."""


@dataclass(frozen=True, repr=False)
class Report:
    """The counters of a run as frames, by micro-batch or in all."""

    counters: Sequence[Counters]

    def __repr__(self) -> str:
        calls = sum(total(c.operators).rows_in for c in self.counters)
        batches = plural(len(self.counters), "micro-batch", "micro-batches")
        return f"Report({batches}, {plural(int(calls), 'routing call')})"

    def _repr_html_(self) -> str:
        shown = self.operators()[["operator", "pattern", "rows_in", "rows_out", "rate", "microseconds"]]
        if not shown["pattern"].any():
            shown = shown.drop(columns="pattern")
        adapting = tell_adapting(sum_over_batches(self.counters), self.write_cost)
        batches = self.batches()[["batch", "rows", "results", "routing_calls", "seconds", "late", "errors"]]
        last = folded(
            f"the last of {plural(len(batches), 'micro-batch', 'micro-batches')}", table(batches.tail(MOST_NOTE_ROWS))
        )
        told = f"{heading(repr(self))}{heading(adapting) if adapting else ''}{table(shown)}"
        return f"{told}{last if len(batches) else ''}"

    @property
    def write_cost(self) -> Callable[[float], str]:
        """How costs are written: as times, unless filters have costs in a unit of the user's."""
        return choose_writer(all(c.in_seconds for c in self.counters))

    def batches(self) -> pd.DataFrame:
        """One row for each micro-batch.

        `routing_calls` are tuples handed to operators, `decisions` are questions to the policy; the seconds are
        those of the whole micro-batch, of the operators, of the policy's planning and of its learning. Five columns
        count rows that took no part: without an event time, late, of a clock that runs ahead, without a value for an
        equality, and malformed in their source; `errors` are those of predicates. `restore_seconds` to `state_bytes`
        are what Spark's state costs: seconds to restore it, to send the results, and to save it, and its bytes.
        `indexing_seconds` are those in which rows were searched, indexes being made when they are first searched, and
        those in which old rows went; `tuning_seconds` those of choosing other indexes. `cache_bytes` is
        what caches hold at the end, and of `cache_look_ups` in them so many as there are `cache_hits` found their key.
        `held` are results that wait at the end of it, where an answer tells of them later than they are found.
        Rows with a time below `watermark` were late; there is none while any stream has shown no row, or has no delay.
        """
        frame = make_frame({name: [value(c) for c in self.counters] for name, value in BATCH.items()})
        frame["watermark"] = make_times([c.watermark for c in self.counters], self._clock)
        return frame

    def streams(self) -> pd.DataFrame:
        """One row for each stream in each micro-batch.

        Counted are rows that came, were dropped, and are stored at its end. In Spark a row may be in several cells: it
        is counted in one, and the others are its `copies`. `newest` is the newest time that the stream has shown so
        far, late rows included: the next watermark is the least of these, each less the delay of its stream. Streams of
        one source have one store: it has as many rows for each of them, and its bytes are counted at the first.
        """
        rows = [{"batch": c.batch, "stream": name, **asdict(s)} for c in self.counters for name, s in c.streams.items()]
        frame = make_frame(rows, ["batch", "stream", *(f.name for f in fields(StreamCount))])
        frame["newest"] = make_times([row["newest"] for row in rows], self._clock)
        return frame

    @property
    def _clock(self) -> str | None:
        return next((c.clock for c in self.counters if c.clock is not None), None)

    def cells(self) -> pd.DataFrame:
        """One row for each cell that has had rows, the one that took most seconds first; none without Spark.

        `rows` came to it, `copies` among them, and took `seconds` of work. It stores `stored` rows, and its state has
        `nbytes`. The last three columns say how many times the mean of all cells its rows, stored rows and seconds are.
        """
        names = [f.name for f in fields(CellCount)]
        frame = make_frame([asdict(count) for c in self.counters for count in c.cells], names)
        last = dict.fromkeys(("stored", "nbytes"), "last")
        sums = {name: last.get(name, "sum") for name in names if name != "cell"}
        frame = frame.groupby("cell").agg(sums).reset_index()[names]
        for name in ("rows", "stored", "seconds"):
            frame[f"{name}_over_mean"] = frame[name] / frame[name].mean()
        return frame.sort_values("seconds", ascending=False, kind="stable", ignore_index=True)

    def operators(self, *, by_batch: bool = False) -> pd.DataFrame:
        """One row for each operator and access pattern.

        With `by_batch`, one for each of them in each micro-batch. `evaluated` are the rows that a filter had not judged
        before, or that agree with tuples in keys, windows and order; `skipped` are those of them with a null
        that a filter with `nulls="skip"` has not asked its function about, `reused` those whose answer its `cache` had;
        `rate` is outputs per input, `microseconds` the time of one input. Where filters have costs `cost` is that of
        all rows that a function was asked about, in the user's unit or in seconds, and NaN for other operators.
        """
        rows = [
            [*(c.batch, hop.operator, hop.pattern), *_count_operator(s, c.costs.get(hop.operator, math.nan))]
            for c in self.counters
            for hop, s in c.operators.items()
        ]
        frame = make_frame(rows, ["batch", "operator", "pattern", *COUNTS, "cost"])
        if not by_batch:
            from eddy.observe.wide_frame import Operators  # noqa: PLC0415  pandas is imported with it

            frame = Operators(
                frame.groupby(["operator", "pattern"], sort=False)[[*COUNTS, "cost"]].sum(min_count=1).reset_index()
            )
        frame["rate"] = frame["rows_out"] / frame["rows_in"]
        frame["microseconds"] = frame["seconds"] / frame["rows_in"] * 1e6
        costs = frame.pop("cost")
        if any(c.costs for c in self.counters):
            frame["cost"] = costs
        return frame

    def routes(self, *, by_batch: bool = False) -> pd.DataFrame:
        """One row for each class of a stream and each route.

        It has the tuples that set out on the route, and their share. With `by_batch`, one for each of them in each
        micro-batch, and no share.

        A class is named by the values or ranges by which the policy told it apart, as they are now; "" are rows that
        it does not tell apart. However old the query is and however many classes there are, the rows are bounded: each
        micro-batch counts its largest classes, and a stream has at most `MOST_ROUTE_ROWS` rows; all others are one row.
        """
        rows: dict[ClassRoute, int] = {}
        names: dict[tuple[str, str], str] = {}
        for c in self.counters:
            names |= c.classes
        if by_batch:
            return self._routes_by_batch(names)
        for c in self.counters:
            for key, count in c.routes.items():
                rows[key] = rows.get(key, 0) + count
        frame = make_frame(
            [
                [stream, names.get((stream, key), key), " > ".join(route), count]
                for (stream, key, route), count in _keep_largest(rows).items()
            ],
            ["stream", "class", "route", "tuples"],
        )
        frame["share"] = frame["tuples"] / frame.groupby("stream")["tuples"].transform("sum")
        return frame.sort_values(["stream", "tuples"], ascending=[True, False], ignore_index=True)

    def _routes_by_batch(self, names: Mapping[tuple[str, str], str]) -> pd.DataFrame:
        rows = [
            [c.batch, stream, names.get((stream, key), key), " > ".join(route), count]
            for c in self.counters
            for (stream, key, route), count in c.routes.items()
        ]
        return make_frame(rows, ["batch", "stream", "class", "route", "tuples"])

    def errors(self) -> pd.DataFrame:
        """One row for each micro-batch, predicate and error.

        Errors are told by the kind that its function or its SQL has met. `on_error` says what was done: rows are
        dropped, or kept, or "fail" where they are part of the answer. How many rows were met depends on the routing,
        since another predicate may have dropped them before; the answer does not. `sample` is empty unless the query
        says `show_values`.
        """
        rows = [{"batch": c.batch, **asdict(fault)} for c in self.counters for fault in c.faults]
        return make_frame(rows, ["batch", "predicate", "kind", "on_error", "rows", "sample"])

    def learning(self) -> pd.DataFrame:
        """One row for each operator, micro-batch and use.

        A use is a way in which the policy sent rows to the operator. `kind` says what the calls were: "classified" by
        the attribute, "unclassified", or "profiling" to learn; the gain ratio is that of the attribute when it was last
        measured.
        """
        rows: list[list[object]] = []
        before: dict[tuple[str, str, str], int] = {}
        for c in self.counters:
            for i in c.insight.uses:
                key = (i.operator, i.kind, i.attribute)
                # Uses are counted since the policy began; a row of the frame is about its micro-batch alone.
                calls, before[key] = i.calls - before.get(key, 0), i.calls
                if calls:
                    rows.append([c.batch, *key, i.gain_ratio, calls])
        return make_frame(rows, ["batch", "operator", "kind", "attribute", "gain_ratio", "calls"])

    def decisions(self) -> pd.DataFrame:
        """One row for each decision about a stream's routes.

        It says when and why the policy decided, and what came of it. `policy` is who decided, where one policy has
        others decide for it: itself, or one of them; "" is any other. `predicted` and `observed` are what a row costs,
        in the unit of the policy's costs, on average over the ways; observed until the next decision, or until now.
        `seconds` is how long it took to decide. `tree` says who takes which way, a line for each branch.
        """
        rows: dict[DecisionKey, dict[str, Any]] = {}
        for c in self.counters:
            for d in c.insight.decisions:
                first = {"batch": c.batch, "stream": d.stream, "policy": d.policy, "reason": d.reason}
                row = rows.setdefault(d.key, first)
                row |= {"ways": len(d.ways), **_average_costs(d.ways), "seconds": d.seconds}
                row["tree"] = "\n".join(c.trees.get(d.key, ()))
        columns = ["batch", "stream", "policy", "reason", "ways", "predicted", "observed", "seconds", "tree"]
        return make_frame(list(rows.values()), columns)

    def regret(self) -> pd.DataFrame:
        """One row for each stream in each micro-batch: what adapting has cost it, and what it has saved.

        All but `batch`, `stream`, `state` and `arm` are seconds, or in the unit of filters' costs. `spent` is
        everything; `written` is what the order that was written would have taken, give or take `error`, one standard
        error; `saved` is what operators took less than in that order. `sampling`, `duels`, `control` and `learning`
        came on top: spent is written - saved + these four. `state` says what the policy was doing at the end, and `arm`
        by whom rows were routed; in Spark, of all cells, the commonest first. Policies that keep no account have no
        rows.
        """
        rows = [{"batch": c.batch, **regret._asdict()} for c in self.counters for regret in c.insight.regrets]
        return make_frame(rows, ["batch", *Regret._fields])

    def indexes(self) -> pd.DataFrame:
        """One row for each key map of an input in each micro-batch.

        `map` is how rows are found, in words, "scan" where all are looked through. It stands over `parts`, indexes of
        one or more `segments` of the rows each, with `rows` and `bytes` in all. `patterns` are the sets of columns by
        which it was searched, by `probes` tuples: each has looked into as many parts as there are `lookups`, and found
        `ranges` of rows there, with `candidates` in them, of which `matches` were right. `sorted_rows` is how many rows
        were put in order for it. `predicted` and `observed` are what its work was expected to cost, and has cost.
        """
        rows = [{"batch": c.batch, **asdict(count)} for c in self.counters for count in c.indexes]
        frame = make_frame(rows, ["batch", *(f.name for f in fields(IndexCount))])
        frame["patterns"] = ["; ".join(texts) for texts in frame["patterns"]]
        return frame.drop(columns="by_pattern").rename(columns={"nbytes": "bytes"})

    def tuning(self) -> pd.DataFrame:
        """One row for each decision about the key maps of an input.

        `why` is the schedule that asked for it, or what was wrong with an earlier one that is taken back. `before` and
        `after` are the key maps in words. `predicted` and `observed` are the shares of the work that it was to save,
        and has saved as far as is known. Both are empty for the first choice of a kind that was asked for, as `bits`,
        which is made whatever it saves, and for notes that change nothing. `migrated` is how many stored rows were put
        in order again, and `patterns` how many sets of columns were being counted.
        """
        rows = [
            {"batch": batch, **asdict(t), "before": "; ".join(t.before), "after": "; ".join(t.after)}
            for batch, t in collect_tunings((c.batch, c.tunings) for c in self.counters)
        ]
        columns = ["batch", *(f.name for f in fields(Tuning) if f.name != "number")]
        return make_frame(rows, columns).astype({"predicted": float, "observed": float})

    def caches(self) -> pd.DataFrame:
        """One row for each cache in each micro-batch.

        `cache` are the inputs that it has combinations of, and `key` the columns by which they are looked up. Of its
        `look_ups` as many as there are `hits` found a key that was held; `filled` were found anew, and `refused` had
        too many candidates. It was kept up with `fresh` rows in `seconds`. `keys`, `combinations` and `nbytes` are what
        it holds at the end. `state` says for each stream that may ask it whether it does, and `why`. In a round it
        saves all of them `benefit`, and to keep it up takes `cost`: seconds, or calls where a policy counts these.
        """
        rows = [
            {"batch": c.batch, **asdict(cache), **judge_cache(cache, c.insight.caches)}
            for c in self.counters
            for cache in c.caches
        ]
        return make_frame(rows, ["batch", *(f.name for f in fields(CacheCount)), "state", "benefit", "cost", "why"])


def _count_operator(step: Statistic, cost: float) -> list[float]:
    return [*(step.rows_in, step.evaluated, step.skipped, step.reused, step.rows_out, step.seconds), cost * step.asked]


def _average_costs(ways: Sequence[RouteCost]) -> Mapping[str, float]:
    """Average the cost of a row over all ways."""
    whole = sum(way.share for way in ways) or 1.0
    return {
        "predicted": sum(way.share * way.predicted for way in ways) / whole,
        "observed": sum(way.share * way.observed for way in ways) / whole,
    }


def _keep_largest(rows: Mapping[ClassRoute, int]) -> Mapping[ClassRoute, int]:
    """Keep each stream's largest routes; the rest is one row."""
    kept: dict[ClassRoute, int] = {}
    apart: dict[str, int] = {}
    for route, count in sorted(rows.items(), key=lambda row: -row[1]):
        stream = route[0]
        rest = (stream, OTHERS, VARIOUS)
        # The rest may be among the rows already, from micro-batches that had many classes; it takes none of the places.
        apart[stream] = apart.get(stream, 0) + (route != rest)
        place = route if apart[stream] <= MOST_ROUTE_ROWS else rest
        kept[place] = kept.get(place, 0) + count
    return kept
