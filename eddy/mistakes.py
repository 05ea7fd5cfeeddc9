"""Everything that is wrong with a file, told at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eddy.errors import QueryError
from eddy.lines import joined, nearest
from eddy.settings import Path


@dataclass
class Mistakes:
    """Collects mistakes, each with its place.

    `lines` are those of the file, and `outside` says where values came from that are not from the file. `spelled` has
    the keys that are misspelt, by what was meant: what is wrong with their values is told where they stand.
    """

    file: str
    lines: Mapping[Path, int] = field(default_factory=dict)
    outside: Mapping[Path, str] = field(default_factory=dict)
    found: list[tuple[int, str]] = field(default_factory=list)
    spelled: dict[Path, str] = field(default_factory=dict)
    paths: set[Path] = field(default_factory=set)

    def add(self, path: Path, text: str) -> None:
        """Note what is wrong at a place."""
        indented = text.replace("\n", "\n    ")
        self.paths.add(path)
        self.found.append((nearest(self.lines, self._written(path)) or 0, f"{self.place(path)}: {indented}"))

    def within(self, path: Path) -> bool:
        """Has anything been noted at a place, or within it."""
        return any(noted[: len(path)] == path for noted in self.paths)

    def place(self, path: Path) -> str:
        """A place for people: the line and the dotted key, or where else the value came from.

        >>> Mistakes("job.toml", {("sink",): 7}).place(("sink", "path"))
        'line 7, sink.path'
        """
        path = self._written(path)
        if path in self.outside:
            return f"{self.outside[path]}, {joined(path)}"
        line = nearest(self.lines, path)
        return f"line {line}, {joined(path)}" if line else joined(path)

    def _written(self, path: Path) -> Path:
        """A place as the file spells it."""
        return tuple(self.spelled.get(path[: depth + 1], name) for depth, name in enumerate(path))

    def check(self) -> None:
        """Raise what has been found, in the order of the file."""
        if not self.found:
            return
        told = list(dict.fromkeys(text for _, text in sorted(self.found, key=lambda one: one[0])))
        count = "1 mistake" if len(told) == 1 else f"{len(told)} mistakes"
        raise QueryError("\n".join([f'config "{self.file}": {count}', *(f"  {text}" for text in told)]))
