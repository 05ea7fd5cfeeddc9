"""Groups of a random statement, by the time of one stream or by the newest of all."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from tests.statement_parts import KEY, LETTERS, TIME, Input

WINDOWS = ("'10 seconds'", "'10 seconds', '5 seconds'", "'20 seconds', '10 seconds', '3 seconds'")

COUNTS = (
    *("count(*)", "count({key})", "sum({own})", "min({own})", "max({s})", "avg({i})", "count_if({b})"),
    *("sum({own}) FILTER (WHERE {b})", "sort_array(collect_list({own}))", "max(IF({b}, {own}, 0))"),
    *("sum(CASE WHEN {b} THEN 1 ELSE 0 END)", "bit_xor({own})", "count(*) * 2 + sum({own})", "max(upper({u}))"),
)
"""Aggregates that do not depend on the order of rows."""

PARTS = ("{key}", "{s}", "{b}", "{key} % 2", "upper({s})", "{i} > 2", "coalesce({key}, -1)")
"""What groups are made by, besides their time."""

HAVINGS = ("count(*) > 1", "max({own}) % 2 = 0", "count({key}) < 4 AND sum({own}) > 3", "cnt > 1")

MARKED = re.compile("\0(\\d+):([^\0]+)\0")
"""The place of a column, which is called otherwise in the statement and over rows that are joined already."""

Call = Callable[[Input, str], str]


class Groups:
    """The columns and the GROUP BY of a statement; the first column, `w`, is the time."""

    def __init__(self, random: Random, inputs: Sequence[Input], kind: str, streams: Sequence[Input]) -> None:
        self.random, self.inputs = random, inputs
        newest = [self._mark(one, TIME) for one in streams]
        random.shuffle(newest)
        time = f"greatest({', '.join(newest)})" if kind == "newest" else self._mark(random.choice(streams), TIME)
        self.columns, self.tail = self._write_distinct(time) if kind == "distinct" else self._write(time, kind)

    def fill(self, text: str, call: Call) -> str:
        """Write the columns of a text."""
        return MARKED.sub(lambda found: call(self.inputs[int(found[1])], found[2]), text)

    def joined(self, call: Call) -> str:
        """The list of the columns that are read, for the rows that groups are made of."""
        return ", ".join(f"{call(one, base)} AS {self._name(one, base)}" for one, base in self._read())

    @property
    def grouped(self) -> str:
        """The same over rows that are joined already."""
        text = f"SELECT {self.columns} FROM {{joined}}{self.tail}"
        return self.fill(text, self._name)

    def _read(self) -> list[tuple[Input, str]]:
        found = dict.fromkeys((found[1], found[2]) for found in MARKED.finditer(self.columns + self.tail))
        return [(self.inputs[int(place)], base) for place, base in found]

    def _name(self, one: Input, base: str) -> str:
        return f"{one.alias}_{base.replace(' ', '_')}"

    def _mark(self, one: Input, base: str) -> str:
        return f"\0{self.inputs.index(one)}:{base}\0"

    def _about(self, template: str) -> str:
        """A template about some input."""
        one = self.random.choice(self.inputs)
        names = {letter: self._mark(one, letter) for letter in LETTERS}
        return template.format_map({**names, "key": self._mark(one, KEY), "own": self._mark(one, one.own)})

    def _write_distinct(self, time: str) -> tuple[str, str]:
        first = self.random.choice([time, f"window({time}, {self.random.choice(WINDOWS)})"])
        more = [f", {self._about(self.random.choice(PARTS))} AS d{n}" for n in range(self.random.randint(0, 2))]
        return f"DISTINCT {first} AS w{''.join(more)}", ""

    def _write(self, time: str, kind: str) -> tuple[str, str]:
        keys = [self._about(self.random.choice(PARTS)) for _ in range(self.random.randint(0, 2))]
        counts = [self._about(text) for text in self.random.sample(COUNTS, self.random.randint(1, 3))]
        form = self.random.choice(["start", "start", "alias", "place", "all", "time", "session"])
        first, by = f"window({time}, {self.random.choice(WINDOWS)})", ""
        if form == "time" and kind != "newest":
            first = by = time
        elif form == "session" and keys and kind != "newest":
            by = f"session_window({time}, '5 seconds')"
            first = "session_window.start"
        elif form == "start":
            first, by = "window.start", first
        group = [by, *keys] if by else ["w", *keys]
        if form == "place":
            group = [str(place + 1) for place in range(len(keys) + 1)] if not by else group
        elif form == "all" and not by:
            group = ["ALL"]
        names = ["cnt", *(f"a{n}" for n in range(1, len(counts)))]
        entries = [f"{first} AS w", *(f"{key} AS k{n}" for n, key in enumerate(keys))]
        entries += [f"{count} AS {name}" for count, name in zip(counts, names, strict=True)]
        having = f" HAVING {self._about(self.random.choice(HAVINGS))}" if self.random.random() < 0.3 else ""
        return ", ".join(entries), f" GROUP BY {', '.join(group)}{having}"
