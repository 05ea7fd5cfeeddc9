"""Reads a job from its TOML file.

`load` reads one and finds everything that is wrong with it at once: the file is held against `config.sections`, then
every part of the query is built by itself, so that one mistake hides no other. `read_job` gives also a job with
mistakes in it, as far as it is right, so that `eddy validate` can go on to its columns.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any

from eddy.errors import EngineError, QueryError, unknown_name
from eddy.jobs.config.connector_checks import check_connectors
from eddy.jobs.config.connectors import BATCH
from eddy.jobs.config.file_paths import Places
from eddy.jobs.config.overrides import Override, put
from eddy.jobs.config.places import Mistakes, join_key, lines
from eddy.jobs.config.profiles import choose_profile
from eddy.jobs.config.query.statement import FindColumns, ask_instead, read_statement
from eddy.jobs.config.query.to_query import build_query, note_errors
from eddy.jobs.config.query.together import TOGETHER, Member, build_members, list_unread_streams
from eddy.jobs.config.reading import TableReader
from eddy.jobs.config.references import check_files, check_schemas, check_starting, follow_names
from eddy.jobs.config.section_checks import check_metrics, check_sections
from eddy.jobs.config.sections import JOB
from eddy.jobs.config.variables import Variables
from eddy.query import Query, Statement
from eddy.query.state_need import KEPT
from eddy.query.statements.after import After
from eddy.query.together import Queries
from eddy.redaction import KeyPath, display, hide_secrets
from eddy.wiring import find_index_mistakes, policy_names, policy_parameters, read_index

WIDEST_ALIGNED = 60
"""Characters of a value after which what follows is not aligned any more."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as its file says it, with defaults filled in.

    Of queries that are answered together each is also a job by itself, among `members`, by its name: its mistakes are
    those of the file, where they stand there.
    `sources` are by the name of the stream or table; a source and the sink have their `format` among their values.
    `statement` is what the query was made of, if the file has one; `index` has what was given, if anything was.
    `written` has values of variables as the file writes them. `origins` says of every value that was given where it
    came from. While `mistakes` has some, parts are missing, and filters that are wrong let everything pass.
    """

    file: str
    asked: Query | Queries | None
    sources: Mapping[str, Mapping[str, Any]]
    policy: Mapping[str, Any]
    index: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    trigger: Mapping[str, Any]
    checkpoint: str | None
    sink: Mapping[str, Any]
    rejected: Mapping[str, Any]
    metrics: Mapping[str, Mapping[str, Any]]
    spark: Mapping[str, str]
    values: Mapping[str, Any]
    origins: Mapping[KeyPath, str]
    written: Mapping[KeyPath, Any]
    mistakes: Mistakes
    statement: Statement | None = None
    members: Mapping[str, Job] = field(default_factory=dict)

    @property
    def query(self) -> Query:
        """The query, of a job that has one."""
        if not isinstance(self.asked, Query):
            raise EngineError(f'config "{self.file}": a job of several queries was taken for one of a single query')
        return self.asked

    @property
    def together(self) -> Queries:
        """The queries, of a job that has several."""
        if not isinstance(self.asked, Queries):
            raise EngineError(f'config "{self.file}": a job of a single query was taken for one of several')
        return self.asked

    @property
    def name(self) -> str:
        """What it is called, in reports and in Spark's pages."""
        return TOGETHER if self.members else self.query.name

    @property
    def queries(self) -> tuple[Query, ...]:
        """All its queries, as far as they are right."""
        return tuple(one.query for one in self.members.values()) or (self.query,)

    @property
    def tables(self) -> frozenset[str]:
        """The names of its tables."""
        return frozenset(name for name in self.sources if name in self.values["tables"])

    @property
    def read_as(self) -> Mapping[str, str]:
        """The source of each of its streams: itself, or the one that it is a second name of."""
        unread = self.asked.streams if isinstance(self.asked, Queries) else ()
        streams = [*(stream for query in self.queries for stream in query.streams), *unread]
        return {stream.name: stream.origin for stream in streams}

    @property
    def after(self) -> After | None:
        """What Spark does with the answer."""
        return None if self.statement is None else self.statement.after

    @property
    def is_batch(self) -> bool:
        """The rows that are there are read in one pass."""
        return any(values.get("mode") == BATCH for values in self.sources.values())

    def at(self, path: KeyPath) -> str:
        """A place in the file, for an error that is found later."""
        return f'config "{self.file}": {self.mistakes.place(path)}'

    def hide(self, text: str) -> str:
        """Hide the job's secrets in a foreign text."""
        return hide_secrets(text, self.values, self.mistakes.secrets)


def load(
    file: str | File,
    overrides: Iterable[Override] = (),
    profile: str | None = None,
    find_columns: FindColumns | None = None,
) -> Job:
    """Read a job, with a profile of it if one is named.

    Every mistake in it is told in one error, with its place. `find_columns` knows the columns of inputs.
    """
    job = read_job(file, overrides, profile, find_columns=find_columns)
    job.mistakes.check()
    return job


def read_job(
    file: str | File,
    overrides: Iterable[Override] = (),
    profile: str | None = None,
    statement: str | None = None,
    find_columns: FindColumns | None = None,
) -> Job:
    """Read a job as far as it is right; a `statement` takes the place of what it asks for.

    Its mistakes are noted, and raised at once if nothing more can be found.
    """
    values, mistakes = read_toml(str(file))
    moved = choose_profile(str(file), values, profile)
    outside = _override(values, overrides, mistakes)
    if statement is not None:
        outside[ask_instead(values, statement)] = "the statement"
    mistakes = Mistakes(str(file), mistakes.lines, outside, mistakes.found, moved=moved)
    variables = Variables(mistakes)
    reading = TableReader(mistakes, Places.beside(str(file), outside), variables)
    read = reading.part(JOB, values, ())
    follow_names(read, reading.given, mistakes)
    asked = read_statement(read, reading.given, mistakes)
    _check(read, reading.given, mistakes)
    members = build_members(values, read, mistakes)
    query, stated = (None, None) if TOGETHER in values else build_query(read, mistakes, asked, find_columns)
    if query is None and all(one.query is None for one in members.values()):
        mistakes.check()
    origins = {path: outside.get(path) or mistakes.place(path).partition(",")[0] for path in reading.given}
    job = replace(_job(str(file), query, read, origins, variables.written, mistakes), statement=stated)
    return _put_together(job, members) if members else job


def _check(read: dict[str, Any], given: Collection[KeyPath], mistakes: Mistakes) -> None:
    """Note what is wrong beside the query."""
    _check_policy(read, mistakes)
    _check_index(read, given, mistakes)
    check_sections(read, mistakes)
    check_connectors(read, mistakes)
    check_metrics(read["metrics"], given, mistakes)
    check_files(read, mistakes)
    check_starting(read, mistakes)
    check_schemas(read, mistakes)


def _put_together(job: Job, members: Mapping[str, Member]) -> Job:
    """Make the job of queries that are answered together, with a job for each of them that could be built."""
    unread = list_unread_streams(members, job.values, job.mistakes)
    alone = {name: _take_one(job, one.query, one.mistakes) for name, one in members.items() if one.query is not None}
    asked = None
    if not job.mistakes.found:
        with note_errors((TOGETHER,), job.mistakes):
            asked = Queries([one.query for one in alone.values()], streams=unread)
    return replace(job, asked=asked, members=alone)


def _take_one(job: Job, query: Query, mistakes: Mistakes) -> Job:
    """Make a job of one query of several: they share a state store, whatever each would need alone, and a sink."""
    engine = {**job.engine, "state": KEPT, "remember": None}
    for key in ("sizes", "heavy"):
        engine[key] = {name: value for name, value in engine[key].items() if name.partition(".")[0] in query.given}
    return replace(
        job,
        asked=replace(query, case_sensitive=_is_case_sensitive(job.spark)),
        sources={name: job.sources[name] for name in query.given},
        engine=engine,
        index=job.index if query.predicates else None,
        sink={},
        mistakes=mistakes,
    )


def read_toml(file: str) -> tuple[dict[str, Any], Mistakes]:
    """Read any TOML file, with the lines of its keys."""
    try:
        text = File(file).read_text("utf-8-sig")
        return tomllib.loads(text), Mistakes(file, lines(text))
    except OSError as error:
        raise QueryError(f'config "{file}": cannot be read: {error.strerror}') from None
    except UnicodeDecodeError as error:
        raise QueryError(
            f'config "{file}": not a text in UTF-8: {error.reason} at byte {error.start}; save it as UTF-8'
        ) from None
    except ValueError as error:
        raise QueryError(f'config "{file}": not TOML: {error}; texts need quotes, and a key stands only once') from None
    except RecursionError:
        raise QueryError(f'config "{file}": not TOML that can be read: too many brackets within brackets') from None


def _override(values: dict[str, Any], overrides: Iterable[Override], mistakes: Mistakes) -> dict[KeyPath, str]:
    outside: dict[KeyPath, str] = {}
    for override in overrides:
        try:
            outside[put(values, override)] = override.origin
        except QueryError as error:
            mistakes.found.append((0, str(error)))
    return outside


def _check_policy(read: Mapping[str, Any], mistakes: Mistakes) -> None:
    choice = read["policy"]
    policy = choice["name"]
    if mistakes.has_within(("policy", "name")):
        return
    try:
        known = policy_parameters(policy)
    except QueryError as error:
        mistakes.add(("policy", "name"), str(error).removeprefix("policy: "))
        meant = difflib.get_close_matches(policy, policy_names(), n=1)
        if not meant:
            return
        policy, known = meant[0], policy_parameters(meant[0])
    for name in choice:
        if name != "name" and name not in known:
            where = f'policy "{policy}"'
            told = str(unknown_name("parameter", name, ["name", *known], where=where))
            mistakes.add(("policy", name), f"{told}{_suggest_whole(policy, name, mistakes)}")


def _suggest_whole(policy: str, parameter: str, mistakes: Mistakes) -> str:
    """Say how to leave the file's parameters out, where another policy is set from outside."""
    said = mistakes.outside.get(("policy", "name"), "")
    if not said or ("policy", parameter) in mistakes.outside:
        return ""
    begun = "--conf 'spark.eddy.policy" if said == "--conf" else "--set 'policy"
    whole = f'{begun}={{name="{policy}"}}\''
    return f"; the file gives it to another policy: to leave its parameters out, write {whole}"


def _check_index(read: dict[str, Any], given: Collection[KeyPath], mistakes: Mistakes) -> None:
    """Keep the keys of the indexes that were given; the others are what they are with that kind."""
    said = {name: read["index"][name] for name in _list_given("index", given)}
    wrong = {name for name in said if mistakes.has_within(("index", name))}
    if "kind" in wrong:
        said["kind"] = ""  # which it was meant to be is not known, nor which keys that one uses
    for name, text in find_index_mistakes(said):
        if name not in wrong:
            mistakes.add(("index", name), text)
    if not mistakes.has_within(("index",)):
        read["index"] = read_index(said).describe()


def _list_given(section: str, given: Iterable[KeyPath]) -> list[str]:
    return [path[1] for path in given if path[0] == section and len(path) > 1]


def _job(
    file: str,
    query: Query | None,
    read: Mapping[str, Any],
    origins: Mapping[KeyPath, str],
    written: Mapping[KeyPath, Any],
    mistakes: Mistakes,
) -> Job:
    inputs = {**read["streams"], **read["tables"]}
    given = query.given if query else tuple(inputs)
    settings = _settings(read["spark"])
    return Job(
        file=file,
        asked=query and replace(query, case_sensitive=_is_case_sensitive(settings)),
        # A statement may name an input that the file does not have, which has been noted.
        sources={name: inputs[name].get("source") or {} for name in given if name in inputs},
        policy=read["policy"],
        index={name: read["index"][name] for name in _list_given("index", origins)} or None,
        engine=read["engine"],
        trigger=read["trigger"],
        checkpoint=read["checkpoint"]["location"],
        sink=read["sink"],
        rejected=read["rejected"],
        metrics=read["metrics"],
        spark=settings,
        values=read,
        origins=origins,
        written=written,
        mistakes=mistakes,
    )


def _is_case_sensitive(settings: Mapping[str, str]) -> bool:
    return settings.get("spark.sql.caseSensitive", "").lower() == "true"


def _settings(values: Mapping[str, Any]) -> dict[str, str]:
    """Spark's settings by their full names, as texts."""
    return {f"spark.{name.removeprefix('spark.')}": text_of(value) for name, value in values.items()}


def text_of(value: Any) -> str:
    """Write a single value as Spark takes it.

    >>> text_of(True), text_of(4)
    ('true', '4')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def write_resolved(job: Job) -> str:
    """Write every value and where it came from, for people.

    Secrets are not shown.
    """
    rows = [
        (join_key(path), display(path, value), job.origins.get(path, "default")) for path, value in _list_shown(job)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    widest = min(widths[1], WIDEST_ALIGNED)
    return "\n".join(f"{path:<{widths[0]}}  {value:<{widest}}  {origin}" for path, value, origin in rows)


def write_stated(job: Job) -> Iterator[str]:
    """Write the values that somebody has given, for logs.

    Each is a line of fields, with the place it came from.
    """
    for key, value, origin in list_stated(job):
        yield f'config {key}={value} from="{origin}"'


def list_stated(job: Job) -> Iterator[tuple[str, str, str]]:
    """List the keys that somebody has given, with their values as people may see them and where they came from."""
    for path, value in _list_shown(job):
        if path in job.origins:
            yield join_key(path), display(path, value), job.origins[path]


def _list_shown(job: Job) -> Iterator[tuple[KeyPath, Any]]:
    """List values for people: what a variable says is not for them."""
    for path, value in _leaves(job.values):
        yield path, job.written.get(path, value)


def _leaves(values: Mapping[str, Any], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    for name, value in values.items():
        if isinstance(value, dict) and path[:1] != ("policy",):
            yield from _leaves(value, (*path, name))
        elif value is not None and value != []:
            yield (*path, name), value
