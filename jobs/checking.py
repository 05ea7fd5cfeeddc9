"""Everything that can be known of a job without its data, and without Spark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter
from typing import TypeVar

import pyarrow as pa

from eddy.arrow import no_rows
from eddy.binding import Binding, bind
from eddy.config import Job
from eddy.engine import Engine
from eddy.errors import QueryError, unknown
from eddy.exact import Names, exact_filter
from eddy.query import Filter, Predicate, Query, Stream
from eddy.settings import Path
from eddy.spark.layout import Layout
from eddy.spark.planning import CELLS, plan_layout
from eddy.window import Rows, Unbounded
from eddy.wiring import PolicyChoice, engine, policy_parameters
from jobs.sources.registry import SOURCES
from jobs.sources.source import Source

Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A job that has passed: its sources, and, where every schema is known, what follows from them."""

    job: Job
    sources: Mapping[str, Source]
    schemas: Mapping[str, pa.Schema]
    binding: Binding | None
    layout: Layout | None
    warnings: tuple[str, ...]


def check(job: Job) -> Checked:
    """Hold a job against the schemas of its sources; what is wrong is told at once, each with its place."""
    sources, schemas = {}, {}
    for name, values in job.sources.items():
        path = _input(job, name)
        try:
            sources[name] = SOURCES[values["format"]](name, values)
            schema = sources[name].schema()
        except QueryError as error:
            job.mistakes.add((*path, "source", *_spoken(error, values.get("parameters", {}), "parameters")), str(error))
            continue
        if schema is not None:
            schemas[name] = schema
    job.mistakes.check()
    unknown_yet = [name for name in job.query.inputs if name not in schemas]
    binding = None if unknown_yet else _bound(job, schemas)
    layout = None if binding is None else _layout(job, binding)
    job.mistakes.check()
    return Checked(
        job=job,
        sources=sources,
        schemas=schemas,
        binding=binding,
        layout=layout,
        warnings=tuple(_warnings(job, unknown_yet)),
    )


def _input(job: Job, name: str) -> tuple[str, str]:
    return ("tables" if name in {table.name for table in job.query.tables} else "streams", name)


def _bound(job: Job, schemas: Mapping[str, pa.Schema]) -> Binding | None:
    """The query over its columns; each part of it is tried by itself, so that no mistake hides another."""
    before = len(job.mistakes.found)
    times = [f"{stream.name}.`{stream.time}`" for stream in job.query.streams]
    bare = replace(job.query, filters=[], joins=[], select=times[:1], cross=True)
    alone = [
        _tried(job, ("streams", stream.name), partial(bind, _alone(stream), {stream.name: schemas[stream.name]}))
        for stream in job.query.streams
    ]
    binding = None if None in alone else _tried(job, ("streams",), lambda: bind(bare, schemas))
    if binding is None:
        return None
    names = Names(job.query, schemas)
    for f in job.query.filters:
        path = ("filters", f.name, "where" if f.where else "columns")
        _tried(job, path, partial(_filter, f, names, binding))
    for text in job.query.joins:
        _tried(job, ("query", "joins"), partial(_engine, replace(bare, joins=[text]), schemas, "fixed"))
    for text in job.query.select or ():
        _tried(job, ("query", "select"), partial(bind, replace(bare, select=[text]), schemas))
    if len(job.mistakes.found) > before:
        return None
    whole = _tried(job, ("query",), lambda: bind(job.query, schemas))
    _try_policy(job, schemas)
    if whole is not None:
        _check_sink(job, [name for _, name in whole.outputs])
    return whole


def _filter(asked: Filter, names: Names, binding: Binding) -> Predicate:
    return exact_filter(asked, names).bind(binding.types)


def _alone(stream: Stream) -> Query:
    """A query over one stream; a window of rows has no meaning there."""
    window = Unbounded() if isinstance(stream.window, Rows) else stream.window
    return Query(streams=[replace(stream, window=window)])


def _engine(query: Query, schemas: Mapping[str, pa.Schema], policy: PolicyChoice) -> Engine:
    """An engine over no rows: building it finds what is wrong."""
    streams = {stream.name: schemas[stream.name] for stream in query.streams}
    tables = {table.name: no_rows(schemas[table.name]) for table in query.tables}
    return engine(query, streams, policy, tables=tables, clock=float, seed=0)


def _try_policy(job: Job, schemas: Mapping[str, pa.Schema]) -> None:
    """What is wrong with a parameter is noted at its line; each is tried alone, so that no mistake hides another."""
    with suppress(QueryError):
        _engine(job.query, schemas, job.policy)
        return
    needed = [name for name, default in policy_parameters(job.policy["name"]).items() if default is Parameter.empty]
    always = {name: value for name, value in job.policy.items() if name in ("name", *needed)}
    alone = [{**always, name: value} for name, value in job.policy.items() if name not in always]
    for choices in ([always], alone, [job.policy]):
        before = len(job.mistakes.found)
        for choice in choices:
            try:
                _engine(job.query, schemas, choice)
            except QueryError as error:
                job.mistakes.add(("policy", *_spoken(error, choice)), str(error))
        if len(job.mistakes.found) > before:
            return


def _spoken(error: QueryError, names: Iterable[str], *above: str) -> tuple[str, ...]:
    """The place of the parameter that an error speaks of before it says what would be right; empty if there is none."""
    begun = str(error).partition(";")[0]
    return next(
        ((*above, name) for name in names if name != "name" and re.search(rf"\b{re.escape(name)}\b", begun)), ()
    )


def _tried(job: Job, path: Path, build: Callable[[], Made]) -> Made | None:
    try:
        return build()
    except QueryError as error:
        job.mistakes.add(path, str(error))
        return None


def _check_sink(job: Job, columns: list[str]) -> None:
    for key in ("key", "partition_by"):
        asked = job.sink.get(key) or []
        for name in [asked] if isinstance(asked, str) else asked:
            if name not in columns:
                job.mistakes.add(("sink", key), str(unknown("output column", name, columns, where="sink")))


def _layout(job: Job, binding: Binding) -> Layout | None:
    asked = job.engine
    weights = {"sizes": asked["sizes"] or None, "heavy": asked["heavy"] or None}
    return _tried(job, ("engine",), lambda: plan_layout(binding, asked["cells"], default=CELLS, **weights))


def _warnings(job: Job, unknown_yet: Iterable[str]) -> Iterable[str]:
    """What is allowed, and seldom meant."""
    joined = len(job.query.inputs) > 1
    for stream in job.query.streams:
        if joined and isinstance(stream.window, Unbounded):
            yield f'stream "{stream.name}" has no window: every row is kept for ever, and the state grows'
    late = [stream.name for stream in job.query.streams if stream.delay is None]
    if late and joined:
        yield f'stream "{late[0]}" has no delay: there is no watermark, and no row ever leaves the state'
    for name in unknown_yet:
        yield f'the columns of "{name}" are known only when Spark reads it: what depends on them is checked then'
    rates = [name for name, values in job.sources.items() if values["format"] == "rate"]
    if rates and job.trigger["available_now"]:
        yield f'source "{rates[0]}" makes rows as time passes: with available_now there are hardly any'
