"""A filter's answers by the values of its columns, for functions that are asked about the same values again and again.

It is for functions whose answer depends on the row's values alone; every filter must judge each row by itself, and
what refers to something outside has to stay without. Only answers are kept: a value for which the function raises is
asked about again. Nothing of it is part of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress, repeat

import numpy as np
import pyarrow as pa

from eddy.predicates.row_errors import RowErrors
from eddy.tuples.arrays import Mask, RowIds
from eddy.tuples.values import Values

UNKNOWN = -1
"""Stands for a value that is not held."""

LEFT = 7 / 8
"""The share of the most values that are left once more came: few enough that it is done seldom, each time for all."""


class ValueCache:
    """At most so many values with their answers; those that were not asked for in the longest time go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        # By value: twice the number of the last call in which it came, and one more if it passes. So one look-up gives
        # the answer, and one update keeps a call's values and says that they are in use:
        #
        #     call 4   values [x y x]   held {x: 2*3+1, z: 2*1+0}   y is asked: no   ->   {x: 2*4+1, z: 2*1+0, y: 2*4+0}
        self._held: dict[Hashable, int] = {}
        self._call = 0
        self._reused = 0

    def __len__(self) -> int:
        return len(self._held)

    def take_reused(self) -> int:
        """Give the rows that were not asked about since somebody last wanted to know."""
        reused, self._reused = self._reused, 0
        return reused

    def ask(self, columns: Iterable[Values], rows: int, ask: Callable[[RowIds], Mask]) -> Mask:
        """Ask about the rows whose values are not held, one for each value; raises what `ask` raises."""
        keys = make_keys(columns)
        if keys is None:
            return ask(np.arange(rows))
        known = np.fromiter(map(self._held.get, keys, repeat(UNKNOWN)), np.int64, rows)
        missing = np.flatnonzero(known == UNKNOWN)
        passed: Mask = (known & 1).astype(np.bool_)
        errors = None
        if len(missing):
            asked, place_of = _find_distinct(keys, missing)
            try:
                answers = ask(asked)
            except RowErrors as found:
                answers, errors = found.passed, _spread(found, missing, place_of)
            passed[missing] = answers[place_of]
            self._reused += rows - len(asked)
        else:
            self._reused += rows
        self._keep(keys, passed, None if errors is None else errors.faulty)
        if errors is not None:
            raise RowErrors(passed, errors.faulty, errors.errors)
        return passed

    def _keep(self, keys: Sequence[Hashable], passed: Mask, faulty: RowIds | None) -> None:
        """Keep the answers of a call, and let go of the oldest."""
        self._call += 1
        told = (2 * self._call + passed).tolist()
        if faulty is None:
            self._held.update(zip(keys, told, strict=True))
        else:
            sound = np.ones(len(passed), np.bool_)
            sound[faulty] = False
            self._held.update(compress(zip(keys, told, strict=True), sound))
        if len(self._held) > self._most:
            calls = np.fromiter(self._held.values(), np.int64, len(self._held)) >> 1
            left = max(int(self._most * LEFT), 1)
            # In the order in which they came to be held, so that the same calls always leave the same values.
            newest = np.zeros(len(calls), np.bool_)
            newest[np.argsort(calls, kind="stable")[-left:]] = True
            self._held = dict(compress(self._held.items(), newest))


def make_keys(columns: Iterable[Values]) -> Sequence[Hashable] | None:
    """Make a key of each row's values: two rows have the same one only if no function can tell them apart.

    None stands for values that Python cannot have, such as a time after the year 9999 in a list.
    """
    try:
        parts = [_list_values(values) for values in columns]
    except (pa.ArrowException, ValueError, OverflowError, TypeError):
        return None
    return parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))


def _list_values(values: Values) -> Sequence[Hashable]:
    numbers = values.numbers()
    if numbers is None:
        return _list_arrow(values.arrow())
    # Bits, since 0.0 is equal to -0.0 and NaN not to itself.
    if numbers.dtype.kind in "fmM":
        numbers = numbers.view(f"i{numbers.dtype.itemsize}")
    found: list[Hashable] = numbers.tolist()
    return found


def _list_arrow(array: pa.Array) -> Sequence[Hashable]:
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        return _list_arrow(array.dictionary_decode())
    if pa.types.is_floating(kind) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind)):
        array = array.view(f"int{kind.bit_width}")
    found: list[Hashable] = array.to_pylist()
    is_plain = pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or _is_text(kind) or pa.types.is_null(kind)
    # Lists and dicts have no hash, and their texts tell them apart.
    return found if is_plain else list(map(repr, found))


def _is_text(kind: pa.DataType) -> bool:
    return any(is_kind(kind) for is_kind in TEXTS)


TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary),
)
"""The kinds of texts and bytes."""


def _find_distinct(keys: Sequence[Hashable], missing: RowIds) -> tuple[RowIds, RowIds]:
    """Find a row for each value that is missing, and for every missing row the place of its value among those."""
    wanted = list(map(keys.__getitem__, missing.tolist()))
    # The last row that is put down for a value stays, so the first one comes last.
    first = dict(zip(reversed(wanted), reversed(missing.tolist()), strict=True))
    asked = np.sort(np.fromiter(first.values(), np.int64, len(first)))
    return asked, np.searchsorted(asked, np.fromiter(map(first.__getitem__, wanted), np.int64, len(wanted)))


def _spread(found: RowErrors, missing: RowIds, place_of: RowIds) -> RowErrors:
    """Give every row the error of its value."""
    error_of = np.full(len(found.passed), UNKNOWN, np.int64)
    error_of[found.faulty] = np.arange(len(found.faulty))
    errors = error_of[place_of]
    at = np.flatnonzero(errors != UNKNOWN)
    return RowErrors(found.passed, missing[at], [found.errors[n] for n in errors[at].tolist()])
