"""The naive answer: nested loops over rows, and no code of the engine.

`answer` is the meaning of a query as design says it, as plainly as it can be written down: it decides which rows
are late, forms every combination of rows, and asks each condition of each combination. Rows are dicts of Python
values; conditions are Python functions of a combination, which is a dict from input to row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from itertools import product
from typing import Any

Row = Mapping[str, Any]
Combination = Mapping[str, Row]
Condition = Callable[[Combination], bool | None]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A stream: its event time, its window, how late its rows may be, and how far after `arrived` their time.

    Of a window of rows, `by` are the columns whose values have one each.
    """

    time: str
    span: float | None = None
    rows: int | None = None
    by: Sequence[str] = ()
    delay: float | None = None
    max_ahead: float | None = None
    arrived: str | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """A query in the words of this file."""

    streams: Mapping[str, Source]
    conditions: Sequence[Condition]
    select: Sequence[tuple[str, str]]
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    emit: str = "begin"
    every: float | None = None
    whole: bool = True
    """When a combination is told: at its "begin", at its "end", or at each "tick", which are `every` so long; and
    whether times are whole numbers, to which lengths are cut down then."""
    on_error: Mapping[int, str] = field(default_factory=dict)
    """What becomes of a combination for which the n-th condition has no answer: "fail" where nothing is said."""


@dataclass(frozen=True)
class _Arrival:
    time: Any
    order: tuple[Any, ...]
    row: Row


class NoAnswer(Exception):
    """A condition has no answer for a combination."""


FAILS = Counter({("fails",): 1})
"""In the place of an answer: a combination lacks an answer of some condition, and passes everything else."""


Force = Callable[[int, Mapping[str, int]], bool]
"""Whether the n-th condition is asked of a combination, whose rows came in these micro-batches."""


def answer(
    question: Question, batches: Sequence[Mapping[str, Sequence[Row]]], in_force: Force | None = None
) -> Counter[tuple[Any, ...]]:
    """Every combination that is an answer, as a multiset of the selected values; or `FAILS`."""
    arrived = _arrivals(question, batches)
    names = [*question.streams, *question.tables]
    rows: list[Sequence[Any]] = [arrived[name] for name in question.streams]
    rows += [question.tables[name] for name in question.tables]
    found: Counter[tuple[Any, ...]] = Counter()
    for parts in product(*rows):
        combination = {
            name: part.row if name in question.streams else part for name, part in zip(names, parts, strict=True)
        }
        streams = {name: part for name, part in zip(names, parts, strict=True) if name in question.streams}
        came = {name: part.order[0] for name, part in streams.items()}
        asked = None if in_force is None else [n for n in range(len(question.conditions)) if in_force(n, came)]
        said = _said(question, combination, asked) if _inside(question, streams, arrived) else "drop"
        if said == "fail":
            return FAILS
        if said == "keep":
            values = tuple(plain(combination[name][column]) for name, column in question.select)
            for moment in _told(question, streams, arrived, batches):
                found[(*values, *moment)] += 1
    return found


def _told(
    question: Question,
    streams: Mapping[str, _Arrival],
    arrived: Mapping[str, list[_Arrival]],
    batches: Sequence[Mapping[str, Sequence[Row]]],
) -> list[tuple[Any, ...]]:
    """When a combination is told, as far as all is known of the time: the watermark has passed it."""
    if question.emit == "begin":
        return [()]
    last, outrun = _ends(question, streams, arrived)
    known = _watermark(question, _newest(question, batches))
    if known is None:
        return []
    if question.emit == "end":
        return [(_moment(question, min(last, outrun)),)] if min(last, outrun) < known else []
    assert question.every is not None
    begin = max(arrival.time for arrival in streams.values())
    number = math.ceil(Fraction(begin) / Fraction(question.every)) - 1
    found: list[tuple[Any, ...]] = []
    while (tick := number * question.every) <= last and tick < outrun and tick < known:
        if tick >= begin:
            found.append((_moment(question, tick),))
        number += 1
    return found


def _ends(
    question: Question, streams: Mapping[str, _Arrival], arrived: Mapping[str, list[_Arrival]]
) -> tuple[float, float]:
    """The last time at which a combination is there by its windows, and that at which a newer row has taken a place."""
    begin = max(arrival.time for arrival in streams.values())
    last, outrun = math.inf, math.inf
    for name, arrival in streams.items():
        source = question.streams[name]
        if source.span is not None:
            length = math.floor(source.span) if question.whole else source.span
            last = min(last, max(begin, arrival.time + length))
        newer = [o for o in arrived[name] if o.order > arrival.order and _alike(arrival.row, o.row, source.by)]
        if source.rows is not None and len(newer) >= source.rows:
            outrun = min(outrun, max(begin, newer[source.rows - 1].time))
    return last, outrun


def _moment(question: Question, time: Any) -> Any:
    """A time as the answer has it; a nought has no sign."""
    return time if question.whole else plain(float(time) + 0.0)


def _newest(question: Question, batches: Sequence[Mapping[str, Sequence[Row]]]) -> dict[str, Any]:
    """The newest time of every stream that has shown one, late rows included."""
    newest: dict[str, Any] = {}
    for batch in batches:
        for name, source in question.streams.items():
            times = [_tick(row[source.time]) for row in batch[name] if not _is_ahead(source, row)]
            for time in times:
                if time is not None:
                    newest[name] = max(time, newest.get(name, time))
    return newest


def _said(question: Question, combination: Combination, asked: Collection[int] | None = None) -> str:
    """Whether a combination is kept, dropped, or fails the query: by all conditions, and in no order of them."""
    said = set()
    for number, condition in enumerate(question.conditions):
        if asked is not None and number not in asked:
            continue
        try:
            said.add("keep" if condition(combination) else "drop")
        except NoAnswer:
            said.add(question.on_error.get(number, "fail"))
    return "drop" if "drop" in said else "fail" if "fail" in said else "keep"


def exists(table: str, rows: Sequence[Row], conditions: Sequence[Condition], *, wanted: bool) -> Condition:
    """The condition that a table has a row for which all conditions are true, or has none, as is wanted.

    It has no answer if no row does for sure, and one may.
    """

    def ask(combination: Combination) -> bool:
        said = [_said_of(conditions, {**combination, table: row}) for row in rows]
        if "keep" not in said and "fail" in said:
            raise NoAnswer
        return ("keep" in said) == wanted

    return ask


def _said_of(conditions: Sequence[Condition], combination: Combination) -> str:
    return _said(Question(streams={}, conditions=conditions, select=[]), combination)


def late_rows(question: Question, batches: Sequence[Mapping[str, Sequence[Row]]]) -> int:
    """How many rows with an event time are not part of the answer because they came too late."""
    timed = sum(_tick(row[s.time]) is not None for b in batches for n, s in question.streams.items() for row in b[n])
    return timed - ahead_rows(question, batches) - sum(map(len, _arrivals(question, batches).values()))


def ahead_rows(question: Question, batches: Sequence[Mapping[str, Sequence[Row]]]) -> int:
    """How many rows are not part of the answer because their clock runs ahead."""
    return sum(_is_ahead(s, row) for b in batches for n, s in question.streams.items() for row in b[n])


def _is_ahead(source: Source, row: Row) -> bool:
    """The row happened more than `max_ahead` after it arrived, as far as both times are known."""
    if source.max_ahead is None or source.arrived is None:
        return False
    time, arrived = _tick(row[source.time]), _tick(row[source.arrived])
    return time is not None and arrived is not None and time - arrived > source.max_ahead


def _arrivals(question: Question, batches: Sequence[Mapping[str, Sequence[Row]]]) -> dict[str, list[_Arrival]]:
    """The rows that are on time, with the order in which they arrive."""
    arrived: dict[str, list[_Arrival]] = {name: [] for name in question.streams}
    newest: dict[str, Any] = {}
    for number, batch in enumerate(batches):
        watermark = _watermark(question, newest)
        seen = dict(newest)
        for place, (name, source) in enumerate(question.streams.items()):
            for position, row in enumerate(batch[name]):
                time = _tick(row[source.time])
                if time is None or _is_ahead(source, row):
                    continue
                if watermark is None or time >= watermark:
                    arrived[name].append(_Arrival(time, (number, time, place, position), row))
                seen[name] = max(time, seen.get(name, time))
        newest = seen
    for rows in arrived.values():
        rows.sort(key=lambda arrival: arrival.order)
    return arrived


def _watermark(question: Question, newest: Mapping[str, Any]) -> Any:
    if set(newest) != set(question.streams) or any(source.delay is None for source in question.streams.values()):
        return None
    return min(_minus(newest[name], source.delay) for name, source in question.streams.items())


def _minus(time: Any, delay: Any) -> Any:
    """A whole time less a float is no float: the difference would be rounded."""
    return time - Fraction(delay) if isinstance(time, int) else time - delay


def _inside(question: Question, streams: Mapping[str, _Arrival], arrived: Mapping[str, list[_Arrival]]) -> bool:
    latest = max(arrival.time for arrival in streams.values())
    last = max(arrival.order for arrival in streams.values())
    for name, arrival in streams.items():
        source = question.streams[name]
        if source.span is not None and latest - arrival.time > source.span:
            return False
        if source.rows is not None and arrival.order != last:
            newer = [
                other
                for other in arrived[name]
                if arrival.order < other.order < last and _alike(arrival.row, other.row, source.by)
            ]
            if len(newer) >= source.rows:
                return False
    return True


def _alike(one: Row, other: Row, columns: Sequence[str]) -> bool:
    """Whether two rows have the same values: null is one, and so is what is no number."""
    pairs = [(one[column], other[column]) for column in columns]
    return all(a == b or (a != a and b != b) for a, b in pairs)  # noqa: PLR0124


def _tick(value: Any) -> Any:
    """An event time as a number; None where there is none."""
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        passed = aware - datetime(1970, 1, 1, tzinfo=UTC)
        return (passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds
    return None if value is None or (isinstance(value, float) and math.isnan(value)) else value


def plain(value: Any) -> Any:
    """A value that can be compared and hashed: NaN is itself, and -0.0 is not 0.0."""
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list | dict | bytearray):
        return repr(value)
    return value


def same(left: Any, right: Any) -> bool | None:
    """Spark's `=`: null when either is null, and NaN is NaN."""
    if left is None or right is None:
        return None
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left) and math.isnan(right):
        return True
    return bool(left == right)


def before(left: Any, right: Any) -> bool | None:
    """Spark's `<`: null when either is null, and NaN is larger than any number."""
    if left is None or right is None:
        return None
    if isinstance(left, float) and math.isnan(left):
        return False
    if isinstance(right, float) and math.isnan(right):
        return True
    if isinstance(left, str) and isinstance(right, str):
        return left.encode() < right.encode()
    return bool(left < right)
