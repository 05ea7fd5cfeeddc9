"""A query as one SQL statement.

The statement is Spark's SQL, with windows of streams in brackets and with predicates in Python. It says what a `Query`
says: conditions over one input are filters, those over several are joins.

A bare column belongs to the one input that has it. Without the columns of all inputs that can be told only where there
is one input; `with_columns` gives the statement to which they are known.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from eddy.errors import QueryError, quote, unknown_name, write_repr
from eddy.observe.text import plural
from eddy.query.inputs import Stream, part_sources
from eddy.query.query import Query
from eddy.query.statements.after import After
from eddy.query.statements.building import build_query
from eddy.query.statements.reading import read_statement
from eddy.query.statements.tree import WHERE, SelectTree, Source
from eddy.query.validation import fill, members
from eddy.sql.values.name_case import find_own, fold_case
from eddy.sql.values.tree import Place

Given = TypeVar("Given")

DEFAULT_POLICY = "auto"
"""The policy where nobody names one."""

ONLY_SPARK = (
    "Spark alone evaluates it, in a Filter of a Query, or as a column of a view or frame that the statement reads"
)
"""Where SQL has its place that statements have not."""

LONGEST = 1_000_000
"""Characters of a statement: people write a few thousand, and what a program makes of more belongs into a table."""

HINTS = {"policy": 1, "cells": 1, "named": 2}
"""What a hint may say, and in how many words: NAMED gives a filter another name than its own."""

OPTIONS = ("name", "max_fanout", "max_results", "max_state", "show_values", "case_sensitive")
"""Keys of a query that a statement has no words for."""


@dataclass(frozen=True)
class Statement:
    """A statement, and the query that it says.

    `functions` are predicates in Python by the names that the text calls them; `@eddy.predicate` says how they are to
    be asked, and `ways` say it by their names, before that. `streams` says of inputs, by alias or by name, what the
    text leaves out. `options` are keys of a `Query` that no SQL has, such as `max_state`.

    >>> asked = Statement("SELECT o.id FROM STREAM orders AS o JOIN users AS u ON o.user = u.id", streams=[
    ...     Stream("orders", time="at", delay="1 minute")
    ... ])
    >>> asked.query.joins, asked.query.streams[0].time, asked.sources
    (('o.user = u.id',), 'at', {'o': 'orders', 'u': 'users'})
    """

    text: str
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict, kw_only=True)
    ways: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, kw_only=True)
    streams: Sequence[Stream] = field(default=(), kw_only=True)
    options: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    columns: Mapping[str, Sequence[str]] | None = field(default=None, kw_only=True, repr=False)
    tree: SelectTree = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_text(self.text)
        fill(self, "streams", members(self.streams, Stream, f"{WHERE}: streams"))
        for key in self.options:
            if key not in OPTIONS:
                raise unknown_name("key", key, OPTIONS, where=f"{WHERE}: options")
        for name, function in self.functions.items():
            if not callable(function):
                raise QueryError(f'{WHERE}: functions: "{name}": expected a function, got {write_repr(function)}')
        for name in self.ways:
            if name not in self.functions:
                raise unknown_name("function", name, self.functions, where=f"{WHERE}: ways")
        fill(self, "tree", read_statement(Place(WHERE, self.text, ONLY_SPARK), frozenset(self.functions)))
        self._check_aliases()
        self._check_streams()
        self._check_hints()

    @property
    def sources(self) -> dict[str, str]:
        """The name of each input's source, by the alias that the text gives it."""
        return {one.alias: one.name for one in self.tree.sources}

    @cached_property
    def hints(self) -> Mapping[str, str]:
        """The policy, and the number of cells, that a hint names."""
        return {name: values[0] for name, values in self.tree.hints if len(values) == 1}

    @cached_property
    def named(self) -> Mapping[str, str]:
        """The names of filters that are called otherwise than by their own."""
        return {values[0]: values[1] for name, values in self.tree.hints if name == "named"}

    def with_columns(self, columns: Mapping[str, Sequence[str]]) -> Statement:
        """Give the statement to which the columns of each input are known, by alias."""
        return replace(self, columns=columns)

    def arrange(self, given: Mapping[str, Given]) -> dict[str, Given]:
        """Give the data or the frame of each input, which the caller names by alias or by source."""
        if not isinstance(given, Mapping):
            raise QueryError(f'{WHERE}: expected inputs as {{"name": ..}}, got {type(given).__name__}')
        known = {*self.sources, *self.sources.values()}
        for name in given:
            if find_own(name, known) not in known:
                raise unknown_name("input", name, known, where=WHERE)
        found = {alias: _find_given(given, alias, name) for alias, name in self.sources.items()}
        missing = [alias for alias, one in found.items() if one is None]
        if missing:
            raise QueryError(f"{WHERE}: expected data for every input, got none for {quote(missing)}")
        return {alias: one for alias, one in found.items() if one is not None}

    def choose_policy(self, policy: Any) -> Any:
        """Choose the policy of a caller, or that of the hint where it is left at the default."""
        return self.hints.get("policy", policy) if policy == DEFAULT_POLICY else policy

    def choose_cells(self, cells: int | None) -> int | None:
        """Choose the cells that a caller names, or those of the hint."""
        return int(self.hints["cells"]) if cells is None and "cells" in self.hints else cells

    def ask(self, arranged: Mapping[str, Any]) -> Query:
        """Give the query over inputs that are arranged: aliases of one source share it if they were given the same."""
        return replace(self.query, streams=part_sources(self.query.streams, arranged))

    @property
    def query(self) -> Query:
        """The query that the statement says, as far as it is the eddy's."""
        return self._built[0]

    @property
    def after(self) -> After | None:
        """What Spark does with the answer; None where nothing but columns is selected."""
        return self._built[1]

    @cached_property
    def _built(self) -> tuple[Query, After | None]:
        return build_query(self)

    def is_stream(self, source: Source) -> bool:
        """Tell whether an input is a stream, by the text or by what is said beside it."""
        return source.is_stream or self.find_told(source) is not None

    def find_told(self, source: Source) -> Stream | None:
        """Find what is said of a stream beside the text."""
        return _find_given({one.name: one for one in self.streams}, source.alias, source.name)

    def _check_aliases(self) -> None:
        seen = set[tuple[str, int]]()
        for one in self.tree.sources:
            if not one.alias.isidentifier():
                raise self.tree.place.error(
                    "expected an alias of letters, digits and underscores, as in .. AS a", one.span
                )
            if fold_case(one.alias) in seen:
                raise self.tree.place.error(f'two inputs are called "{one.alias}"; give one another alias', one.span)
            seen.add(fold_case(one.alias))

    def _check_streams(self) -> None:
        """Refuse a misspelt name: one that the text has not, and that is like one of which nothing is said.

        Others may be of other texts that have the same list.
        """
        known = {*self.sources, *self.sources.values()}
        said = {find_own(one.name, known) for one in self.streams}
        unsaid = [name for pair in self.sources.items() if not said.intersection(pair) for name in dict.fromkeys(pair)]
        for one in self.streams:
            if find_own(one.name, known) not in known and difflib.get_close_matches(one.name, unsaid):
                raise unknown_name("input", one.name, unsaid, where=f"{WHERE}: streams")

    def _check_hints(self) -> None:
        for name, values in self.tree.hints:
            if name not in HINTS:
                raise unknown_name("hint", name, HINTS, where=WHERE)
            if len(values) != HINTS[name]:
                raise QueryError(f'{WHERE}: hint "{name}": expected {plural(HINTS[name], "word")}, got {len(values)}')
            if name == "cells" and not values[0].isdigit():
                raise QueryError(f'{WHERE}: hint "{name}": expected a whole number, got "{values[0]}"')


def _check_text(text: object) -> None:
    """Refuse what is no text, or too long for one."""
    if not isinstance(text, str):
        raise QueryError(f"{WHERE}: expected a text, got {write_repr(text)}")
    if len(text) > LONGEST:
        raise QueryError(
            f"{WHERE}: expected at most {LONGEST:,} characters, got {len(text):,}; put long lists into a table, and "
            "join that"
        )


def _find_given(given: Mapping[str, Given], alias: str, name: str) -> Given | None:
    """Find what is given for an input, by its alias or by its name, in any case of letters."""
    spelled = (alias, name, find_own(alias, given), find_own(name, given))
    return next((given[one] for one in spelled if one in given), None)
