"""The time zone of an expression, and columns in its types.

Spark has one zone for a session. Here it is that of the timestamps. Where they have several, only an expression whose
value does not depend on the zone has a meaning.

A `Conversion` converts a column that arrives in another Arrow type than expressions have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import quote
from eddy.sql.values import types
from eddy.sql.values.arrays import build, nulls, physical
from eddy.sql.values.step import Refused
from eddy.sql.values.tree import Column, Place, TextSpan
from eddy.sql.values.zones import is_fixed, is_known

DEFAULT_ZONE = "UTC"
_NANOS = 1_000


@dataclass(frozen=True)
class Session:
    """The zones of timestamps, and the columns that have them.

    `label` is the zone that timestamps are labelled with, which says nothing of the instants that they mean.
    """

    zones: tuple[tuple[str, tuple[str, ...]], ...]
    label: str

    @property
    def zone(self) -> str:
        """The one zone; asked for only where a value depends on it."""
        if len(self.zones) > 1:
            listed = "; ".join(f"{zone} of {quote(columns)}" for zone, columns in self.zones)
            raise Refused(f"this depends on the time zone, and the timestamps have several: {listed}; cast them to one")
        if not is_known(self.label):
            reason = f'this depends on the time zone, and "{self.label}" is none that is known here'
            raise Refused(f'{reason}; cast the timestamps to one such as "Europe/Oslo"')
        return self.label

    @property
    def steady(self) -> bool:
        """Whether the clocks of all zones never change."""
        return all(is_fixed(zone) for zone, _ in self.zones)

    def forget_columns(self) -> Session:
        """Give the session of a value that brings its own zone."""
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


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A column to be converted, and where the text names it."""

    column: Column
    type: pa.DataType
    span: TextSpan
    place: Place

    def convert(self, array: pa.Array) -> pa.Array:
        """Convert the column; finer times are floored."""
        try:
            return _convert(array, self.type)
        except pa.ArrowInvalid:
            held = f'the column "{self.column}" of type "{array.type}" holds a value that does not fit "{self.type}"'
            message = (
                f"{held}, the type that expressions know; cast the column, or leave out such rows, before the query"
            )
            raise self.place.fault(message, self.span) from None


def _convert(array: pa.Array, type: pa.DataType) -> pa.Array:
    inner = types.storage_type(array.type)
    if inner is not None:
        return _convert(array.cast(inner), type)
    if isinstance(array, pa.DictionaryArray):
        return _convert(array.dictionary_decode(), type)
    if isinstance(array.type, pa.TimestampType) and array.type.unit == "ns":
        return build(np.floor_divide(physical(array), _NANOS), nulls(array), pa.timestamp("us", array.type.tz)).cast(
            type
        )
    if isinstance(array.type, pa.DurationType) and array.type.unit == "ns":
        return pc.cast(array, type, safe=False)
    return array.cast(type)
