"""Explains queries and runs in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from eddy.classes.value_names import OTHERS
from eddy.errors import QueryError
from eddy.observe.caching import list_pipelines
from eddy.observe.counters import Counters
from eddy.observe.frame_notes import find_note
from eddy.observe.indexing import collect_tunings, list_indexes, list_tunings, total_indexes
from eddy.observe.insight import Regret
from eddy.observe.regret import list_accounts, sum_over_batches, tell_adapting
from eddy.observe.report import Report
from eddy.observe.text import align_columns, plural, write_seconds
from eddy.query.explain.describe import PlanNode, describe_query, describe_statement, draw_below
from eddy.query.explain.together import describe_queries
from eddy.query.query import Query
from eddy.query.statements.statement import Statement
from eddy.query.together.queries import Queries

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


MOST_STEPS = 40
"""Steps of a stream's tree that are drawn, of the routes that most rows took: a screen."""

PAUSE = "   "


class Reported(Protocol):
    """A run, or anything else that has a report."""

    @property
    def report(self) -> Report:
        """The report of the run."""


def explain(what: Any) -> str:
    """Explain in words what a query asks for, or what a run did.

    `what` is a query, a statement, several queries, a frame that `eddy.where` gave, a run, or the report of one.

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
    if isinstance(what, Query | Queries | Statement):
        return _describe(what)
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
    parts += [*list_plans(report), *_list_pipelines(report.counters), *_list_decisions(report)]
    parts += _list_classifiers(report.learning())
    parts += list_indexes(total_indexes(c.indexes for c in report.counters))
    parts += list_tunings(collect_tunings((c.batch, c.tunings) for c in report.counters))
    return "\n".join([*parts, "", "operators", *_list_operators(report.operators())])


def _describe(asked: Query | Queries | Statement) -> str:
    """Describe what is asked for."""
    if isinstance(asked, Queries):
        return describe_queries(asked)
    return describe_query(asked) if isinstance(asked, Query) else describe_statement(asked)


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


@dataclass(kw_only=True)
class Step:
    """An operator at one place of routes, and what follows it."""

    tuples: int = 0
    next: dict[str, Step] = field(default_factory=dict)


def list_plans(report: Report) -> Iterator[str]:
    """Draw each stream's routes as one tree; routes with the same beginning share it.

    At each step stand the share of the stream's rows that set out this way, and what the operator does to a tuple on
    average, wherever it stood: what it lets pass, and what that takes. Those are measured over all rows and not by
    class, so that a step may be cheaper here than it is on average.
    """
    done = _average_operators(report.operators(), report.write_cost)
    for stream, part in report.routes().groupby("stream"):
        routes = [
            (route.split(" > "), int(tuples)) for route, tuples in zip(part["route"], part["tuples"], strict=True)
        ]
        whole = sum(tuples for _, tuples in routes)
        if whole and any(len(route) > 1 for route, _ in routes):
            yield from ("", f'plan of "{stream}": where its rows set out to, and what a tuple takes there on average')
            yield f"  {stream}"
            yield from draw_below(_make_nodes(_join(routes), whole, done), "  ")


def _join(routes: Sequence[tuple[Sequence[str], int]]) -> dict[str, Step]:
    """Join routes to a tree, the commonest first."""
    root = Step()
    drawn = 0
    for route, tuples in sorted(routes, key=lambda one: -one[1]):
        drawn += len(route)
        if drawn > MOST_STEPS and root.next:
            break
        at = root
        for operator in route:
            at = at.next.setdefault(operator, Step())
            at.tuples += tuples
    return root.next


def _make_nodes(steps: Mapping[str, Step], whole: int, done: Mapping[str, str]) -> tuple[PlanNode, ...]:
    """Write each step, the commonest first."""
    ordered = sorted(steps.items(), key=lambda step: -step[1].tuples)
    texts = (f"{name}{PAUSE}{_percent(step.tuples / whole)} of rows{done.get(name, '')}" for name, step in ordered)
    return tuple(
        PlanNode(text, _make_nodes(step.next, whole, done)) for text, (_, step) in zip(texts, ordered, strict=True)
    )


def _average_operators(frame: pd.DataFrame, write: Callable[[float], str]) -> Mapping[str, str]:
    """Write what each operator lets pass of a tuple, and what that takes; a user's cost where there is one."""
    costs = ["cost"] if "cost" in frame else []
    sums = frame.groupby("operator")[["rows_in", "rows_out", "seconds", *costs]].sum(min_count=1)
    told = {}
    for operator, one in sums[sums["rows_in"] > 0].iterrows():
        rows = float(one["rows_in"])
        rate = float(one["rows_out"]) / rows
        passes = f"{rate:.0%} pass" if rate <= 1 else f"{rate:.3g} out for one in"
        paid = one["cost"] if costs and one["cost"] == one["cost"] else None
        takes = write_seconds(float(one["seconds"]) / rows) if paid is None else write(float(paid) / rows)
        told[str(operator)] = f", {passes}, {takes} a tuple"
    return told
