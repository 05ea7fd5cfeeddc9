"""What random statements are made of: inputs, expressions, and the rows that they are about.

What is left out, and why:

* brackets and functions in Python: Spark has none;
* rows without an event time: Spark keeps one where nothing asks for its time, and here it is in no answer;
* late rows, but in joins of two streams where nothing else drops rows: each operator of Spark's drops by a watermark of
  its own, and a row at the watermark is late there and on time here. The late ones are late by two micro-batches;
* the time of the first of three streams behind its join: Spark joins on with one event time only;
* sums of floats and whatever else depends on the order of rows: a micro-batch has none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import pyarrow as pa

from tests.eddy.sql import generator
from tests.eddy.sql.rows import TABLE

SECOND = 1_000_000
DAY = 1_704_067_200 * SECOND
END = 1_000_000
"""The second of the rows that close all groups before them."""

STREAMS = {"orders": "order no", "Clicks": "click", "pays": "paid"}
TABLES = {"users": "uid", "banned": "bid"}
"""The views, each with the column that no other has: the number of a row."""

TIME, KEY, LENGTH = "at", "key", "v"
LETTERS = "btijlfdmnsukzxav"
"""The columns of `rows.TABLE` that expressions are made of, which every view has."""

KEYS = (0, 1, 2, None)
STEP, SPREAD, MOST, BATCHES = 20, 35, 6, 3
"""Seconds from a micro-batch to the next, and those over which its rows are spread; rows at most; micro-batches."""

ALIKE = [*zip("isfmzbltak", "judnzbijak", strict=True)]
"""Pairs of columns that are compared."""

COLUMNS = re.compile(r"'(?:[^'\\]|\\.)*'|\b[a-z]\b")
"""A text, which stays as it is, or a column in an expression of the generator's."""


class Row(NamedTuple):
    """A row: its second, its key, and the row of `rows.TABLE` that all else is from."""

    second: int
    key: int | None
    source: int


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input of a statement, with its columns as the statement sees them."""

    alias: str
    view: str
    shown: Mapping[str, str]
    delay: int | None = None

    @property
    def is_stream(self) -> bool:
        return self.view in STREAMS

    @property
    def own(self) -> str:
        """The column that no other view has."""
        return (STREAMS | TABLES)[self.view]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A statement, and the rows that it is about.

    `told` are the delays of streams where the views say them, and not the text. Groups by the newest time are none of
    Spark's in a stream: `joined` gives the rows that they are made of, and `grouped` makes them. `named` says whether
    all columns are called by the text.
    """

    text: str
    kind: str
    feeds: Mapping[str, Sequence[Sequence[Row]]]
    tables: Mapping[str, Sequence[Row]]
    told: Mapping[str, int] = field(default_factory=dict)
    joined: str = ""
    grouped: str = ""
    named: bool = True


def make_table(view: str, rows: Sequence[Row], first: int = 0) -> pa.Table:
    """Rows as a view has them; lengths of time are numbers, since files have no other."""
    found = TABLE.select(list(LETTERS)).take(pa.array([row.source for row in rows], pa.int64()))
    found = found.set_column(found.schema.get_field_index(LENGTH), LENGTH, found[LENGTH].cast(pa.int64()))
    times = pa.array([DAY + row.second * SECOND for row in rows], pa.timestamp("us", "UTC"))
    numbers = pa.array(range(first, first + len(rows)), pa.int64())
    found = found.append_column(TIME, times).append_column(KEY, pa.array([row.key for row in rows], pa.int32()))
    return found.append_column((STREAMS | TABLES)[view], numbers)


def list_columns(view: str) -> list[str]:
    """The columns of a view."""
    return [*LETTERS, TIME, KEY, (STREAMS | TABLES)[view]]


class Writer:
    """Writes names and words in any of the ways in which they mean the same."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.case = random.choice([str.upper, str.lower, str.title])

    def often(self, share: float) -> bool:
        return self.random.random() < share

    def word(self, text: str) -> str:
        return self.case(text)

    def space(self) -> str:
        return self.random.choice([" ", " ", "\n  ", "\n", " /* , FROM x */ ", " -- it's\n"])

    def name(self, name: str) -> str:
        if not name.isidentifier() or self.often(0.1):
            return f"`{name}`"
        return self.random.choice([name, name, name, name.upper(), name.swapcase()])

    def seconds(self, least: int = 0, most: int = 25) -> str:
        count = self.random.randint(least, most)
        texts = [f"INTERVAL {count} SECONDS", f"interval '{count}' second", f"Interval {count * 1000} milliseconds"]
        return self.random.choice(texts)


class Expressions:
    """Writes conditions and values over inputs, whose columns are called as `call` does."""

    def __init__(self, writer: Writer, call: Callable[[Input, str], str]) -> None:
        self.writer, self.random, self.call = writer, writer.random, call

    def make(self, one: Input, kind: str = "condition") -> str:
        """An expression with a column of an input in it."""
        text = generator.make(self.random, kind, self.random.randint(1, 2))
        while not any(len(found) == 1 for found in COLUMNS.findall(text)):
            text = generator.make(self.random, kind, self.random.randint(1, 2))
        return COLUMNS.sub(lambda found: found[0] if found[0][0] == "'" else self.call(one, found[0]), text)

    def equal(self, one: Input, other: Input, *, by_key: bool = False) -> str:
        """An equality, mostly one that some rows satisfy."""
        left, right = KEY, KEY
        if not by_key and self.writer.often(0.35):
            left, right = self.random.choice(ALIKE)
        sides = [self.call(one, left), self.call(other, right)]
        if (left, right) == (KEY, KEY) and not by_key and self.writer.often(0.2):
            sides[0] = self.random.choice(["abs({})", "({} + 1)", "cast({} as double)"]).format(sides[0])
        self.random.shuffle(sides)
        return f" {self.random.choice(['=', '=', '=', '==', '<=>'])} ".join(sides)

    def between(self, one: Input, other: Input) -> str:
        """A condition on two inputs that is no equality."""
        left, right = self.random.choice(ALIKE)
        if self.writer.often(0.5):
            sign = self.random.choice(["<", "<=", ">", ">=", "<>", "!="])
            return f"{self.call(one, left)} {sign} {self.call(other, right)}"
        return f"({self.make(one)} {self.writer.word('or')} {self.make(other)})"

    def bound(self, one: Input, other: Input) -> list[str]:
        """Conditions that bound the times of two streams, in both directions."""
        a, b = self.call(one, TIME), self.call(other, TIME)
        seconds = self.writer.seconds
        forms = [
            [f"{b} {self.writer.word('between')} {a} - {seconds()} {self.writer.word('and')} {a} + {seconds()}"],
            [f"{b} >= {a} - {seconds()}", f"{a} + {seconds()} >= {b}"],
            [f"{a} <= {b} + {seconds()}", f"{b} <= {a} + {seconds()}"],
            [f"{b} > {a}", f"{b} < {a} + {seconds(2)}"],
            [f"{a} = {b}"],
        ]
        return self.random.choice(forms)

    def loose(self, one: Input, other: Input) -> list[str]:
        """Conditions on times that Spark need not find a bound in, or none."""
        a, b = self.call(one, TIME), self.call(other, TIME)
        forms = [[], [f"{b} >= {a} - {self.writer.seconds()}"], [f"abs({a} - {b}) <= {self.writer.seconds()}"]]
        return self.random.choice([self.bound(one, other), *forms])


class Rows:
    """Draws rows that are on time, and late ones where they are asked for."""

    def __init__(self, random: Random, inputs: Sequence[Input], *, late: bool, closing: bool) -> None:
        self.random, self.inputs, self.late, self.closing = random, inputs, late, closing

    def feeds(self) -> dict[str, list[list[Row]]]:
        """The micro-batches of each stream."""
        views = {one.view: None for one in self.inputs if one.is_stream}
        found: dict[str, list[list[Row]]] = {view: [] for view in views}
        for number in range(BATCHES):
            drawn = {view: self._batch(found, number) for view in views}
            for view, rows in drawn.items():
                found[view].append(rows)
        if self.closing:
            for view in views:
                found[view].append(self._last())
        return found

    def _batch(self, before: Mapping[str, Sequence[Sequence[Row]]], number: int) -> list[Row]:
        first = max(number * STEP, self._watermark(before) + 1)
        rows = [self._row(first, number * STEP + SPREAD) for _ in range(self.random.randint(0, MOST))]
        # Spark drops by the watermark of the micro-batch before. What has no key it drops before it looks at the time.
        known = {view: [[row for row in rows if row.key is not None] for rows in past] for view, past in before.items()}
        old = self._watermark({view: past[:-1] for view, past in known.items()})
        if self.late and old > 0:
            rows += [self._row(old - 30, old - 1) for _ in range(2)]
        return rows

    def _row(self, first: int, last: int) -> Row:
        key = self.random.choice((*KEYS, *KEYS[:2]))
        return Row(self.random.randint(first, last), key, self.random.randrange(TABLE.num_rows))

    def _last(self) -> list[Row]:
        """Rows of every kind, so that some pass each filter; none is near another."""
        kinds = [(key, index) for key in KEYS for index in range(TABLE.num_rows)]
        return [Row(END + self.random.randrange(END), key, index) for key, index in kinds]

    def _watermark(self, before: Mapping[str, Sequence[Sequence[Row]]]) -> int:
        """The second from which rows are on time: far below all where there is none yet."""
        found = []
        for one in self.inputs:
            seconds = [row.second for rows in before.get(one.view, ()) for row in rows]
            if one.is_stream:
                found.append(max(seconds) - (one.delay or 0) if seconds else -END)
        return min(found)

    def table(self) -> list[Row]:
        return [self._row(0, 60) for _ in range(self.random.randint(0, 5))]


def list_owners(inputs: Sequence[Input]) -> Counter[str]:
    """How many inputs have a column, by its name in small letters."""
    return Counter(name.lower() for one in inputs for name in one.shown.values())
