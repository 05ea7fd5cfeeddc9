"""Columns of a tree as their inputs call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from eddy.errors import quote
from eddy.sql.values.tree import Column, Node, Place, Ref, rename_refs

Find = Callable[[Column], Sequence[str]]
"""The names of the columns that a column may mean."""


def describe_ambiguous(name: str, found: Iterable[str]) -> str:
    """Say that a name means several columns."""
    return (
        f'column "{name}" is ambiguous, since {quote(found)} differ in case only; rename one of them, or in Spark set '
        "spark.sql.caseSensitive"
    )


def is_spelled(node: Node, find: Find) -> bool:
    """Tell whether columns are written as they are called.

    Unknown columns pass.
    """
    return all(_is_own(ref, find(ref.column)) for ref in node.walk() if isinstance(ref, Ref))


def _is_own(ref: Ref, found: Sequence[str]) -> bool:
    return ref.written.stream in (None, ref.column.stream) and (not found or [*found] == [ref.column.name])


def respell(node: Node, place: Place, find: Find) -> Node:
    """Give the tree with every column as it is called; refuse a name that means several columns."""

    def choose(ref: Ref) -> Column:
        found = find(ref.column)
        if len(found) > 1:
            raise place.error(describe_ambiguous(str(ref.written), found), ref.span)
        return Column(ref.column.stream, found[0]) if found else ref.column

    return rename_refs(node, choose)
