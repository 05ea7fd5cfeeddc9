"""Long lists of plain values, taken out of the JSON of a state: as bytes they take a third of the room, and less time.

Where one stood, the JSON says what it is made of, where its bytes begin and how many values or bytes there are:

    {"codes": [1, 2, 3, ...]}   ->   {"codes": {"#": ["<i2", 640, 1000]}}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.tuples.packed import Packed, pack_rows

MARK = "#"
"""The key of the mapping that stands for a list. One of the state's own with this key is written as {"#": [it]}."""

LEAST = 24
"""Values from which on a list is long: what stands for one takes as much JSON as a dozen small numbers."""

TEXTS = "texts"
WHOLE = ("<i1", "<i2", "<i4", "<i8")
FRACTIONS, TRUTHS = "<f8", "|b1"
"""What a list may be made of: texts, which are bytes of JSON, whole numbers of a size, other numbers, or truths."""


def take_out(value: Any) -> tuple[Any, Packed | None]:
    """Take long lists out of plain values; gives what is left, and the lists if there are any.

    >>> left, lists = take_out({"a": [*range(1_000)], "b": [1, 2]})
    >>> left
    {'a': {'#': ['<i2', 0, 1000]}, 'b': [1, 2]}
    >>> put_back(left, lists)["a"][-1]
    999
    """
    found: list[bytes] = []
    left = _Taker(found).take(value)
    if not found:
        return left, None
    whole = np.frombuffer(b"".join(found), np.uint8)
    return left, pack_rows(pa.record_batch({"bytes": pa.array(whole)}))


def put_back(value: Any, lists: Packed | None) -> Any:
    """Put long lists back where they were."""
    data = b"" if lists is None else lists.read().column("bytes").to_numpy().tobytes()
    return _put_back(value, data)


class _Taker:
    """Walks through plain values, and gathers the bytes of long lists."""

    def __init__(self, found: list[bytes]) -> None:
        self._found = found
        self._end = 0

    def take(self, value: Any) -> Any:
        if isinstance(value, dict):
            left = {key: self.take(part) for key, part in value.items()}
            return {MARK: [left]} if MARK in left else left
        if not isinstance(value, list | tuple):
            return value
        if len(value) >= LEAST and (written := _write(value)) is not None:
            kind, data = written
            begin, self._end = self._end, self._end + len(data)
            self._found.append(data)
            return {MARK: [kind, begin, len(data) if kind == TEXTS else len(value)]}
        return [self.take(part) for part in value]


def _write(values: Sequence[Any]) -> tuple[str, bytes] | None:
    """Write a list as bytes, if all its values are of one kind; only what comes back as it was."""
    kinds = set(map(type, values))
    if kinds in ({float}, {bool}):
        kind = FRACTIONS if kinds == {float} else TRUTHS
        return kind, np.array(values, kind).tobytes()
    if kinds == {str}:
        return TEXTS, json.dumps(values, separators=(",", ":")).encode()
    if kinds != {int}:
        return None
    least, most = min(values), max(values)
    for kind in WHOLE:
        limits = np.iinfo(kind)
        if limits.min <= least and most <= limits.max:
            return kind, np.array(values, kind).tobytes()
    return None


def _put_back(value: Any, data: bytes) -> Any:
    if isinstance(value, list):
        return [_put_back(part, data) for part in value]
    if not isinstance(value, dict):
        return value
    if MARK in value:
        marked = value[MARK]
        if len(marked) > 1:
            kind, begin, count = marked
            return _read(kind, begin, count, data)
        value = marked[0]
    return {key: _put_back(part, data) for key, part in value.items()}


def _read(kind: str, begin: int, count: int, data: bytes) -> list[Any]:
    """Read a list that `_write` has written."""
    if kind not in (TEXTS, FRACTIONS, TRUTHS, *WHOLE):
        raise ValueError(f"expected a list of numbers, truths or texts, got one of {kind!r}")
    size = 1 if kind == TEXTS else np.dtype(kind).itemsize
    if not 0 <= begin <= begin + count * size <= len(data):
        raise ValueError(f"expected a list within {len(data)} bytes, got {count} values from {begin}")
    part = data[begin : begin + count * size]
    values: list[Any] = json.loads(part) if kind == TEXTS else np.frombuffer(part, kind).tolist()
    return values
