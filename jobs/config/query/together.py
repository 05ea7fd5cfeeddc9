"""Builds the queries of a file that are answered together, `[queries.NAME]`.

Each is read as if it stood in `[query]`, over the inputs that it names alone; what is wrong with it is told where it
stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from eddy import sql
from eddy.errors import QueryError, quote, unknown_name
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.query.keys import SAID_AS_ALONE
from eddy.jobs.config.query.statement import KINDS
from eddy.jobs.config.query.to_query import build_query, build_stream, note_errors
from eddy.jobs.config.references import SAME_AS
from eddy.query import Query, Stream
from eddy.query.validation import distinct
from eddy.redaction import KeyPath
from eddy.sql.values.name_case import find_own

TOGETHER = "queries"
"""The table of the queries that are answered together."""


class Member(NamedTuple):
    """One of several queries, as far as it is right, with what the file says as if it stood alone.

    `mistakes` are those of the file, in which the query has the place of a lone one.
    """

    query: Query | None
    read: Mapping[str, Any]
    mistakes: Mistakes


def build_members(values: Mapping[str, Any], read: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Member]:
    """Build every query of a file that has several, by name; of the `values` of the file it is said what it has."""
    if TOGETHER not in values:
        return {}
    if "query" in values:
        mistakes.add(
            (TOGETHER,), "[query] says what is asked already; make it one of these, as [queries.NAME], or leave one out"
        )
        return {}
    if not read[TOGETHER]:
        mistakes.add((TOGETHER,), "expected at least one query, got none; add a table [queries.NAME]")
    return {name: _build_member(name, read, mistakes) for name in read[TOGETHER]}


def list_unread_streams(
    members: Mapping[str, Member], read: Mapping[str, Any], mistakes: Mistakes
) -> tuple[Stream, ...]:
    """Give the streams that no query reads; filters and tables of no query are noted."""
    if any(one.query is None or one.mistakes.has_within(("query",)) for one in members.values()):
        return ()  # what a query was meant to read is not known
    used = {kind: {name for one in members.values() for name in one.read[kind]} for kind in (*KINDS, "filters")}
    hints = {"filters": "no query has it; name it in filters of one", "tables": "no query reads it; name it in one"}
    for kind, told in hints.items():
        for name in read.get(kind, {}).keys() - used[kind]:
            mistakes.add((kind, name), f"{told}, or leave it out")
    sources = {read["streams"][name].get(SAME_AS) or name for name in used["streams"]}
    unread: list[Stream] = []
    for name in read["streams"].keys() - used["streams"] - sources:
        if read["streams"][name].get(SAME_AS):
            mistakes.add(("streams", name), "no query reads it; leave it out")
        elif (built := build_stream(name, read["streams"][name], mistakes, alone=True)) is not None:
            unread.append(built)
    return tuple(sorted(unread, key=lambda one: one.name))


def _build_member(name: str, read: Mapping[str, Any], mistakes: Mistakes) -> Member:
    said = read[TOGETHER][name]
    windows: Mapping[str, Any] = said.get("windows", {})
    moved: dict[KeyPath, KeyPath] = {("query",): (TOGETHER, name)}
    moved |= {("streams", one, "window"): (TOGETHER, name, "windows", one) for one in windows}
    own = mistakes.lay(moved)
    filters = _pick_filters(said, read.get("filters", {}), own)
    named, unknown = _find_inputs(said, filters, read, own)
    known = [one for kind in KINDS for one in read.get(kind, {})]
    # What is misspelt is looked for among all inputs, and is no reason to miss a join.
    inputs = known if unknown else [one for one in known if one in named]
    asked = {**read["query"], **{key: said.get(key) for key in SAID_AS_ALONE}, "name": name}
    asked["cross"] = bool(asked["cross"] or unknown)
    part = {**read, "query": asked, "filters": filters}
    part |= {kind: {one: values for one, values in read.get(kind, {}).items() if one in inputs} for kind in KINDS}
    part["streams"] = _narrow(part["streams"], windows, part, own, is_sure=not unknown)
    if not part["streams"]:
        told = f"got {quote(inputs)}" if inputs else "got none; name them in joins, filters, select or inputs"
        if not (own.has_within(("query",)) or mistakes.has_within(("streams",))):
            own.add(("query",), f"expected a stream among the inputs that it reads, {told}")
        return Member(None, part, own)
    query, _ = build_query(part, own, None, None)
    return Member(query, part, own)


def _pick_filters(said: Mapping[str, Any], known: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Any]:
    """Pick the filters that a query names; each must have those that it waits for."""
    place, names = ("query", "filters"), said.get("filters") or []
    with note_errors(place, mistakes):
        distinct("filter", names, "filters")
    for name in names:
        if name not in known:
            mistakes.add(place, str(unknown_name("filter", name, known, where="")).removeprefix(": "))
    found = {}
    for name in [name for name in names if name in known]:
        after = known[name].get("after") or []
        awaited = [after] if isinstance(after, str) else after
        missing = [one for one in awaited if one in known and one not in names]
        if missing:
            mistakes.add(place, f'"{name}" acts after {quote(missing)}; name them here as well, or leave "{name}" out')
        found[name] = {**known[name], "after": [one for one in awaited if one not in missing] or None}
    return found


def _find_inputs(
    said: Mapping[str, Any], filters: Mapping[str, Any], read: Mapping[str, Any], mistakes: Mistakes
) -> tuple[set[str], bool]:
    """Find the inputs that a query names, and say whether it names others, that are not there."""
    known = [one for kind in KINDS for one in read.get(kind, {})]
    for name in said.get("inputs") or []:
        if name not in known:
            error = str(unknown_name("stream or table", name, known, where=""))
            mistakes.add(("query", "inputs"), error.removeprefix(": "))
    named = {find_own(name, known) for name in (*_list_named(said, filters), *(said.get("inputs") or []))}
    return named.intersection(known), not named <= set(known)


def _list_named(said: Mapping[str, Any], filters: Mapping[str, Any]) -> Iterator[str]:
    """List the names of inputs in the texts of a query; a text that cannot be read is told by its query."""
    for key in ("joins", "semi", "anti", "select"):
        for text in said.get(key) or []:
            try:
                selected = key == "select"
                found = [sql.parse_select(text, where=key)[0]] if selected else sql.parse(text, where=key).columns
            except QueryError:
                continue
            yield from (column.stream for column in found if column.stream is not None)
    for one in filters.values():
        on = one.get("on") or []
        yield from [on] if isinstance(on, str) else on


def _narrow(
    streams: Mapping[str, Mapping[str, Any]],
    windows: Mapping[str, Any],
    part: Mapping[str, Any],
    mistakes: Mistakes,
    *,
    is_sure: bool,
) -> dict[str, Mapping[str, Any]]:
    """Give the streams of a query the windows that it has of them.

    A stream alone has no window of rows, where a row is told as it comes: it is always the newest.
    """
    for name in windows:
        if name not in streams and is_sure and not mistakes.has_within(("query",)):
            error = str(unknown_name("stream", name, streams, where=""))
            mistakes.add(("query", "windows", name), f"{error.removeprefix(': ')}; the query reads no others")
    told_later = any(part["query"].get(key) is not None for key in ("emit", "every"))
    found: dict[str, Mapping[str, Any]] = {}
    for name, one in streams.items():
        if windows.get(name) is not None:
            found[name] = {**one, "window": windows[name], "rows": None, "by": None}
        elif len(streams) == 1 and not told_later:
            found[name] = {**one, "rows": None, "by": None}
        else:
            found[name] = one
    return found
