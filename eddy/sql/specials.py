"""Functions whose arguments have a grammar of their own.

`boolean`, which every function that needs whole conditions is handed, is the entry of the grammar above.
"""

from __future__ import annotations

from collections.abc import Callable

from eddy.errors import QueryError
from eddy.sql import names
from eddy.sql.reader import Reader
from eddy.sql.tree import Call, Cast, Node
from eddy.sql.typenames import read_type

Boolean = Callable[[Reader], Node]


def refuse_subquery(reader: Reader) -> None:
    """Refuse a subquery, where one would begin."""
    if reader.now.key in ("SELECT", "WITH", "FROM", "VALUES") and reader.ahead().kind != "sign":
        raise reader.error("subqueries are not supported; make it a table of the query and join it", reader.now)


def arguments(reader: Reader, boolean: Boolean) -> list[Node]:
    """Read values between commas."""
    refuse_subquery(reader)
    args = [boolean(reader)]
    while reader.accept(","):
        args.append(boolean(reader))
    return args


def _cast(reader: Reader, boolean: Boolean, start: int, *, safe: bool = False) -> Node:
    child = boolean(reader)
    reader.expect("AS", "and a type in CAST")
    type = read_type(reader)
    reader.expect(")", "to close CAST")
    return Cast(reader.span(start), child, type, safe)


def _try_cast(reader: Reader, boolean: Boolean, start: int) -> Node:
    return _cast(reader, boolean, start, safe=True)


def _trim(reader: Reader, boolean: Boolean, start: int) -> Node:
    is_column = reader.ahead().key in (".", ",", ")")
    side = None if is_column else reader.accept_any(frozenset({"BOTH", "LEADING", "TRAILING"}))
    args = [] if side and reader.now.key == "FROM" else [boolean(reader)]
    if reader.accept("FROM") or reader.accept(","):
        args.insert(0, boolean(reader))
    reader.expect(")", "to close TRIM")
    name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side or "", "trim")
    return Call(reader.span(start), name, tuple(args))


def _side_trim(name: str) -> Callable[[Reader, Boolean, int], Node]:
    def rule(reader: Reader, boolean: Boolean, start: int) -> Node:
        args = arguments(reader, boolean)
        reader.expect(")", f"to close {name.upper()}")
        if len(args) > 2:
            raise miswritten(reader, name.upper(), start)
        return Call(reader.span(start), name, tuple(reversed(args)))

    return rule


def _substring(reader: Reader, boolean: Boolean, start: int) -> Node:
    args, marks = [boolean(reader)], [("FROM", "FOR"), (",", ",")][reader.now.key == ","]
    args += [boolean(reader) for mark in marks if reader.accept(mark)]
    reader.expect(")", "to close SUBSTRING")
    if len(args) == 1:
        raise miswritten(reader, "SUBSTRING", start)
    return Call(reader.span(start), "substring", tuple(args))


def _extract(reader: Reader, boolean: Boolean, start: int) -> Node:
    name = names.part(reader.now, reader)
    reader.expect("FROM", "after the field of EXTRACT")
    child = boolean(reader)
    reader.expect(")", "to close EXTRACT")
    return Call(reader.span(start), name, (child,))


def miswritten(reader: Reader, name: str, start: int) -> QueryError:
    """Build the error for a function with a grammar of its own."""
    return reader.error(f"expected {_WRITTEN[name]}", reader.span(start))


def _exists(reader: Reader, _: Boolean, start: int) -> Node:
    raise reader.error("subqueries are not supported; make it a table of the query and join it", reader.span(start))


_WRITTEN = {
    "CAST": "cast(value as type)",
    "TRY_CAST": "try_cast(value as type)",
    "TRIM": "trim(text) or trim(characters from text)",
    "LTRIM": "ltrim(text) or ltrim(characters, text)",
    "RTRIM": "rtrim(text) or rtrim(characters, text)",
    "SUBSTRING": "substring(text, position) or substring(text, position, length)",
    "SUBSTR": "substr(text, position) or substr(text, position, length)",
    "EXTRACT": "extract(field from time)",
    "EXISTS": "a condition; subqueries are not supported",
}
SPECIAL: dict[str, Callable[[Reader, Boolean, int], Node]] = {
    "CAST": _cast,
    "TRY_CAST": _try_cast,
    "TRIM": _trim,
    "LTRIM": _side_trim("ltrim"),
    "RTRIM": _side_trim("rtrim"),
    "SUBSTRING": _substring,
    "SUBSTR": _substring,
    "EXTRACT": _extract,
    "EXISTS": _exists,
}
