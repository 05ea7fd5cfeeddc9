"""Column names in texts: completed, and told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from eddy.errors import quote
from eddy.sql.values.tree import Column, Node, Place, Ref

Find = Callable[[Column], Sequence[str]]
"""The names of the columns that a column may mean."""


def backtick(name: str) -> str:
    """Write a name as SQL reads any name.

    >>> backtick("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


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


def respell(node: Node, place: Place, find: Find) -> str:
    """Write a node's text with every column as it is called.

    A name stays in quotes or without them, so that a text does not depend on the case in which it was written.
    """
    text, at = "", 0
    refs = {ref.span: ref for ref in node.walk() if isinstance(ref, Ref)}
    for span, ref in sorted(refs.items(), key=lambda item: item[0].start):
        found = find(ref.column)
        if len(found) > 1:
            raise place.error(describe_ambiguous(str(ref.written), found), span)
        if _is_own(ref, found):
            continue
        name = found[0] if found else ref.column.name
        if place.text[ref.span.end - 1] == "`" or not name.isascii():
            name = backtick(name)
        text += place.text[at : span.start] + (name if ref.bare else f"{ref.column.stream}.{name}")
        at = span.end
    return text + place.text[at:]


def name_streams(node: Node, place: Place) -> str:
    """Write a node's text with the stream of every column before its name."""
    text, at = "", 0
    bare = {ref.span.start: ref for ref in node.walk() if isinstance(ref, Ref) and ref.bare}
    for start, ref in sorted(bare.items()):
        text += f"{place.text[at:start]}{ref.column.stream}."
        at = start
    return text + place.text[at:]
