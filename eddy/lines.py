"""The lines on which the keys of a TOML file stand.

Python's reader of TOML keeps no places. This scan only has to find keys in text that the reader has accepted, so it
follows tables, keys, and values that go on over several lines, and nothing else. What stands within a value has the
line of the key.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping

from eddy.settings import Path

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=\s*")
_MEMBER = re.compile(rf"[{{,]\s*({_DOTTED})\s*=")
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[\]{}]')


def lines(text: str) -> Mapping[Path, int]:
    r"""The first line of every table and key.

    >>> lines("[a]\nb = 1\n[a.'c.d']\ne = [\n  1,\n]")
    {('a',): 1, ('a', 'b'): 2, ('a', 'c.d'): 3, ('a', 'c.d', 'e'): 4}
    """
    found: dict[Path, int] = {}
    table: Path = ()
    for number, line in _beginnings(text):
        header, key = _TABLE.match(line), _KEY.match(line)
        if header:
            table = split(header[1])
        path = (*table, *split(key[1])) if key and not header else table
        for depth in range(1, len(path) + 1):
            found.setdefault(path[:depth], number)
        if key and not header:
            for member in _MEMBER.finditer(line, key.end()):
                found.setdefault((*path, *split(member[1])), number)
    return found


def nearest(known: Mapping[Path, int], path: Path) -> int | None:
    """The line of a path, or of the nearest table around it.

    A name with dots may be spelled as tables within tables.

    >>> nearest({("spark",): 1, ("spark", "sql", "ansi"): 2}, ("spark", "sql.ansi"))
    2
    """
    while path:
        for spelled in (path, (*path[:-1], *path[-1].split("."))):
            if spelled in known:
                return known[spelled]
        path = path[:-1]
    return None


def split(dotted: str) -> Path:
    """The parts of a dotted key; a part in quotes may have dots.

    >>> split('spark."spark.sql.ansi.enabled"')
    ('spark', 'spark.sql.ansi.enabled')
    """
    return tuple(_unquoted(part) for part in re.findall(_PART, dotted))


def is_key(text: str) -> bool:
    """Is a text a dotted key and nothing else.

    >>> is_key("policy.name"), is_key("policy name"), is_key("policy.")
    (True, False, False)
    """
    return re.fullmatch(_DOTTED, text) is not None


def joined(path: Path) -> str:
    """A dotted key as TOML spells it.

    >>> joined(("spark", "sql.ansi"))
    'spark."sql.ansi"'
    """
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part) for part in path)


def _unquoted(part: str) -> str:
    return str(tomllib.loads(f"part = {part}")["part"]) if part[0] in "\"'" else part


def _beginnings(text: str) -> Iterator[tuple[int, str]]:
    """The lines that do not go on with a value from the line before."""
    depth, closing = 0, ""
    for number, line in enumerate(text.split("\n"), start=1):
        begins = not depth and not closing and line.strip() and not line.lstrip().startswith("#")
        if begins:
            yield number, line
        start = 0
        if begins and _TABLE.match(line):
            continue
        for token in _TOKEN.finditer(line, start):
            if closing:
                closing = "" if token[0] == closing else closing
            elif token[0] in ('"""', "'''"):
                closing = token[0]
            else:
                depth += (token[0] in "[{") - (token[0] in "]}")
