"""One spelling for the parts of a query that say the same.

A checkpoint has the texts that its query was written in. They are read and written anew before they are compared, so
that a job may say its joins, filters and windows in other words, or as one statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from eddy import sql
from eddy.errors import QueryError
from eddy.query.inputs import Range
from eddy.query.validation import duration
from eddy.sql.bind.writer import write_duration

_CONDITION = re.compile(r'(join|semi|anti) "(.*)"', re.DOTALL)
_FILTER = re.compile(r"(on (\w+)[^:]*: )(?!function )(.*)", re.DOTALL)
_RANGE = re.compile(r"Range\('(.*)'\)")
WHERE = "checkpoint"


def spell_parts(parts: Mapping[str, str]) -> dict[str, str]:
    """Write all parts in one spelling; texts that nobody can read stay as they are.

    >>> spell_parts({'join "a.k=b.k and a.v > b.v"': "a join", 'filter "f"': "on a: v>1"})
    {'join "a.k = b.k"': 'a join', 'join "a.v > b.v"': 'a join', 'filter "f"': 'on a: a.v > 1'}
    >>> spell_parts({'stream "a": window': "Range('60 seconds')", 'stream "a": delay': "1 minute"})
    {'stream "a": window': "Range('1 minute')", 'stream "a": delay': '1 minute'}
    """
    return {spelled: text for part, text in parts.items() for spelled, text in _spell(part, text)}


def _spell(part: str, text: str) -> Iterator[tuple[str, str]]:
    try:
        yield from list(_spell_condition(part, text))
    except QueryError:
        yield part, text


def _spell_condition(part: str, text: str) -> Iterator[tuple[str, str]]:
    if found := _CONDITION.fullmatch(part):
        for one in sql.parse(found[2], where=WHERE).conjuncts():
            yield f'{found[1]} "{one.write()}"', text
    elif part.startswith('filter "') and (found := _FILTER.fullmatch(text)):
        begin, stream, condition = found.groups()
        read = sql.parse(condition, where=WHERE).qualify(lambda c: sql.Column(c.stream or stream, c.name))
        yield part, f"{begin}{read.write()}"
    elif part.endswith(": window") and (found := _RANGE.fullmatch(text)):
        yield part, str(Range(write_duration(duration(found[1], where=WHERE))))
    elif part.endswith(": delay") and not _is_number(text):
        yield part, write_duration(duration(text, where=WHERE))
    else:
        yield part, text


def _is_number(text: str) -> bool:
    """Tell whether a delay is none, or in units of a numeric time."""
    return re.fullmatch(r"None|[\d.e+-]+", text) is not None
