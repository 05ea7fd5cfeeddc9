"""Describes in words what a query asks for, before it runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from eddy.errors import quote
from eddy.observe.text import align_columns, plural
from eddy.predicates.function import Function
from eddy.query.cost import write_cost
from eddy.query.emit import LEFT_AT, TICK, Emit, Every, counts_rows
from eddy.query.existence import SEMI
from eddy.query.filter import Filter, write_after
from eddy.query.horizons import Horizon, find_horizons
from eddy.query.inputs import Range, Rows, Stream, Unbounded, Window
from eddy.query.query import Query
from eddy.query.state_need import choose_state, describe_state
from eddy.query.statements.after import ANSWER, After
from eddy.query.statements.statement import Statement
from eddy.sql import Column
from eddy.sql.bind.writer import write_duration

MICROSECONDS_PER_MILLISECOND = 1_000
"""Spark's watermark counts milliseconds."""

FILTERS = 'filters, in the order in which "fixed" runs them'


def describe_query(query: Query, statement: Statement | None = None) -> str:
    """Describe a query, or that of a statement: its plan, windows, filters, and warnings."""
    parts = [f'query "{query.name}"', "", "plan", *draw_plan(query, statement=statement)]
    parts += ["", "access patterns: what each input is searched by", *list_patterns(query)]
    parts += ["", "windows and watermarks", *list_windows(query)]
    parts += ["", FILTERS, *list_filters(query)]
    if statement is None or statement.after is None:
        parts += ["", "aggregates of the answer on Spark", *list_aggregates(query)]
    parts += ["", "state on Spark", f"  {describe_state(query, choose_state(query))}"]
    return "\n".join([*parts, *(f"warning: {warning}" for warning in list_warnings(query))])


def describe_where(query: Query) -> str:
    """Describe what a frame is asked, by the query made of it: a frame keeps its columns, and has no windows."""
    plan = draw_below(_make_plan(query, partial(_make_input, query, {}), {}).below, "  ", is_root=True)
    return "\n".join([f'query "{query.name}"', "", "plan", *plan, "", FILTERS, *list_filters(query)])


def describe_statement(statement: Statement) -> str:
    """Describe a statement: its query, and what Spark does with the answer."""
    return "\n".join([describe_query(statement.query, statement), *list_after(statement.after)])


def list_after(after: After | None) -> Iterator[str]:
    """Write what Spark does after the eddy, and by which time groups close."""
    if after is not None:
        yield from ("", "after the eddy, by Spark", f"  {after.text.format(answer='answer')}")
        if after.time is not None:
            yield f'  groups close by "{after.time}"'


class PlanNode(NamedTuple):
    """A step of a query, and what it takes its rows from; or one of a route, and what follows."""

    text: str
    below: tuple[PlanNode, ...] = ()


def draw_plan(
    query: Query, by_spark: Mapping[str, str] | None = None, statement: Statement | None = None
) -> Iterator[str]:
    """Draw a query as a tree: what it selects stands above, and its inputs below.

    Filters on one input stand right above it, with what a row costs there if somebody says it; `by_spark` are notes on
    those that Spark evaluates. Inputs stand in the order of the query. It is what is asked for: an eddy takes other
    ways to the same rows. That of a statement has the watermarks too: Spark does what is below those of the streams,
    and what is above that of the answer.
    """
    notes = by_spark or {}
    if statement is None:
        plan = _make_plan(query, partial(_make_input, query, notes), notes)
    else:
        plan = _make_plan(query, partial(_make_stated_input, statement, query, notes), notes)
        plan = _put_after(statement.after, query, plan._replace(text=f"the eddy: {plan.text}"))
    yield from draw_below((plan,), "  ", is_root=True)


def draw_below(nodes: Sequence[PlanNode], before: str, *, is_root: bool = False) -> Iterator[str]:
    """Draw the branches of a tree; a root has no branch before it."""
    for place, node in enumerate(nodes, start=1):
        branch, more = ("", "") if is_root else ("└─ ", "   ") if place == len(nodes) else ("├─ ", "│  ")
        yield f"{before}{branch}{node.text}"
        yield from draw_below(node.below, before + more)


def _make_plan(query: Query, make_input: Callable[[str], PlanNode], notes: Mapping[str, str]) -> PlanNode:
    """Join the inputs one by one, and filter as soon as all inputs of a filter are there."""
    joined: set[str] = set()
    plan: PlanNode | None = None
    left = list(query.inputs)
    while left:
        near = [n for n in left if any(n in p.inputs and p.inputs <= joined | {n} for p in query.predicates)]
        name = (near or left)[0]
        left.remove(name)
        joined.add(name)
        alone = make_input(name)
        if plan is None:
            plan = alone
            continue
        # A BETWEEN is two conditions with one text.
        texts = dict.fromkeys(p.text for p in query.predicates if name in p.inputs and p.inputs <= joined)
        plan = PlanNode(f"join: {' and '.join(texts)}" if texts else "every combination", (plan, alone))
        several = [f for f in query.filters if len(f.on) > 1 and name in f.on and joined.issuperset(f.on)]
        plan = _filter_above(plan, several, notes)
    assert plan is not None  # a query has a stream
    for one in query.existence:
        told = " and ".join(condition.text for condition in one.conditions)
        plan = PlanNode(
            f"if {one.table} {'has a match' if one.kind == SEMI else 'has none'}: {told}", (plan, make_input(one.table))
        )
    plan = PlanNode(f"select {', '.join(query.select)}" if query.select else "select all columns", (plan,))
    return plan if query.own_time is None else PlanNode(_describe_emit(query.emit), (plan,))


def _describe_emit(emit: Emit) -> str:
    """Say when combinations are told, where that is not as they begin."""
    if isinstance(emit, Every):
        return f"tell all that are there at each multiple of {emit.length}, as {TICK}"
    return f"tell each at its end, as {LEFT_AT}"


def _make_input(query: Query, notes: Mapping[str, str], name: str) -> PlanNode:
    """Make an input, with the filters on it above."""
    return _filter_above(PlanNode(name), [f for f in query.filters if f.on == (name,)], notes)


def _make_stated_input(statement: Statement, query: Query, by_spark: Mapping[str, str], name: str) -> PlanNode:
    """Make an input of a statement, with its filters above: first Spark's, then the watermark, then the eddy's."""
    source = statement.sources.get(name, name)
    told = name if source == name else f"{source} AS {name}"
    filters = [f for f in query.filters if f.on == (name,)]
    stream = next((one for one in query.streams if one.name == name), None)
    before = [f for f in filters if f.name in by_spark]
    plan = _filter_above(PlanNode(f"{'table' if stream is None else 'stream'} {told}"), before, by_spark)
    if stream is not None and not _list_without_delay(query):
        plan = PlanNode(f'watermark of {name}: {stream.delay} behind the newest "{stream.time}"', (plan,))
    return _filter_above(plan, [f for f in filters if f.name not in by_spark], by_spark)


def _put_after(after: After | None, query: Query, plan: PlanNode) -> PlanNode:
    """Put what Spark does after the eddy above a plan, and the watermark of the answer between them."""
    if after is None:
        return plan
    if after.time is not None:
        plan = PlanNode(_write_answer_watermark(query, after), (plan,))
    head, tail = (part.format().strip() for part in after.text.split(ANSWER))
    if tail:
        plan = PlanNode(f"Spark: {tail}", (plan,))
    return PlanNode(f"Spark: {head.removesuffix('FROM').strip()}", (plan,))


def _write_answer_watermark(query: Query, after: After) -> str:
    """Write how far the watermark of the answer is behind that of the streams, and why."""
    if late := _list_without_delay(query):
        return f"no watermark of the answer, since there is no delay of {quote(late)}: no group ever closes"
    named = f'watermark of "{after.time}": '
    if not after.stream or len(query.streams) == 1:
        return f"{named}that of the slowest stream"
    horizon = find_horizons(query).get(after.stream)
    if horizon is None:
        return (
            f'no watermark of "{after.time}", since a row of {after.stream} can be met for ever: no group ever closes'
        )
    if horizon.ticks <= 0:
        return f"{named}that of the slowest stream"
    length = _write_ticks(query.streams[0], horizon.ticks)
    return f"{named}{length} behind that of the slowest stream, for as long as a row of {after.stream} can be met"


def _list_without_delay(query: Query) -> list[str]:
    """List the streams without a delay: where there are any, there is no watermark."""
    return [stream.name for stream in query.streams if stream.delay is None]


def _filter_above(plan: PlanNode, filters: Sequence[Filter], notes: Mapping[str, str]) -> PlanNode:
    for f in filters:
        what = f.where or "a Python function"
        plan = PlanNode(f"filter {f.name}{write_after(f)}{write_cost(f)}: {what}{notes.get(f.name, '')}", (plan,))
    return plan


def list_patterns(query: Query) -> Iterator[str]:
    """Write by which columns the rows of each input are searched.

    Those are the columns that equalities compare. Nobody searches the rows of a single input.
    """
    if len(query.given) == 1 and not counts_rows(query.emit, query.streams[0]):
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
    """Write each stream's time, window and delay, and for how long its rows can be met where conditions say so."""
    horizons = find_horizons(query)
    for stream in query.streams:
        delay = f'rows up to "{stream.delay}" late' if stream.delay is not None else "no delay"
        time = f'by "{stream.time}"' if stream.time is not None else "no event time"
        yield f"  {stream.name}: {time}, {_window_text(stream.window)}, {delay}"
        if (horizon := horizons.get(stream.name)) is not None and horizon.because:
            yield f"    a row can be met until the watermark {_passing_text(stream, horizon)}"
    for source, several in query.sources.items():
        if len(several) > 1:
            yield f"  {', '.join(stream.name for stream in several)}: one store of {source}"
    if not _list_without_delay(query):
        yield "  the watermark is that of the slowest stream; later rows are dropped and counted"
    else:
        yield "  there is no watermark, since not every stream has a delay: no row is late, and none is forgotten"


def list_warnings(query: Query) -> Iterator[str]:
    """Warn of settings that are allowed, and seldom meant."""
    if isinstance(query.emit, Every) and all(isinstance(stream.window, Unbounded) for stream in query.streams):
        yield "no stream has a window: every tick tells all since the beginning, and the state grows"
    if len(query.streams) == 1:
        return
    horizons = find_horizons(query)
    for stream in query.streams:
        if isinstance(stream.window, Unbounded) and stream.name not in horizons:
            yield f'stream "{stream.name}" has no window: every row is kept for ever, and the state grows'
    late = _list_without_delay(query)
    if late:
        whose = f"stream {quote(late)} has" if len(late) == 1 else f"streams {quote(late)} have"
        yield f"{whose} no delay: there is no watermark, and no row ever leaves the state"


def list_aggregates(query: Query) -> Iterator[str]:
    """Write how to aggregate results so that Spark drops none.

    A result comes out when its last row arrives, which is on time: so the newest time in it is not below the
    watermark, whatever else is. A time of another row in it may be.
    """
    if any(stream.time is None for stream in query.streams):
        yield "  none: no row has an event time"
        return
    late = _list_without_delay(query)
    if late:
        yield f"  results of any age may come, and Spark will drop some: give {quote(late)} a delay"
        return
    if query.own_time is not None:
        yield f'  attach(.., time="{query.own_time}") declares the watermark: no result of an older time comes after it'
        return
    columns = [_find_output(query, stream) for stream in query.streams]
    newest = columns[0] if len(columns) == 1 else f"greatest({', '.join(columns)})"
    if isinstance(query.streams[0].delay, int | float):
        newest = f"timestamp_millis({newest})"
    yield "  attach(.., time=NAME) declares the watermark: NAME is one of these times, or new, for the newest; by hand:"
    yield f"  by the newest time in a result: {newest}, withWatermark with any delay"
    yield from align_columns([["by the time of", "withWatermark with at least"], *_list_delays(query, columns)], "<<")


def _list_delays(query: Query, columns: list[str]) -> Iterator[list[str]]:
    horizons = find_horizons(query)
    # By how much the newest time in a result may be later than that of the stream's own row.
    spans = {name: max(horizon.ticks, 0) for name, horizon in horizons.items()}
    if len(query.streams) == 1:
        spans = {query.streams[0].name: 0}
    for stream, column in zip(query.streams, columns, strict=True):
        bounded = len(spans) == len(query.streams)
        yield [column, _delay_text(stream, _find_delay(query, stream, spans)) if bounded else "none is enough"]


def _find_delay(query: Query, stream: Stream, spans: Mapping[str, float]) -> float:
    """Find the delay for aggregates by the time of one stream.

    A result comes with the row that completes it. That row comes after one of its stream that is in the newest result,
    so the newest time that Spark has seen may be ahead of this stream's row by all of these:

        row of this stream --its span--> row that comes --its delay--> row in the newest result --its span--> newest
    """
    own = spans[stream.name]
    last = (spans[one.name] + (one.delay_ticks or 0) + (own if one is not stream else 0) for one in query.streams)
    return max(last)


def _delay_text(stream: Stream, ticks: float | None) -> str:
    """Write a delay as Spark takes it.

    A number of a numeric time stands for a millisecond.
    """
    numbers = isinstance(stream.delay, int | float)
    millis = math.ceil((ticks or 0) / (1 if numbers else MICROSECONDS_PER_MILLISECOND))
    return f'"{millis // 1_000} seconds"' if millis % 1_000 == 0 else f'"{millis} milliseconds"'


def _passing_text(stream: Stream, horizon: Horizon) -> str:
    """Write how far the watermark passes a row while it can be met, and why."""
    length = _write_ticks(stream, abs(horizon.ticks))
    side = "past" if horizon.ticks > 0 else "before"
    place = f"is {length} {side} its time" if horizon.ticks else "has come to its time"
    return f"{place}: {' and '.join(horizon.because)}"


def _write_ticks(stream: Stream, ticks: int | float) -> str:
    """Write a length of event time as the delay of a stream is written: as a duration, or as a number."""
    return f"{ticks}" if isinstance(stream.delay, int | float) else write_duration(int(ticks))


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
    if isinstance(window, Rows):
        of_each = f" of each {' and '.join(window.by)}" if window.by else ""
        return f"the newest {plural(window.count, 'row')}{of_each}"
    return "no window"


def list_filters(query: Query) -> Iterator[str]:
    """Write the filters, each behind those that it waits for."""
    # The first that may act comes next, as in the policy.
    done: list[str] = []
    while free := [f for f in query.filters if f.name not in done and set(f.after or ()) <= set(done)]:
        f, asked = free[0], free[0].predicate
        what = f"{asked.name} of {quote(map(str, asked.columns))}" if isinstance(asked, Function) else asked.text
        yield f"  {f.name} on {', '.join(f.on)}{write_after(f)}{write_cost(f)}: {what}"
        done.append(f.name)
    if not query.filters:
        yield "  none"
