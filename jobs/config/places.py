"""Mistakes in a file, and the lines where they stand.

Python's reader of TOML keeps no places. The scan here only has to find keys in text that the reader has accepted, so it
follows tables, keys, and values that go on over several lines, and nothing else. A key within a value has the line of
the value's key.

`Mistakes` collects all that is wrong and raises it as one error, in the order of the lines.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from eddy.errors import QueryError
from eddy.observe.text import plural
from eddy.redaction import KeyPath, hide_secrets

Place = TypeVar("Place")

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_TABLE = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=\s*")
_MEMBER = re.compile(rf"[{{,]\s*({_DOTTED})\s*=")
_TOKEN = re.compile(r'"""|\'\'\'|"(?:[^"\\]|\\.)*"|\'[^\']*\'|#.*|[\[\]{}]')


def lines(text: str) -> Mapping[KeyPath, int]:
    r"""Give the first line of every table and key.

    >>> lines("[a]\nb = 1\n[a.'c.d']\ne = [\n  1,\n]")
    {('a',): 1, ('a', 'b'): 2, ('a', 'c.d'): 3, ('a', 'c.d', 'e'): 4}
    """
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
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


def find_nearest(known: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Find the line of a path, or of the nearest table around.

    A name with dots may be spelled as tables within tables.

    >>> find_nearest({("spark",): 1, ("spark", "sql", "ansi"): 2}, ("spark", "sql.ansi"))
    2
    """
    while path:
        for spelled in (path, (*path[:-1], *path[-1].split("."))):
            if spelled in known:
                return known[spelled]
        path = path[:-1]
    return None


def split(dotted: str) -> KeyPath:
    """The parts of a dotted key; a part in quotes may have dots.

    >>> split('spark."spark.sql.ansi.enabled"')
    ('spark', 'spark.sql.ansi.enabled')
    """
    return tuple(_unquote(part) for part in re.findall(_PART, dotted))


def is_key(text: str) -> bool:
    """Tell whether a text is a dotted key and nothing else.

    >>> is_key("policy.name"), is_key("policy name"), is_key("policy.")
    (True, False, False)
    """
    return re.fullmatch(_DOTTED, text) is not None


def join_key(path: KeyPath) -> str:
    """Write a dotted key as TOML spells it.

    >>> join_key(("spark", "sql.ansi"))
    'spark."sql.ansi"'
    """
    return ".".join(part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part) for part in path)


@dataclass
class Mistakes:
    """Collects mistakes, each with its place.

    `lines` are those of the file, and `outside` says where values came from that are not from the file. `spelled` has
    the keys that are misspelt, by what was meant: what is wrong with their values is told where they stand. `moved` has
    where tables and keys of a profile stand, by the place that they take. `secrets` are told in no mistake.
    """

    file: str
    lines: Mapping[KeyPath, int] = field(default_factory=dict)
    outside: Mapping[KeyPath, str] = field(default_factory=dict)
    found: list[tuple[int, str]] = field(default_factory=list)
    spelled: dict[KeyPath, str] = field(default_factory=dict)
    moved: Mapping[KeyPath, KeyPath] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set)
    paths: set[KeyPath] = field(default_factory=set)

    def add(self, path: KeyPath, text: str) -> None:
        """Note what is wrong at a place."""
        indented = text.replace("\n", "\n    ")
        self.paths.add(path)
        self.found.append(
            (find_nearest(self.lines, self._find_place(self._spell(path))) or 0, f"{self.place(path)}: {indented}")
        )

    def has_within(self, path: KeyPath) -> bool:
        """Tell whether a mistake was noted at a place, or within it."""
        return any(noted[: len(path)] == path for noted in self.paths)

    def place(self, path: KeyPath) -> str:
        """Write a place for people: the line and the dotted key.

        A value from elsewhere is shown with its origin.

        >>> Mistakes("job.toml", {("sink",): 7}).place(("sink", "path"))
        'line 7, sink.path'
        """
        path = self._spell(path)
        stands = self._find_place(path)
        for one in (path, stands):
            if origin := self._find_origin(one):
                return f"{origin}, {join_key(one)}"
        line = find_nearest(self.lines, stands)
        return f"line {line}, {join_key(stands)}" if line else join_key(stands)

    def lay(self, moved: Mapping[KeyPath, KeyPath]) -> Mistakes:
        """Give a view in which tables of the file stand at other places; each is told where it is the file's.

        What is found is noted here as well.

        >>> mistakes = Mistakes("job.toml", {("queries", "a", "joins"): 7})
        >>> mistakes.lay({("query",): ("queries", "a")}).place(("query", "joins"))
        'line 7, queries.a.joins'
        """
        places, spelled, paths = dict(self.moved), dict(self.spelled), set(self.paths)
        for above, own in moved.items():
            # What a profile moves, and what is misspelt, within the table is found by its other place too.
            places |= {above: self._find_place(self._spell(own))} | _lead(self.moved, own, above)
            spelled |= _lead(self.spelled, own, above)
            paths |= _lead(dict.fromkeys(self.paths), own, above).keys()
        return replace(self, moved=places, spelled=spelled, paths=paths)

    def _find_origin(self, path: KeyPath) -> str:
        """Say where a value comes from that is not from the file, or a part of one.

        >>> Mistakes("job.toml", {("policy",): 7}, {("policy",): "--set"}).place(("policy", "tree"))
        '--set, policy.tree'
        """
        return next((self.outside[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.outside), "")

    def suggest_section(self, path: KeyPath) -> str:
        """Suggest a section of the file where one is given from outside alone: its name may be misspelt.

        >>> mistakes = Mistakes("job.toml", {("filters", "large"): 7}, {("filters", "lrage", "cost"): "--set"})
        >>> mistakes.suggest_section(("filters", "lrage"))
        '; the file has no [filters.lrage], did you mean "filters.large"?'
        """
        if path in self.lines or not any(given[: len(path)] == path for given in self.outside):
            return ""
        beside = {join_key(one): one for one in self.lines if one[:-1] == path[:-1]}
        close = difflib.get_close_matches(join_key(path), beside, n=1)
        return f'; the file has no [{join_key(path)}], did you mean "{close[0]}"?' if close else ""

    def _spell(self, path: KeyPath) -> KeyPath:
        return tuple(self.spelled.get(path[: depth + 1], name) for depth, name in enumerate(path))

    def _find_place(self, path: KeyPath) -> KeyPath:
        """Find where a table or a key stands, which may be in a profile."""
        begun = next((path[:n] for n in range(len(path), 0, -1) if path[:n] in self.moved), ())
        return (*self.moved[begun], *path[len(begun) :]) if begun else path

    def check(self) -> None:
        """Raise what has been found, in the order of the file."""
        if not self.found:
            return
        told = list(dict.fromkeys(text for _, text in sorted(self.found, key=lambda one: one[0])))
        count = plural(len(told), "mistake")
        text = "\n".join([f'config "{self.file}": {count}', *(f"  {text}" for text in told)])
        raise QueryError(hide_secrets(text, {}, self.secrets) if self.secrets else text)


def _lead(known: Mapping[KeyPath, Place], own: KeyPath, above: KeyPath) -> dict[KeyPath, Place]:
    """Give what is known within a table by another place of it."""
    return {(*above, *path[len(own) :]): value for path, value in known.items() if path[: len(own)] == own}


def _unquote(part: str) -> str:
    return str(tomllib.loads(f"part = {part}")["part"]) if part[0] in "\"'" else part


def _beginnings(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that continue no value of the line before."""
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
