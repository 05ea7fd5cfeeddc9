"""Lookup tables beside one frame, and the conditions by which `eddy.where` looks into them.

In a text a column of a table has the name of its table, `users.id`, and one of the frame has none: `user = users.id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eddy import sql
from eddy.errors import QueryError, write_repr
from eddy.query.existence import ANTI, SEMI
from eddy.query.validation import check_name, texts
from eddy.sql import Column
from eddy.sql.values.name_case import fold_case

KINDS = ("joins", SEMI, ANTI)
"""The conditions with tables: rows are joined, or pass if there is a match, or if there is none."""


@dataclass(frozen=True, kw_only=True)
class Lookups:
    """The columns of each table, and the conditions of each kind as they were written."""

    tables: Mapping[str, Sequence[str]] = field(default_factory=dict)
    conditions: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def find_tables(self, columns: Iterable[Column]) -> list[str]:
        """Find the tables that columns name, in any case of letters."""
        named = {fold_case(column.stream) for column in columns if column.stream is not None}
        return [name for name in self.tables if fold_case(name) in named]

    def may_be_about(self, text: str) -> bool:
        """Tell whether a text names a table; one that only Spark can read does if the name of a table stands in it."""
        try:
            return bool(self.find_tables(sql.parse(text, where="where").columns))
        except QueryError:
            return any(re.search(rf"\b{name}`?\s*\.", text, re.IGNORECASE) for name in self.tables)

    def list_joined(self, named: Iterable[str]) -> list[str]:
        """List the tables whose rows results have: those that joins, or some others, name."""
        read = [column for text in self.conditions.get("joins", ()) for column in sql.parse(text, where="join").columns]
        joined = {*self.find_tables(read), *named}
        return [name for name in self.tables if name in joined]

    def qualify(self, stream: str) -> dict[str, list[str]]:
        """Write the conditions with the name of the stream before the columns of the frame."""
        return {
            kind: [name_stream(text, stream, f"where: {kind}") for text in found]
            for kind, found in self.conditions.items()
        }


NO_LOOKUPS = Lookups()


def name_stream(text: str, stream: str, where: str) -> str:
    """Write a text with the name of the stream before every column that has none."""
    read = sql.parse(text, where=where)
    return read.qualify(lambda column: column if column.stream else Column(stream, column.name)).write()


class GivenTables(NamedTuple):
    """Tables as a user gave them, and the conditions of each kind that look into them."""

    tables: Mapping[str, Any]
    conditions: Mapping[str, Sequence[str]]


def check_lookups(tables: object, conditions: Mapping[str, Any]) -> GivenTables:
    """Check tables and conditions as a user gave them."""
    if tables is not None and not isinstance(tables, Mapping):
        raise QueryError(f'where: tables: expected a dict such as {{"users": users}}, got {write_repr(tables)}')
    named: Mapping[str, Any] = tables or {}
    for name in named:
        check_name("where: table", name)
    found: dict[str, Sequence[str]] = {kind: texts(one, f"where: {kind}") for kind, one in conditions.items() if one}
    if found and not named:
        raise QueryError(f'where: {", ".join(found)}: expected tables={{"users": users}} to look into, got none')
    return GivenTables(named, found)


def check_apart(tables: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse a table with the name of a column: in a text nobody could tell which is meant."""
    known = {fold_case(name) for name in columns}
    for name in tables:
        if fold_case(name) in known:
            raise QueryError(f'where: table "{name}": the frame has a column of this name; call the table otherwise')


def name_joined(columns: Mapping[str, Sequence[str]], taken: Iterable[str]) -> dict[str, list[str]]:
    """Name the columns of joined tables beside those of the frame, as `attach` would.

    >>> name_joined({"users": ["id"]}, ["user"])
    {'users': ['users_id']}
    """
    seen = {fold_case(name): f'column "{name}" of the frame' for name in taken}
    found: dict[str, list[str]] = {}
    for table, names in columns.items():
        found[table] = [f"{table}_{name}" for name in names]
        for own, name in zip(names, found[table], strict=True):
            if (other := seen.setdefault(fold_case(name), f'"{table}.{own}"')) != f'"{table}.{own}"':
                raise QueryError(
                    f'where: "{table}.{own}" would be called "{name}" in the answer, as {other} is; rename one of them'
                )
    return found
