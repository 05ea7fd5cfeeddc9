"""Checks a job without its data, and without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter
from typing import TypeVar

import pyarrow as pa

from eddy import sql
from eddy.engine import Engine
from eddy.errors import LONGEST_NAME, QueryError, quote, shorten, unknown_name
from eddy.jobs.config.config import Job
from eddy.jobs.config.file_paths import find_local
from eddy.jobs.config.statement import PLACE
from eddy.jobs.sources.known_columns import has_what_it_needs
from eddy.jobs.sources.registry import make_source
from eddy.jobs.sources.source import JobSource
from eddy.predicates.faults import REJECT
from eddy.query import Filter, Query, Rows, Stream, Unbounded
from eddy.query.binding import Binding, bind
from eddy.query.exact_names import Names, spell_filter, spell_join
from eddy.query.explain.describe import list_warnings
from eddy.query.pushed_filter import SparkText
from eddy.query.state_need import KEPT, NOT_KEPT, choose_state, list_store_options
from eddy.query.statements.result_time import WHERE, check_clocks, find_span
from eddy.redaction import KeyPath
from eddy.spark.before.pushdown import divide, divide_columns, find_pushable
from eddy.spark.layout.layout import Layout
from eddy.spark.layout.planning import CELLS, plan_layout
from eddy.sql import Column
from eddy.tuples.arrow import no_rows
from eddy.wiring import PolicyChoice, describe_idle_index, engine, policy_parameters

Tried = TypeVar("Tried")

STATED = "statement: "
"""How an error begins that points into a statement."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A job that has passed, with its sources.

    Where every schema is known, its binding and layout are there too.
    """

    job: Job
    sources: Mapping[str, JobSource]
    schemas: Mapping[str, pa.Schema]
    binding: Binding | None
    layout: Layout | None
    warnings: tuple[str, ...]


def check(job: Job) -> Checked:
    """Hold a job against the schemas of its sources.

    Everything that is wrong is one error, each mistake with its place.

    A job that has mistakes already is held against them as far as it is right.
    """
    sources, schemas = _sources(job)
    unknown_yet = [name for name in job.query.given if name not in schemas]
    binding = _bind_query(job, schemas)
    _check_groups(job, binding)
    layout = None if binding is None else _layout(job, binding)
    state = _try(job, ("engine", "state"), lambda: find_state(job))
    if _try(job, ("engine", "remember"), lambda: find_remembered(job)) is not None and state == KEPT:
        told = f'expected none, since the checkpoint has what was learned; leave it out, or say state = "{NOT_KEPT}"'
        job.mistakes.add(("engine", "remember"), told)
    job.mistakes.check()
    return Checked(
        job=job,
        sources=sources,
        schemas=schemas,
        binding=binding,
        layout=layout,
        warnings=(*_warnings(job, binding.query if binding else job.query, unknown_yet), *_warn_of_room(binding)),
    )


def _sources(job: Job) -> tuple[dict[str, JobSource], dict[str, pa.Schema]]:
    """Make the sources, and read the schemas that are known.

    A source with a mistake may tell it a second time.
    """
    sources, schemas = {}, {}
    origins = {stream.name: stream.origin for stream in job.query.streams if stream.origin in job.sources}
    for name, values in job.sources.items():
        kind, _ = _input(job, name)
        # What is wrong with a source of several names stands at the first of them.
        path = (kind, origins.get(name, name), "source")
        if not has_what_it_needs(kind, values):
            continue
        try:
            sources[name] = make_source(name, values)
            schema = sources[name].schema()
        except QueryError as error:
            if not job.mistakes.has_within(path):
                job.mistakes.add(
                    (*path, *_find_parameter(error, values.get("parameters", {}), "parameters")), str(error)
                )
            continue
        if schema is not None:
            schemas[name] = schema
    return sources, schemas


def _input(job: Job, name: str) -> tuple[str, str]:
    return ("tables" if name in {table.name for table in job.query.tables} else "streams", name)


def _bind_query(job: Job, schemas: Mapping[str, pa.Schema]) -> Binding | None:
    """Bind the query to its columns.

    Each part of it is tried by itself, so that no mistake hides another. It gives what can be laid out: a query whose
    streams and joins are right, and whose columns are known.
    """
    query, known = job.query, set(schemas)
    names = Names(query, {name: schema.names for name, schema in schemas.items()})
    types = {Column(name, field.name): field.type for name, schema in schemas.items() for field in schema}
    streams = [_bind_alone(job, stream, schemas[stream.name]) for stream in query.streams if stream.name in known]
    filters = [_filter(job, f, names, types) if set(f.on) <= known else f for f in query.filters]
    joins = [_check_join(job, text, names, types) for text in query.joins]
    select = [text for text in query.select or () if _is_selected(job, text, names, types)]
    if None in streams or known < set(query.given):
        _check_sink(job, query.outputs)
        return None
    times = [f"{stream.name}.`{stream.time}`" for stream in query.streams if stream.time is not None]
    clocks = replace(query, filters=[], joins=[], semi=[], anti=[], select=times[:1] or None, cross=True)
    if _try(job, ("streams",), partial(bind, clocks, schemas)) is None:
        return None
    for text, right in zip(query.joins, joins, strict=True):
        if right:
            _try(job, ("query", "joins"), partial(_engine, replace(clocks, joins=[text]), schemas, "fixed"))
    joined = not job.mistakes.has_within(("query", "joins"))
    left = replace(query, filters=filters, select=select or None)
    if not joined:
        left = replace(left, joins=[], semi=[], anti=[], cross=True)
    for one in left.existence[:1]:
        _try(job, ("query", one.kind), partial(_engine, replace(left, filters=[]), schemas, "fixed"))
    whole = _try(job, ("query",), lambda: bind(left, schemas))
    if whole is None:
        return None
    _try_policy(job, left, schemas)
    _check_sink(job, query.outputs if query.select else whole.outputs)
    return whole if joined else None


def _check_groups(job: Job, binding: Binding | None) -> None:
    """Check that the groups of a statement close; those of one pass are whole at its end."""
    if binding is None or job.after is None or job.after.time is None or job.is_batch:
        return
    try:
        check_clocks(binding)
        find_span(binding, job.after.time, job.after.stream)
    except QueryError as error:
        job.mistakes.add(PLACE, str(error).removeprefix(f"{WHERE}: "))


def _bind_alone(job: Job, stream: Stream, schema: pa.Schema) -> Binding | None:
    """Bind a stream by itself.

    One with another mistake may lack the columns that it is held against.
    """
    path = ("streams", stream.name)
    if job.mistakes.has_within(path):
        return None
    return _try(job, path, partial(bind, _alone(stream), {stream.name: schema}))


def _filter(job: Job, asked: Filter, names: Names, types: Mapping[Column, pa.DataType]) -> Filter:
    """Give a filter that fits its columns.

    Or give one of its name that lets everything pass.
    """
    if isinstance(asked.predicate, SparkText):
        return asked
    path = ("filters", asked.name, "where" if asked.where else "columns")
    left = _try(job, path, lambda: spell_filter(asked, names).leave_to_spark(types))
    if left is not None and isinstance(left.predicate, SparkText):
        return left
    if left is not None and _try(job, path, partial(left.bind, types)) is not None:
        return asked
    return Filter(asked.name, on=asked.on, where="true")


def _check_join(job: Job, text: str, names: Names, types: Mapping[Column, pa.DataType]) -> bool:
    """Check a join as a condition, as far as columns are known."""
    path = ("query", "joins")
    spelled = _try(job, path, partial(spell_join, job.query, text, names))
    if spelled is None:
        return False
    found = sql.parse(spelled, where=f'join "{text}"')
    if not {column.stream for column in found.columns} <= {column.stream for column in types}:
        return True
    return _try(job, path, partial(found.condition, types)) is not None


def _is_selected(job: Job, text: str, names: Names, types: Mapping[Column, pa.DataType]) -> bool:
    """Tell whether a selected column exists, as far as known."""
    path, where = ("query", "select"), f'select "{text}"'
    column = job.query.qualify(sql.parse_select(text, where=where)[0])
    if column.stream not in {known.stream for known in types}:
        return True
    name = _try(job, path, partial(names.resolve, column, where))
    if name is not None and Column(column.stream, name) not in types:
        listed = [one.name for one in types if one.stream == column.stream]
        job.mistakes.add(path, str(unknown_name("column", column.name, listed, where=f'select "{column}"')))
        return False
    return name is not None


def _alone(stream: Stream) -> Query:
    """Make a query over one stream.

    A window of rows has no meaning there.
    """
    window = Unbounded() if isinstance(stream.window, Rows) else stream.window
    return Query(streams=[replace(stream, window=window)])


def _engine(query: Query, schemas: Mapping[str, pa.Schema], policy: PolicyChoice) -> Engine:
    """An engine over no rows: building it finds what is wrong."""
    streams = {stream.name: schemas[stream.name] for stream in query.streams}
    tables = {table.name: no_rows(schemas[table.name]) for table in query.tables}
    known = [replace(f, where="true") if isinstance(f.predicate, SparkText) else f for f in query.filters]
    query = replace(query, filters=known) if known != [*query.filters] else query
    return engine(query, streams, policy, tables=tables, clock=float, seed=0)


def _try_policy(job: Job, query: Query, schemas: Mapping[str, pa.Schema]) -> None:
    """Note wrong parameters of the policy, each at its line.

    Each is tried alone, so that no mistake hides another.
    """
    if job.mistakes.has_within(("policy",)):
        return
    with suppress(QueryError):
        _engine(query, schemas, job.policy)
        return
    needed = [name for name, default in policy_parameters(job.policy["name"]).items() if default is Parameter.empty]
    always = {name: value for name, value in job.policy.items() if name in ("name", *needed)}
    alone = [{**always, name: value} for name, value in job.policy.items() if name not in always]
    for choices in ([always], alone, [job.policy]):
        before = len(job.mistakes.found)
        for choice in choices:
            try:
                _engine(query, schemas, choice)
            except QueryError as error:
                job.mistakes.add(("policy", *_find_parameter(error, choice)), str(error))
        if len(job.mistakes.found) > before:
            return


def _find_parameter(error: QueryError, names: Iterable[str], *above: str) -> tuple[str, ...]:
    """Find the parameter that an error speaks of, or "".

    It is the one named before the error says what would be right.
    """
    begun = str(error).partition(";")[0]
    return next(
        ((*above, name) for name in names if name != "name" and re.search(rf"\b{re.escape(name)}\b", begun)), ()
    )


def _try(job: Job, path: KeyPath, build: Callable[[], Tried]) -> Tried | None:
    try:
        return build()
    except QueryError as error:
        told = str(error).removeprefix(STATED)
        # What points into a statement stands there.
        job.mistakes.add(path if told == str(error) else PLACE, told)
        return None


def _check_sink(job: Job, outputs: Sequence[tuple[Column, str]] | None) -> None:
    """Check the columns that the sink speaks of.

    They are unknown as long as the selection is wrong, and where Spark makes them of those of the answer.
    """
    if outputs is None or job.sink.get("select") or job.mistakes.has_within(("query", "select")):
        return
    columns = [name for _, name in outputs]
    for key in ("key", "partition_by"):
        asked = job.sink.get(key) or []
        for name in [asked] if isinstance(asked, str) else asked:
            if name not in columns:
                job.mistakes.add(("sink", key), str(unknown_name("output column", name, columns, where="sink")))


def _layout(job: Job, binding: Binding) -> Layout | None:
    asked = job.engine
    weights = {"sizes": asked["sizes"] or None, "heavy": asked["heavy"] or None}
    return _try(job, ("engine",), lambda: plan_layout(binding, asked["cells"], default=CELLS, **weights))


def divide_filters(checked: Checked, binding: Binding) -> tuple[list[Filter], Binding]:
    """The filters that Spark will evaluate, and the query that is left to the eddy."""
    pushed, left = push_filters(checked.job, binding.query, checked.schemas)
    query, schemas, _ = divide_columns(left, checked.schemas)
    return pushed, bind(query, schemas)


def push_filters(job: Job, query: Query, schemas: Mapping[str, pa.Schema]) -> tuple[list[Filter], Query]:
    """The filters of which a job leaves the evaluation to Spark, and the query without them."""
    if not job.engine["pushdown"]:
        return [], query
    ansi = job.spark.get("spark.sql.ansi.enabled", "true") == "true"
    zone = job.spark.get("spark.sql.session.timeZone", "UTC")
    spoken = {text for value in job.policy.values() for text in (value if isinstance(value, list) else [value])}
    return divide(query, find_pushable(query, schemas, ansi=ansi, zone=zone), spoken)


def find_state(job: Job) -> str:
    """Find where a job keeps its state.

    A checkpoint that lasts has what was learned, unless the job says otherwise, or rows are to be put aside: only who
    keeps nothing can do that. Nor does anything last in one pass.
    """
    asked = job.engine
    of_store = list_store_options(asked)
    if job.is_batch or job.rejected:
        if asked["state"] == KEPT or of_store:
            what = 'mode = "batch"' if job.is_batch else "[rejected]"
            told = f'state = "{KEPT}"' if asked["state"] == KEPT else quote(of_store)
            raise QueryError(
                f"engine: expected no state, since {what} is for filters without, got {told}; leave it out"
            )
        return choose_state(job.query, NOT_KEPT, where="engine")
    return choose_state(job.query, asked["state"], of_store=of_store, kept=bool(job.checkpoint), where="engine")


def find_remembered(job: Job) -> str | None:
    """Find the folder in which a job without state keeps what it has learned."""
    place = job.engine["remember"]
    if place is None:
        return None
    local = find_local(place)
    if local is None:
        raise QueryError(f"expected the path of a folder on this machine, or one that all machines see, got {place}")
    return local


def _warn_of_room(binding: Binding | None) -> Iterator[str]:
    """Warn where the rows of windows alone take what `max_state` allows, as far as that is known.

    It is of windows that are counted in rows, and columns of one width.
    """
    if binding is None or binding.query.max_state is None or len(binding.query.inputs) == 1:
        return
    windows = {s.name: s.window.count for s in binding.query.streams if isinstance(s.window, Rows)}
    rows = sum(count * _count_row_bytes(binding.find_stored(name)) for name, count in windows.items())
    if rows >= binding.query.max_state:
        yield (
            f"max_state = {binding.query.max_state} leaves no room for an index: the rows of the windows alone take "
            f"{rows:,} bytes or more; without indexes all of them are looked through; raise it, or narrow the windows"
        )


def _count_row_bytes(schema: pa.Schema) -> int:
    """Count the bytes of a row's columns of one width, and one that says whether it is alive."""
    return 1 + sum(field.type.bit_width // 8 for field in schema if pa.types.is_primitive(field.type))


def warn_of_rejects(job: Job) -> Iterator[str]:
    """Warn of rows that are put aside where nobody reads them."""
    names = [f.name for f in job.query.filters if f.on_error == REJECT]
    if names and not job.rejected:
        yield (
            f'{quote(names)}: on_error = "{REJECT}" without [rejected]: rows without an answer are dropped, and '
            'nobody gets them; name a sink in [rejected], or say on_error = "drop"'
        )


def _warnings(job: Job, query: Query, unknown_yet: Iterable[str]) -> Iterable[str]:
    """Warn of settings that are allowed, and seldom meant."""
    yield from list_warnings(job.query)
    yield from warn_of_rejects(job)
    if job.index is not None and (text := describe_idle_index(job.query)):
        yield text
    for f in query.filters:
        if isinstance(f.predicate, SparkText):
            yield f'filter "{f.name}": Spark\'s own SQL, not checked here: {shorten(f.predicate.text, LONGEST_NAME)}'
    for name in unknown_yet:
        yield f'the columns of "{name}" are known only when Spark reads it: what depends on them is checked then'
    rates = [name for name, values in job.sources.items() if values["format"] == "rate"]
    if rates and job.trigger["available_now"]:
        yield f'source "{rates[0]}" makes rows as time passes: with available_now there are hardly any'
