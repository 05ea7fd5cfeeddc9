"""Values of a key that so many rows have that one cell would have to take them all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from eddy.codes import encode
from eddy.errors import QueryError, unknown
from eddy.spark.attributes import Attribute
from eddy.spark.dimension import Heavy


def heavy_values(groups: Sequence[Sequence[Attribute]], given: Mapping[str, Sequence[Any]]) -> list[tuple[Heavy, ...]]:
    """The heavy values of each group of attributes, from those given for keys such as "a.k"."""
    known = [name for group in groups for attribute in group for name in attribute.names.values()]
    for key in given:
        if key not in known:
            raise unknown("key", key, known, where="heavy")
    return [tuple(_of_group(group, given)) for group in groups]


def _of_group(group: Sequence[Attribute], given: Mapping[str, Sequence[Any]]) -> list[Heavy]:
    found = []
    for position, attribute in enumerate(group):
        taken: dict[int, str] = {}
        for stream, key in attribute.names.items():
            codes = _codes(key, given.get(key, ()), attribute.type)
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
