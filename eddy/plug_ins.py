"""Plug-ins of other packages, by the entry points that they register."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from eddy.errors import QueryError, describe_error

T = TypeVar("T")


class PlugIns(Mapping[str, T]):
    """Plug-ins of one kind by their names: ours, and those of a group of entry points.

    A registered name counts only if none of ours has it. A plug-in of another package is loaded when it is asked for by
    its name, and never to list names. `take` makes of what was registered what is wanted of it, or says what it lacks.

    >>> sorted(PlugIns({"mine": 1}, group="nobody.has.this", kind="toy"))
    ['mine']
    """

    def __init__(
        self, own: Mapping[str, T], *, group: str, kind: str, take: Callable[[Any], T] = lambda found: found
    ) -> None:
        self.own = own
        self._group = group
        self._kind = kind
        self._take = take

    def __getitem__(self, name: str) -> T:
        if name in self.own:
            return self.own[name]
        point = next((point for point in entry_points(group=self._group, name=name)), None)
        if point is None:
            raise KeyError(name)
        try:
            return self._take(point.load())
        except Exception as error:
            raise QueryError(
                f'{self._kind} "{name}": the package that offers it as "{point.value}" cannot be loaded: '
                f"{describe_error(error)}"
            ) from error

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from sorted({point.name for point in entry_points(group=self._group)} - set(self.own))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self.own or name in set(self)
