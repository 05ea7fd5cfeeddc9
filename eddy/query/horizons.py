"""How long a stored row can still be met, by windows and by conditions on times.

A condition such as `c.at <= o.at + INTERVAL 5 MINUTES` bounds how much later one time is than another. Bounds along a
path add up: what binds a to b and b to c binds a to c. Rows that arrive are not older than the watermark. So a row of a
stream may leave once the watermark has passed its time by the widest of the bounds of the other streams:

    c.at <= o.at + 5 minutes, o.at <= c.at     a row of o waits for 5 minutes, one of c until the watermark has come
                                               to it: no later order joins it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from eddy.query.inputs import Range
from eddy.query.query import Query
from eddy.sql import Column, Expression
from eddy.sql.values.calendar import DAY
from eddy.tuples import event_time

CLOCK_CHANGE = DAY // 12
"""Microseconds by which a day may be shorter or longer where clocks change; shorter intervals are exact."""

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The same comparison with its sides exchanged."""


class Difference(NamedTuple):
    """A bound: one column's value is later than another's by so much at most, which may be less than nothing."""

    later: Column
    earlier: Column
    most: int | float


class Horizon(NamedTuple):
    """How far the watermark passes a row's time until no row that is on time can meet it, and why."""

    ticks: int | float
    because: tuple[str, ...]


class _Path(NamedTuple):
    """A bound along a path, with the texts of what it follows from."""

    most: int | float
    because: tuple[str, ...] = ()


Bounds = dict[tuple[Column, Column], _Path]
"""By how much the second of two columns may be later than the first."""


def find_horizons(query: Query, types: Mapping[Column, pa.DataType] | None = None) -> dict[str, Horizon]:
    """Find the horizon of each stream that has one.

    Without types the clocks of the streams are taken for what their delays and windows say, and other columns bound
    nothing.

    >>> from eddy.query import Stream
    >>> streams = [Stream("o", time="at", delay=0), Stream("c", time="at", delay=0)]
    >>> found = find_horizons(Query(streams=streams, joins=["c.at BETWEEN o.at AND o.at + 5"]))
    >>> found["o"]
    Horizon(ticks=5, because=('c.at BETWEEN o.at AND o.at + 5',))
    >>> found["c"].ticks
    0
    """
    clocks = {stream.name: Column(stream.name, stream.time) for stream in query.streams if stream.time is not None}
    if len(clocks) < len(query.streams) or len(clocks) == 1:
        return {}
    windows = _list_windows(query, clocks)
    closed = _close(_list_bounds(query, types or _guess_types(query, clocks), windows))
    if any(one == other and path.most < 0 for (one, other), path in closed.items()):
        # Nothing satisfies them all: rows leave by their windows, as if nothing else were known.
        closed = windows
    found = {}
    for name, own in clocks.items():
        others = [closed.get((own, other)) for other in clocks.values() if other != own]
        paths = [path for path in others if path is not None]
        if len(paths) == len(others):
            widest = max(paths, key=lambda path: path.most)
            found[name] = Horizon(widest.most, widest.because)
    return found


def find_differences(predicate: Expression, types: Mapping[Column, pa.DataType]) -> Iterator[Difference]:
    """Find the bounds that a condition sets to the difference of two columns.

    >>> from eddy.sql import parse
    >>> types = {Column("a", "t"): pa.int64(), Column("b", "t"): pa.int64()}
    >>> [(str(d.later), d.most) for d in find_differences(parse("abs(a.t - b.t) < 10", where="join"), types)]
    [('a.t', 9), ('b.t', 9)]
    """
    compared = predicate.comparison()
    if compared is None or compared.op not in MIRRORED:
        return
    left, op, right = compared.left, compared.op, compared.right
    if right.inside_absolute() is not None:
        left, op, right = right, MIRRORED[op], left
    inside = left.inside_absolute()
    if inside is not None:
        if op in ("<", "<=", "=") and not right.columns:
            yield from _compare(inside, "<" if op == "<" else "<=", right, types)
            yield from _compare(inside, ">" if op == "<" else ">=", right, types, sign=-1)
        return
    yield from _compare(left, op, right, types)


def _compare(
    left: Expression, op: str, right: Expression, types: Mapping[Column, pa.DataType], sign: int = 1
) -> Iterator[Difference]:
    """Find what a comparison says, with the right side taken `sign` times."""
    sides = [side.signed_columns() for side in (left, right)]
    if sides[0] is None or sides[1] is None:
        return
    signed = [*sides[0], *((-sign, column) for sign, column in sides[1])]
    if sorted(sign for sign, _ in signed) != [-1, 1]:
        return
    (_, behind), (_, ahead) = sorted(signed, key=lambda one: one[0])
    if not (ahead in types and behind in types and _are_alike(types[ahead], types[behind])):
        return
    shifts = [_find_shift(side, types) for side in (left, right)]
    if shifts[0] is None or shifts[1] is None:
        return
    # left + its shift  op  right + its shift:   ahead - behind  op  most
    most = sign * shifts[1] - shifts[0]
    slack = CLOCK_CHANGE if max(abs(shifts[0]), abs(shifts[1])) >= DAY and _is_zoned(types[ahead]) else 0
    strict = 1 if op in ("<", ">") else 0
    if op in ("<", "<=", "="):
        yield Difference(ahead, behind, most - strict + slack)
    if op in (">", ">=", "="):
        yield Difference(behind, ahead, -most - strict + slack)


def _find_shift(side: Expression, types: Mapping[Column, pa.DataType]) -> int | None:
    """Find the constant that a side adds to its columns; None if it is no whole number.

    It is the same for all values, so it is computed for one of them, where each column is nought.
    """
    if side.as_column() is not None:
        return 0
    moments = {column: _make_nought(types[column]) for column in side.columns}
    value = side.bind(types).evaluate(moments, 1)
    if pa.types.is_duration(value.type):
        value = value.cast(pa.int64())
    if not (pa.types.is_timestamp(value.type) or pa.types.is_integer(value.type)) or value.null_count:
        return None
    (shift,) = event_time.read_ticks(value, np.int64)[0].tolist()
    return int(shift)


def _make_nought(data_type: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(data_type):
        return pa.array([0], pa.timestamp("us", data_type.tz)).cast(data_type)
    return pa.array([0], data_type)


def _are_alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Tell whether two columns are compared as whole numbers of one unit, without a zone between them."""
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other):
        return _is_zoned(one) == _is_zoned(other)
    return bool(pa.types.is_integer(one) and pa.types.is_integer(other))


def _is_wide(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(data_type) or pa.types.is_int64(data_type))


def _is_zoned(data_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(data_type) and data_type.tz is not None


def _list_windows(query: Query, clocks: Mapping[str, Column]) -> Bounds:
    """List what windows say: a row of another stream is later by the window at most."""
    found: Bounds = {}
    for stream in query.streams:
        if isinstance(stream.window, Range):
            for name, other in clocks.items():
                if name != stream.name:
                    found[clocks[stream.name], other] = _Path(stream.window.ticks)
    return found


def _list_bounds(query: Query, types: Mapping[Column, pa.DataType], windows: Bounds) -> Bounds:
    """List what windows and conditions say; the narrower bound counts."""
    found = dict(windows)
    for predicate in query.predicates:
        for later, earlier, most in find_differences(predicate, types):
            # Narrow numbers may overflow where a constant is added: such a row is an error, and must stay to be one.
            if _is_wide(types[later]) and _is_wide(types[earlier]):
                _tighten(found, (earlier, later), _Path(most, (predicate.text,)))
    return found


def _guess_types(query: Query, clocks: Mapping[str, Column]) -> dict[Column, pa.DataType]:
    """Take a clock for what the query says of it: durations measure timestamps, and numbers whole numbers."""
    lengths = [
        length
        for stream in query.streams
        for length in (stream.delay, stream.window.length if isinstance(stream.window, Range) else None)
        if length is not None
    ]
    is_number = any(not isinstance(length, str) for length in lengths)
    data_type = pa.int64() if is_number else pa.timestamp("us", "UTC")
    return dict.fromkeys(clocks.values(), data_type)


def _tighten(bounds: Bounds, ends: tuple[Column, Column], path: _Path) -> None:
    known = bounds.get(ends)
    if known is None or path.most < known.most:
        bounds[ends] = path


def _close(bounds: Bounds) -> Bounds:
    """Add up bounds along all paths, as Floyd and Warshall do."""
    closed = dict(bounds)
    columns = dict.fromkeys(column for ends in bounds for column in ends)
    for middle, start, end in product(columns, repeat=3):
        first, second = closed.get((start, middle)), closed.get((middle, end))
        if first is not None and second is not None:
            because = tuple(dict.fromkeys((*first.because, *second.because)))
            _tighten(closed, (start, end), _Path(first.most + second.most, because))
    return closed
