"""One direction of the grid of cells, and its heavy values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from eddy.errors import QueryError, unknown_name
from eddy.spark.layout.join_keys import JoinKey
from eddy.tuples.codes import encode


@dataclass(frozen=True, kw_only=True)
class Heavy:
    """Values of so many rows that the rows are divided.

    The other streams' rows with such a value are copied along the dimension. `position` says which of the dimension's
    keys it is; the values stand as codes.
    """

    stream: str
    position: int
    codes: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One direction of the grid of cells, and its dividers.

    `keys` has for a stream that is divided the SQL of its values, each converted to the type in which they are
    compared; without any, it is divided by its rows. Streams that are not in it are copied. Of several `heavy` that a
    row matches, the first counts.
    """

    text: str
    share: int
    keys: Mapping[str, tuple[str, ...]]
    heavy: tuple[Heavy, ...] = ()


def find_heavy(groups: Sequence[Sequence[JoinKey]], given: Mapping[str, Sequence[Any]]) -> list[tuple[Heavy, ...]]:
    """Find the heavy values of each group of attributes.

    They are given for keys such as "a.k".
    """
    known = [name for group in groups for attribute in group for name in attribute.names.values()]
    for key in given:
        if key not in known:
            raise unknown_name("key", key, known, where="heavy")
    return [tuple(_find_in_group(group, given)) for group in groups]


def _find_in_group(group: Sequence[JoinKey], given: Mapping[str, Sequence[Any]]) -> list[Heavy]:
    found = []
    for position, attribute in enumerate(group):
        taken: dict[int, str] = {}
        for stream, key in attribute.names.items():
            codes = _codes(key, given.get(key, ()), attribute.type)
            # Both streams' rows with the value would be divided, and would not meet.
            twice = [taken[code] for code in codes if code in taken]
            if twice:
                raise QueryError(
                    f'heavy: "{key}" and "{twice[0]}" are one join key and name one value; '
                    "name it at the stream with more rows of it, those of the other are copied"
                )
            taken |= dict.fromkeys(codes, key)
            if codes:
                found.append(Heavy(stream=stream, position=position, codes=codes))
    return found


def _codes(key: str, values: Sequence[Any], data_type: pa.DataType) -> tuple[int, ...]:
    try:
        array = pa.array(list(values), data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise QueryError(
            f'heavy: "{key}": expected values that are compared as {data_type}, got {values!r}: {error}'
        ) from error
    codes, _ = encode(array.drop_null())
    return tuple(dict.fromkeys(codes.tolist()))
