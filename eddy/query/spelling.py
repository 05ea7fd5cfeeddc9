"""One spelling for the parts of a query that say the same.

A checkpoint has the parts of its query in this spelling, so that a job may say its joins, filters and windows in other
words, or as one statement. An older checkpoint has the texts that the query was written in: they are read and written
anew before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

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
    """Give all parts in the one spelling; texts that nobody can read stay as they are.

    >>> list(spell_parts({'join "a.k=b.k and a.v > b.v"': "a join"}))
    ['join "a.k = b.k"', 'join "a.v > b.v"']
    >>> list(spell_parts({'filter "f"': "on a: v>1", 'stream "a": delay': "60 seconds"}).values())
    ['on a: a.v > 1', '1 minute']
    """
    return dict(part for name, text in parts.items() for part in _spell(name, text))


# To read a text takes milliseconds, and each engine of a query has the same ones.
@lru_cache(maxsize=1024)
def _spell(name: str, text: str) -> list[tuple[str, str]]:
    try:
        return list(_spell_known(name, text))
    except QueryError:
        return [(name, text)]


def _spell_known(name: str, text: str) -> Iterator[tuple[str, str]]:
    if found := _CONDITION.fullmatch(name):
        for one in sql.parse(found[2], where=WHERE).conjuncts():
            yield f'{found[1]} "{one.write()}"', text
    elif name.startswith('filter "') and (found := _FILTER.fullmatch(text)):
        begin, stream, condition = found.groups()
        read = sql.parse(condition, where=WHERE).qualify(lambda c: sql.Column(c.stream or stream, c.name))
        yield name, f"{begin}{read.write()}"
    elif name.endswith(": window") and (found := _RANGE.fullmatch(text)):
        yield name, str(Range(write_duration(duration(found[1], where=WHERE))))
    elif name.endswith(": delay") and not _is_number(text):
        yield name, write_duration(duration(text, where=WHERE))
    else:
        yield name, text


def _is_number(text: str) -> bool:
    """Tell whether a delay is none, or in units of a numeric time."""
    return re.fullmatch(r"None|[\d.e+-]+", text) is not None
