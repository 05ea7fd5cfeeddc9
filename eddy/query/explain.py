"""Explains queries and runs in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from eddy.classes.value_names import OTHERS
from eddy.errors import QueryError, quote
from eddy.observe.caching import list_pipelines
from eddy.observe.counters import Counters
from eddy.observe.frame_notes import find_note
from eddy.observe.indexing import collect_tunings, list_indexes, list_tunings, total_indexes
from eddy.observe.insight import Regret
from eddy.observe.regret import list_accounts, sum_over_batches, tell_adapting
from eddy.observe.report import Report
from eddy.observe.text import align_columns, plural, write_seconds
from eddy.predicates.function import Function
from eddy.query.cost import write_cost
from eddy.query.existence import SEMI
from eddy.query.filter import write_after
from eddy.query.inputs import Range, Rows, Unbounded, Window
from eddy.query.query import Query, Stream
from eddy.query.state_need import choose_state, describe_state
from eddy.query.statements.statement import Statement
from eddy.sql import Column

if TYPE_CHECKING:
    import pandas as pd

TOP_CLASSES = 12
"""Classes that are shown of each stream: the rest is a tail that nobody reads."""

SMALLEST_CLASS = 0.01
"""Share of a stream's rows below which a class says less than all such classes together."""

TOP_ROUTES = 3
"""Routes that are shown of each class: the usual one, and those that were tried or taken before."""

MOST_DECISIONS = 8
"""Decisions that are shown of each stream: the latest."""

WIDEST_NAME = 48
"""Characters of a class, a route or an access pattern: two of them and some numbers fit into a line."""

WIDEST_BRANCH, WIDEST_REASON, WIDEST_ALONE = 110, 70, 120
"""Characters of a line of a tree, and of the reason for a decision, after its numbers or by itself."""

ALL_ALIKE = "all alike"
"""The name of a stream's rows if the policy does not tell them apart."""

CALLS_WITHOUT_ATTRIBUTE = {"unclassified": "none", "profiling": "profiling"}
"""The names of calls that went by no attribute."""

MICROSECONDS_PER_MILLISECOND = 1_000
"""Spark's watermark counts milliseconds."""


class Reported(Protocol):
    """A run, or anything else that has a report."""

    @property
    def report(self) -> Report:
        """The report of the run."""


def explain(what: Any) -> str:
    """Explain in words what a query asks for, or what a run did.

    `what` is a query, a statement, a frame that `eddy.where` gave, a run, or the report of one.

    Of a run it shows which class took which route, by what the classes were told apart, and what it cost; of a policy
    that keeps an account, what adapting has cost and saved.

    >>> import pyarrow as pa
    >>> from eddy import Filter, Query, Stream, run_local
    >>> query = Query(streams=[Stream("a", time="ts")], filters=[Filter("big", on="a", where="v > 1")])
    >>> print(explain(run_local(query, {"a": pa.table({"ts": [1, 2], "v": [1, 2]})})).rpartition("us")[0])
    1 micro-batch, 2 rows, 1 result, 2 routing calls (1.0 a row)
    <BLANKLINE>
    classes of "a" and their routes
      class      rows  route  of these
      all alike  100%  big        100%
    <BLANKLINE>
    operators
      operator  rows in  evaluated  rows out  rate
    """
    if isinstance(what, Query | Statement):
        return describe_query(what if isinstance(what, Query) else what.query)
    if (note := find_note(what)) is not None:
        return note.text
    # A frame of the report for each paragraph.
    report = read_report(what, "explain")
    batches = report.batches()
    rows, results, calls = (int(batches[name].sum()) for name in ("rows", "results", "routing_calls"))
    counted = (plural(len(batches), "micro-batch", "micro-batches"), plural(rows, "row"), plural(results, "result"))
    head = ", ".join([*counted, plural(calls, "routing call")])
    parts = [f"{head} ({calls / rows:.1f} a row)" if rows else head]
    parts += list_adapting(sum_over_batches(report.counters), report.write_cost)
    for stream, part in report.routes().groupby("stream"):
        parts += ["", f'classes of "{stream}" and their routes', *list_classes(part)]
    parts += [*_list_pipelines(report.counters), *_list_decisions(report)]
    parts += _list_classifiers(report.learning())
    parts += list_indexes(total_indexes(c.indexes for c in report.counters))
    parts += list_tunings(collect_tunings((c.batch, c.tunings) for c in report.counters))
    return "\n".join([*parts, "", "operators", *_list_operators(report.operators())])


def list_adapting(accounts: Sequence[Regret], write: Callable[[float], str] = write_seconds) -> Iterator[str]:
    """Write what adapting has cost and saved, in all and for each stream; nothing without accounts."""
    if accounts:
        yield from ("", tell_adapting(accounts, write), *list_accounts(accounts, write))


def list_classes(routes: pd.DataFrame) -> Iterator[str]:
    """Write the largest classes, each with its routes.

    The others are counted together, and come last.
    """
    # Stable sorts throughout, so that equal classes keep the report's order and a run explains itself the same way.
    sizes = routes.groupby("class")["share"].sum().sort_values(ascending=False, kind="stable")
    shown = [str(name) for name, share in sizes.items() if name != OTHERS and share >= SMALLEST_CLASS][:TOP_CLASSES]
    rows = [["class", "rows", "route", "of these"]]
    for name in shown:
        rows += _list_routes(name or ALL_ALIKE, routes[routes["class"] == name])
    # The tail, and what the engine has counted together already, are one class to a reader.
    left = routes[~routes["class"].isin(shown)].groupby("route")["share"].sum()
    if len(left):
        rows += _list_routes(OTHERS, left.sort_values(ascending=False, kind="stable").reset_index())
    return align_columns(rows, "<><>")


def describe_query(query: Query) -> str:
    """Describe a query: joins, windows, filters, and warnings."""
    parts = [f'query "{query.name}"', "", "joins", *list_joins(query)]
    parts += ["", "access patterns: what each input is searched by", *list_patterns(query)]
    parts += ["", "windows and watermarks", *list_windows(query)]
    parts += ["", 'filters, in the order in which "fixed" runs them', *_list_filters(query)]
    parts += ["", "aggregates of the answer on Spark", *list_aggregates(query)]
    parts += ["", "state on Spark", f"  {describe_state(query, choose_state(query))}"]
    return "\n".join([*parts, *(f"warning: {warning}" for warning in list_warnings(query))])


def list_joins(query: Query) -> Iterator[str]:
    """Write which inputs each condition connects."""
    for predicate in query.predicates:
        yield f"  {' -- '.join(sorted(predicate.inputs))}: {predicate.text}"
    for one in query.existence:
        verb = "has a match" if one.kind == SEMI else "has none"
        texts = " and ".join(condition.text for condition in one.conditions)
        yield f"  {', '.join(sorted(one.needs))}, if {one.table} {verb}: {texts}"
    if not query.conditions:
        yield "  none"


def list_patterns(query: Query) -> Iterator[str]:
    """Write by which columns the rows of each input are searched.

    Those are the columns that equalities compare. Nobody searches the rows of a single input.
    """
    if len(query.given) == 1:
        yield "  none: rows of one stream are filtered as they come, and not kept"
        return
    # Rows of a single stream are not searched, and not kept: tables look for nothing.
    alone = {query.streams[0].name} if len(query.streams) == 1 else set()
    found: dict[str, dict[str, str]] = {name: {} for name in query.given if name not in alone}
    asked = {one.table for one in query.existence}
    for condition in query.conditions:
        compared = condition.comparison()
        if compared is not None and compared.op == "=":
            for side, other in ((compared.left, compared.right), (compared.right, compared.left)):
                # Nor does a table that is asked for a match.
                if len(side.inputs) == 1 and not (side.inputs <= alone or other.inputs <= asked):
                    found[next(iter(side.inputs))][" and ".join(sorted(other.inputs))] = side.text
    for name, others in found.items():
        told = [f"{column} (from {other})" for other, column in others.items()]
        yield f"  {name}: {', '.join(told) or 'no equality; all rows in the window are looked at'}"


def list_windows(query: Query) -> Iterator[str]:
    """Write each stream's time, window and delay."""
    for stream in query.streams:
        delay = f'rows up to "{stream.delay}" late' if stream.delay is not None else "no delay"
        time = f'by "{stream.time}"' if stream.time is not None else "no event time"
        yield f"  {stream.name}: {time}, {_window_text(stream.window)}, {delay}"
    if all(stream.delay is not None for stream in query.streams):
        yield "  the watermark is that of the slowest stream; later rows are dropped and counted"
    else:
        yield "  there is no watermark, since not every stream has a delay: no row is late, and none is forgotten"


def list_warnings(query: Query) -> Iterator[str]:
    """Warn of settings that are allowed, and seldom meant."""
    if len(query.streams) == 1:
        return
    for stream in query.streams:
        if isinstance(stream.window, Unbounded):
            yield f'stream "{stream.name}" has no window: every row is kept for ever, and the state grows'
    late = [stream.name for stream in query.streams if stream.delay is None]
    if late:
        yield f'stream "{late[0]}" has no delay: there is no watermark, and no row ever leaves the state'


def list_aggregates(query: Query) -> Iterator[str]:
    """Write how to aggregate results so that Spark drops none.

    A result comes out when its last row arrives, which is on time: so the newest time in it is not below the
    watermark, whatever else is. A time of another row in it may be. While no row of a stream comes later than its
    delay says, that of stream `i` is no older than the newest time that Spark has been shown in results by its own
    window, and the window and the delay of the stream that is furthest behind.
    """
    if any(stream.time is None for stream in query.streams):
        yield "  none: no row has an event time"
        return
    late = [stream.name for stream in query.streams if stream.delay is None]
    if late:
        yield f"  results of any age may come, and Spark will drop some: give {quote(late)} a delay"
        return
    columns = [_find_output(query, stream) for stream in query.streams]
    newest = columns[0] if len(columns) == 1 else f"greatest({', '.join(columns)})"
    if isinstance(query.streams[0].delay, int | float):
        newest = f"timestamp_millis({newest})"
    yield f"  by the newest time in a result: {newest}, withWatermark with any delay"
    yield from align_columns([["by the time of", "withWatermark with at least"], *_list_delays(query, columns)], "<<")


def read_report(run: Reported | Report, where: str) -> Report:
    """Give the report of a run, or of itself."""
    report = getattr(run, "report", run)
    if not isinstance(report, Report):
        expected = "a run or a Report"
        if where == "explain":
            expected = "a Query(...), a run, a Report, or the very frame that eddy.where gave"
        raise QueryError(f"{where}: expected {expected}, got {type(run).__name__}")
    return report


def _list_routes(name: str, routes: pd.DataFrame) -> Iterator[list[str]]:
    """Write a class's largest routes, and one line for the rest."""
    share = routes["share"].sum()
    within = routes["share"] / share
    for place, (route, part) in enumerate(zip(routes["route"][:TOP_ROUTES], within[:TOP_ROUTES], strict=True)):
        yield [*(("", "") if place else (_cut(name), _percent(share))), _cut(route), _percent(part)]
    if len(routes) > TOP_ROUTES:
        yield ["", "", f"{len(routes) - TOP_ROUTES} more", _percent(within[TOP_ROUTES:].sum())]


def _list_pipelines(counters: Sequence[Counters]) -> Iterator[str]:
    """Draw the pipelines as they were at the end of a run; nothing where no policy knows of caches."""
    if counters and counters[-1].insight.caches:
        last = counters[-1]
        routes = {decision.stream: decision.ways[0].route for decision in last.insight.decisions if decision.ways}
        yield from list_pipelines(routes, last.insight.caches, last.caches)


def _list_decisions(report: Report) -> Iterator[str]:
    """Write each stream's last decision, and the latest reasons.

    Where one policy has others decide for it, each has its own.
    """
    for (stream, policy), part in report.decisions().groupby(["stream", "policy"]):
        by = f', by "{policy}"' if policy != "" else ""
        if tree := part["tree"].iloc[-1]:
            yield from ("", f'who takes which way of "{stream}", as decided last{by}')
            yield from (f"  {_cut(line, WIDEST_BRANCH)}" for line in tree.splitlines())
        if not part["ways"].any():
            yield from ("", f'decisions about "{stream}"{by}', *_list_reasons(part))
            continue
        rows = [["micro-batch", "ways", "predicted", "observed", "decided because"]]
        rows += [
            [
                f"{row.batch}",
                f"{row.ways}",
                f"{row.predicted:.3g}".replace("nan", ""),
                f"{row.observed:.3g}".replace("nan", ""),
                _cut(str(row.reason), WIDEST_REASON),
            ]
            for row in part.tail(MOST_DECISIONS).itertuples()
        ]
        last = f", the last {MOST_DECISIONS} of {len(part)}" if len(part) > MOST_DECISIONS else ""
        yield from ("", f'decisions about "{stream}"{by}, and what a row costs{last}', *align_columns(rows, ">>>><"))


def _list_reasons(decisions: pd.DataFrame) -> Iterator[str]:
    """Write the latest decisions that are no routes: who is to route, and why."""
    rows = [["micro-batch", "decided because"]]
    rows += [
        [f"{row.batch}", _cut(str(row.reason), WIDEST_ALONE)] for row in decisions.tail(MOST_DECISIONS).itertuples()
    ]
    return align_columns(rows, "><")


def _list_classifiers(learning: pd.DataFrame) -> list[str]:
    """Write by which attributes each operator's calls went.

    The gain ratio is the one that was measured last.
    """
    if learning.empty:
        return []
    rows = [["operator", "gain ratio", "its calls went by"]]
    for operator, part in learning.groupby("operator"):
        by = part["attribute"].where(part["kind"] == "classified", part["kind"].map(CALLS_WITHOUT_ATTRIBUTE))
        shares = (part["calls"].groupby(by).sum() / part["calls"].sum()).sort_values(ascending=False, kind="stable")
        told = [
            f"{name} {_percent(share)}" for name, share in shares[: TOP_ROUTES + len(CALLS_WITHOUT_ATTRIBUTE)].items()
        ]
        rows.append([_cut(str(operator)), f"{part['gain_ratio'].iloc[-1]:.3f}", ", ".join(told)])
    if not learning["gain_ratio"].any():  # a mesh has none
        return ["", "what told the classes apart", *align_columns([[name, by] for name, _, by in rows], "<<")]
    return ["", "what told the classes apart", *align_columns(rows, "<><")]


def _list_operators(frame: pd.DataFrame) -> Iterator[str]:
    columns: dict[str, tuple[str, str, Sequence[str]]] = {
        "operator": ("operator", "<", [_cut(name) for name in frame["operator"]]),
        "pattern": ("searched by", "<", [_cut(pattern) for pattern in frame["pattern"]]),
        "rows_in": ("rows in", ">", [f"{count:,.0f}" for count in frame["rows_in"]]),
        "evaluated": ("evaluated", ">", [f"{count:,.0f}" for count in frame["evaluated"]]),
        "reused": ("reused", ">", [f"{count:,.0f}" for count in frame["reused"]]),
        "rows_out": ("rows out", ">", [f"{count:,.0f}" for count in frame["rows_out"]]),
        "rate": ("rate", ">", [f"{rate:.3f}" for rate in frame["rate"]]),
        "microseconds": ("us a row", ">", [f"{micros:.2f}" for micros in frame["microseconds"]]),
    }
    if "cost" in frame:
        columns["cost"] = ("cost", ">", ["" if math.isnan(cost) else f"{cost:,.4g}" for cost in frame["cost"]])
    # What no operator has is left out.
    shown = [column for name, column in columns.items() if name not in ("pattern", "reused") or frame[name].any()]
    rows = zip(*([title, *texts] for title, _, texts in shown), strict=True)
    return align_columns(rows, "".join(side for _, side, _ in shown))


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.005 or not share else "<1%"


def _cut(text: str, most: int = WIDEST_NAME) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _list_delays(query: Query, columns: list[str]) -> Iterator[list[str]]:
    for stream, column in zip(query.streams, columns, strict=True):
        needed = _find_delay(query, stream)
        yield [column, "none is enough" if needed is None else _delay_text(stream, needed)]


def _find_delay(query: Query, stream: Stream) -> float | None:
    """Find the delay for aggregates by the time of one stream.

    Gives None if no delay is long enough.
    """
    found = stream.delay_ticks or 0
    for other in query.streams:
        if other is stream:
            continue
        if not (isinstance(stream.window, Range) and isinstance(other.window, Range)):
            return None
        # The newest time that Spark has seen may be ahead of this stream's row by all of these:
        #
        #     row of this stream --its window--> newest in its result --other's window, other's delay--> newest seen
        found = max(found, stream.window.ticks + other.window.ticks + (other.delay_ticks or 0))
    return found


def _delay_text(stream: Stream, ticks: float | None) -> str:
    """Write a delay as Spark takes it.

    A number of a numeric time stands for a millisecond.
    """
    numbers = isinstance(stream.delay, int | float)
    millis = math.ceil((ticks or 0) / (1 if numbers else MICROSECONDS_PER_MILLISECOND))
    return f'"{millis // 1_000} seconds"' if millis % 1_000 == 0 else f'"{millis} milliseconds"'


def _find_output(query: Query, stream: Stream) -> str:
    """Find the name of a stream's time in the answer."""
    column = Column(stream.name, str(stream.time))
    if query.outputs is None:
        return f"{stream.name}_{stream.time}"
    return next((name for found, name in query.outputs if found == column), f"{column} (not selected)")


def _window_text(window: Window) -> str:
    """Write a window in the words of the file."""
    if isinstance(window, Range):
        return f'window "{window.length}"'
    return f"the newest {window.count:,} rows" if isinstance(window, Rows) else "no window"


def _list_filters(query: Query) -> Iterator[str]:
    # The first that may act comes next, as in the policy.
    done: list[str] = []
    while free := [f for f in query.filters if f.name not in done and set(f.after or ()) <= set(done)]:
        f, asked = free[0], free[0].predicate
        what = f"{asked.name} of {quote(map(str, asked.columns))}" if isinstance(asked, Function) else asked.text
        yield f"  {f.name} on {', '.join(f.on)}{write_after(f)}{write_cost(f)}: {what}"
        done.append(f.name)
    if not query.filters:
        yield "  none"
