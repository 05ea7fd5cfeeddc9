"""Parses a text: an expression, a selected column, a type."""

from __future__ import annotations

import pyarrow as pa

from eddy.sql.bind.expression import Expression
from eddy.sql.text import grammar, names
from eddy.sql.text.reader import TokenReader
from eddy.sql.text.special_forms import read_interval
from eddy.sql.values.tree import Column, Place, Ref


def parse(text: str, *, where: str) -> Expression:
    """Read an expression; `where` says in errors whose text it is.

    >>> parse("a.v > 10 and b.k = a.k", where="here").conjuncts()[1].text
    'b.k = a.k'
    """
    place = Place(where, text)
    return Expression(grammar.read(place), place)


def parse_select(text: str, *, where: str) -> tuple[Column, str]:
    """Read a column to select, with the name it gets.

    >>> parse_select("b.id AS key", where="here"), parse_select("b.id", where="here")
    ((Column(stream='b', name='id'), 'key'), (Column(stream='b', name='id'), 'id'))
    """
    reader = TokenReader(Place(where, text))
    if reader.now.key == "*" or (reader.look_ahead().key, reader.look_ahead(2).key) == (".", "*"):
        raise reader.error("leave select out for every column, or list the columns that you want", reader.now)
    node = grammar.boolean(reader)
    if not isinstance(node, Ref):
        reason = "only columns can be selected, as stream.column or stream.column AS name, not expressions"
        raise reader.error(reason, node.span)
    name = grammar.alias(reader)
    grammar.finish(reader)
    return node.column, name or node.column.name


def parse_interval(text: str, *, where: str) -> int:
    """Read an interval, in microseconds.

    >>> parse_interval("interval 1 minute 30 seconds", where="here")
    90000000
    """
    reader = TokenReader(Place(where, text))
    reader.expect("INTERVAL", "before a length of time")
    micros, _ = read_interval(reader, 0)
    grammar.finish(reader)
    return micros


def parse_type(text: str, *, where: str) -> pa.DataType:
    """Read the name of a type, as in CAST.

    >>> parse_type("decimal(10, 2)", where="here")
    Decimal128Type(decimal128(10, 2))
    """
    reader = TokenReader(Place(where, text))
    found = names.read_type(reader)
    grammar.finish(reader)
    return found
