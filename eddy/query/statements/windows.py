"""Windows of streams, in brackets as CQL has them.

[RANGE 10 MINUTES]   [RANGE 5]   [ROWS 100]   [PARTITION BY car ROWS 1]   [RANGE UNBOUNDED]   [ROWS UNBOUNDED]   [NOW]
"""

from __future__ import annotations

from eddy.errors import QueryError
from eddy.query.emit import Every
from eddy.query.inputs import Range, Rows, Unbounded, Window
from eddy.sql.bind.writer import write_duration
from eddy.sql.text import grammar
from eddy.sql.text.reader import Token, TokenReader
from eddy.sql.text.special_forms import read_interval


def read_window(reader: TokenReader) -> Window:
    """Read a window, from its opening bracket on."""
    reader.take()
    word = reader.take()
    if word.key == "PARTITION":
        return _read_partition(reader)
    if word.key not in _WINDOWS:
        raise reader.error(f'expected RANGE, ROWS or NOW in a window, got "{word.text}"', word)
    found = _WINDOWS[word.key](reader, word)
    reader.expect("]", "to close the window")
    return found


def _read_partition(reader: TokenReader) -> Window:
    """Read the columns of PARTITION BY, and how many rows of each of their values are inside."""
    reader.expect("BY", "after PARTITION")
    columns = reader.read_list(grammar.identifier)
    word = reader.take()
    if word.key != "ROWS":
        raise reader.error(f'expected ROWS and a number after the columns of PARTITION BY, got "{word.text}"', word)
    found = _read_rows(reader, word)
    reader.expect("]", "to close the window")
    return Rows(found.count, by=columns) if isinstance(found, Rows) else found


def _read_range(reader: TokenReader, word: Token) -> Window:
    return Unbounded() if reader.accept("UNBOUNDED") else Range(_read_span(reader, word))


def read_every(reader: TokenReader) -> Every:
    """Read the length between two ticks, from EVERY on."""
    word = reader.take()
    length = _read_span(reader, word)
    span = reader.span(word.start)
    try:
        return Every(length, written=(reader.place, span))
    except QueryError:
        raise reader.error("expected a length of more than 0 between two ticks", span) from None


def _read_span(reader: TokenReader, word: Token) -> str | int | float:
    """Read a length of time behind a word."""
    if reader.now.kind == "number" and not _is_unit(reader.look_ahead()):
        # Times that are plain numbers have lengths that are.
        return _read_number(reader.take().text, reader, word)
    reader.accept("INTERVAL")
    return write_duration(read_length(reader, word.start))


def _is_unit(word: Token) -> bool:
    """Tell whether a word behind a number may be its unit."""
    return word.is_name and word.key != "FROM"


def read_length(reader: TokenReader, start: int) -> int:
    """Read an interval that is a length of time, in microseconds."""
    micros, _ = read_interval(reader, start)
    if micros < 0:
        raise reader.error("expected a length of time that is not below 0", reader.span(start))
    return micros


def _read_number(text: str, reader: TokenReader, word: Token) -> int | float:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise reader.error(f'expected a plain number, got "{text}"', reader.span(word.start)) from None


def _read_rows(reader: TokenReader, word: Token) -> Window:
    if reader.accept("UNBOUNDED"):
        return Unbounded()
    token = reader.take()
    if token.kind != "number" or not token.text.isdigit() or not int(token.text[:20]):
        raise reader.error(f'expected a number of rows of 1 or more after {word.key}, got "{token.text}"', token)
    return Rows(int(token.text[:20]))


def _read_now(_: TokenReader, __: Token) -> Window:
    return Range("0 seconds")


_WINDOWS = {"RANGE": _read_range, "ROWS": _read_rows, "NOW": _read_now}
