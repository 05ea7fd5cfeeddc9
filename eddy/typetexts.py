"""The types of columns, as a schema in a file names them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from eddy import sql
from eddy.errors import QueryError

_CLOSING = {"<": ">", "(": ")"}

DEEPEST = 50
"""Types within types: more is a slip or an attack, and Arrow and Spark follow them by recursion."""


def schema(columns: Mapping[str, str], *, where: str) -> pa.Schema:
    """The columns of a source.

    >>> schema({"k": "bigint", "tags": "array<string>"}, where="schema").types
    [DataType(int64), ListType(list<item: string>)]
    """
    return pa.schema([pa.field(name, type_of(text, where=where)) for name, text in columns.items()])


def type_of(text: str, *, where: str) -> pa.DataType:
    """A type by its name: one of SQL, or an array, a map or a struct of such."""
    if text.count("<") > DEEPEST:
        raise QueryError(f"{where}: expected at most {DEEPEST} types within types, got {text.count('<')}")
    head, opened, rest = text.strip().partition("<")
    if not opened:
        return sql.parse_type(text, where=where)
    if not rest.endswith(">"):
        raise QueryError(f'{where}: type "{text}": expected a ">" at its end')
    inner = _split(rest[:-1])
    name = head.strip().lower()
    if name == "array" and len(inner) == 1:
        return pa.list_(type_of(inner[0], where=where))
    if name == "map" and len(inner) == 2:
        return pa.map_(type_of(inner[0], where=where), type_of(inner[1], where=where))
    if name == "struct":
        fields = [part.partition(":") for part in inner]
        return pa.struct([pa.field(field.strip(), type_of(type, where=where)) for field, _, type in fields])
    raise QueryError(
        f'{where}: unknown type "{text}"; expected a type of SQL, array<type>, map<type, type> or '
        "struct<name: type, ...>"
    )


def _split(text: str) -> list[str]:
    """The parts between commas that are in no brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in _CLOSING) - (letter in _CLOSING.values())
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts
