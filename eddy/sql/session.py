"""What the meaning of an expression takes from outside: the time zone.

Spark has one zone for a session. Here it is that of the timestamps. Where they have several, only an expression whose
value does not depend on the zone has a meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from eddy.errors import quoted
from eddy.sql import types
from eddy.sql.step import Refused
from eddy.sql.tree import Column
from eddy.sql.zones import is_fixed, is_known

DEFAULT_ZONE = "UTC"


@dataclass(frozen=True)
class Session:
    """The zones of the timestamps, with the columns that have them.

    `label` is the zone that timestamps are labelled with, which says nothing of the instants that they mean.
    """

    zones: tuple[tuple[str, tuple[str, ...]], ...]
    label: str

    @property
    def zone(self) -> str:
        """The one zone; asked for only where a value depends on it."""
        if len(self.zones) > 1:
            listed = "; ".join(f"{zone} of {quoted(columns)}" for zone, columns in self.zones)
            raise Refused(f"this depends on the time zone, and the timestamps have several: {listed}; cast them to one")
        if not is_known(self.label):
            reason = f'this depends on the time zone, and "{self.label}" is none that is known here'
            raise Refused(f'{reason}; cast the timestamps to one such as "Europe/Oslo"')
        return self.label

    @property
    def steady(self) -> bool:
        """Whether no zone ever changes its clocks."""
        return all(is_fixed(zone) for zone, _ in self.zones)

    def unasked(self) -> Session:
        """The session of a value that brings its own zone."""
        return Session((), self.label)


def session(known: Mapping[Column, pa.DataType], used: Iterable[Column]) -> Session:
    """Take the zones from the columns; without any it is UTC."""
    zones: dict[str, list[str]] = {}
    for column, type in known.items():
        if types.is_timestamp(type):
            zones.setdefault(str(type.tz), []).append(str(column))
    # The label must not depend on the order of the columns, and costs nothing if it is one that they have.
    own = {zone for zone, columns in zones.items() if any(str(column) in columns for column in used)}
    found = tuple((zone, tuple(columns)) for zone, columns in sorted(zones.items()))
    return Session(found, min(own or zones, default=DEFAULT_ZONE))
