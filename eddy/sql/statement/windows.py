"""Windows of streams, in brackets as CQL has them.

[RANGE 10 MINUTES]   [RANGE 5]   [ROWS 100]   [PARTITION BY car ROWS 1]   [RANGE UNBOUNDED]   [ROWS UNBOUNDED]   [NOW]
"""

from __future__ import annotations

from dataclasses import replace

from eddy.sql.statement.tree import NoEnd, RowCount, SourceWindow, TimeSpan
from eddy.sql.text import grammar
from eddy.sql.text.reader import Token, TokenReader
from eddy.sql.text.special_forms import read_interval


def read_window(reader: TokenReader) -> SourceWindow:
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


def _read_partition(reader: TokenReader) -> SourceWindow:
    """Read the columns of PARTITION BY, and how many rows of each of their values are inside."""
    reader.expect("BY", "after PARTITION")
    columns = [grammar.identifier(reader)]
    while reader.accept(","):
        columns.append(grammar.identifier(reader))
    word = reader.take()
    if word.key != "ROWS":
        raise reader.error(f'expected ROWS and a number after the columns of PARTITION BY, got "{word.text}"', word)
    found = _read_rows(reader, word)
    reader.expect("]", "to close the window")
    return replace(found, by=columns) if isinstance(found, RowCount) else found


def _read_range(reader: TokenReader, word: Token) -> SourceWindow:
    if reader.accept("UNBOUNDED"):
        return NoEnd()
    if reader.now.kind == "number" and reader.look_ahead().key == "]":
        # Times that are plain numbers have windows that are.
        text = reader.take().text
        return TimeSpan(length=_read_number(text, reader, word), is_number=True)
    reader.accept("INTERVAL")
    micros, _ = read_interval(reader, word.start)
    if micros < 0:
        raise reader.error("expected a window that is not below 0", reader.span(word.start))
    return TimeSpan(length=micros)


def _read_number(text: str, reader: TokenReader, word: Token) -> int | float:
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise reader.error(f'expected a plain number, got "{text}"', reader.span(word.start)) from None


def _read_rows(reader: TokenReader, word: Token) -> SourceWindow:
    if reader.accept("UNBOUNDED"):
        return NoEnd()
    token = reader.take()
    if token.kind != "number" or not token.text.isdigit() or not int(token.text[:20]):
        raise reader.error(f'expected a number of rows of 1 or more after {word.key}, got "{token.text}"', token)
    return RowCount(count=int(token.text[:20]))


def _read_now(_: TokenReader, __: Token) -> SourceWindow:
    return TimeSpan(length=0)


_WINDOWS = {"RANGE": _read_range, "ROWS": _read_rows, "NOW": _read_now}
