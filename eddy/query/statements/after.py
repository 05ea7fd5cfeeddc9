"""What comes after the eddy: columns that are computed, groups and aggregates, which are Spark's.

Only columns are found in these texts, by their words, and get the names that they have in the eddy's answer; all else
is Spark's own, and stays as it is written:

    SELECT o.user, count(*) AS n, sum(o.price * 2) FROM .. GROUP BY o.user, window(o.at, '1 minute')
    SELECT `o_user` AS `user`, count(*) AS `n`, sum(`o_price` * 2) AS `sum(o.price * 2)` FROM {answer}
      GROUP BY `o_user`, window(`o_at`, '1 minute')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from eddy.errors import QueryError, quote
from eddy.query.emit import TICK
from eddy.query.inputs import Stream
from eddy.query.statements.input_names import InputNames
from eddy.query.statements.tree import Selected, SelectTree, Written
from eddy.sql.bind.writer import backtick
from eddy.sql.text.reader import Token
from eddy.sql.values.tree import Column, TextSpan

RESULT_TIME = "result_time"
"""The function that gives the newest event time of a combination, and the column that has it."""

ANSWER = "{answer}"
"""What stands for the eddy's answer in Spark's text."""

NO_COLUMN = frozenset({"AS", "TO", "INTERVAL", "."})
"""Words before a word that is no column: a type, a unit, a field."""


@dataclass(frozen=True, kw_only=True)
class After:
    """What Spark does with the answer: `text` has ANSWER in the place of its name.

    `outputs` are the columns that it reads, by the names that they have there. `time` is the one by which groups close.
    """

    text: str
    outputs: Sequence[tuple[Column, str]]
    time: str | None

    @property
    def stream(self) -> str:
        """The stream whose time that is; "" for the newest time in a result."""
        return next((str(column.stream) for column, name in self.outputs if name == self.time), "")


def make_after(tree: SelectTree, names: InputNames, streams: Sequence[Stream], own_time: str | None = None) -> After:
    """Make what comes after the eddy of the parts of a statement that are Spark's.

    `own_time` is the column that says when a combination was told, where that is not as it begins.
    """
    made = _Writer(tree, names, streams, own_time)
    head, tail, by = made.write_statement()
    time = made.choose_time(by)
    if made.asks_newest and time != RESULT_TIME:
        # The answer has one time of its own; where that is a stream's, the newest is worked out.
        made.newest = made.work_out_newest()
        head, tail, _ = made.write_statement()
    if not made.outputs:
        made.read_some()
    # Spark fills in the answer where brackets of this kind stand; those of the text are doubled.
    head, tail = (part.replace("{", "{{").replace("}", "}}") for part in (head, tail))
    return After(text=f"{head}{ANSWER}{tail}", outputs=list(made.outputs.items()), time=time)


@dataclass
class _Writer:
    """Writes parts for Spark, and notes the columns in them."""

    tree: SelectTree
    names: InputNames
    streams: Sequence[Stream]
    own_time: str | None = None
    outputs: dict[Column, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    newest: str = backtick(RESULT_TIME)
    asks_newest: bool = False

    @property
    def times(self) -> list[Column]:
        """The event times of all streams."""
        return [Column(one.name, one.time) for one in self.streams if one.time is not None]

    def write_statement(self) -> tuple[str, str, set[str]]:
        """Write what stands before the answer's name and behind it; gives also the times by which groups are made."""
        tree = self.tree
        selected, in_list = self._write_all(text for one in tree.selected for text in self.write_selected(one))
        grouped, in_group = self._write_all(map(self.write, [tree.group] if tree.group is not None else []))
        if self.own_time is not None and self.own_time not in in_list | in_group and self._adds_time:
            # The answer at a tick is one of that tick, and what ended did so at a time: results have it as their last.
            selected.append(backtick(self.own_time))
            in_list.add(self.own_time)
            if grouped:
                grouped, in_group = [f"{grouped[0]}, {backtick(self.own_time)}"], {self.own_time}
        having, _ = self._write_all(map(self.write, [tree.having] if tree.having is not None else []))
        head = f"SELECT {'DISTINCT ' if tree.distinct else ''}{', '.join(selected)} FROM "
        parts = (("GROUP BY", grouped), ("HAVING", having))
        tail = "".join(f" {word} {part}" for word, written in parts for part in written)
        return head, tail, in_group if tree.group is not None else in_list if tree.distinct else set()

    @property
    def _adds_time(self) -> bool:
        """Whether results get the time at which they were told although nobody asks for it: all but groups of ends."""
        return self.own_time == TICK or (self.tree.group is None and not self.tree.distinct)

    def _write_all(self, parts: Iterable[str]) -> tuple[list[str], set[str]]:
        """Write some parts; gives the times in them too."""
        self.used = set()
        return list(parts), self.used

    def work_out_newest(self) -> str:
        """Write the newest time in a result as the greatest of the times of all streams."""
        times = [self._name(column) for column in self.times]
        return f"greatest({', '.join(times)})" if len(times) > 1 else times[0]

    def write_selected(self, one: Selected) -> Iterator[str]:
        """Write an entry of the list."""
        if one.words is not None and (one.column is None or self._is_of_group(one.words)):
            name = one.alias or (one.words.words[-1].name if one.column else self._read(one.words))
            yield f"{self.write(one.words)} AS {backtick(name)}"
            return
        for column, name in self.names.read_selected(one):
            yield f"{self._name(column)} AS {backtick(name)}"

    def _is_of_group(self, part: Written) -> bool:
        """Tell whether what looks like a column is none of an input's, but of what groups are made by."""
        return self.tree.group is not None and self.names.find_written(_list_names(part), part.words[0]) is None

    def write(self, part: Written) -> str:
        """Write a part with its columns as the answer calls them."""
        words, text, done, place = part.words, self.tree.place.text, part.words[0].start, 0
        parts: list[str] = []
        while place < len(words):
            chain = self._find_chain(words, place)
            found = self._replace(words, place, chain) if chain else None
            if found is None:
                place += max(2 * chain - 1, 1)
                continue
            written, taken = found
            parts += [text[done : words[place].start], written]
            done = words[place + taken - 1].end
            place += taken
        return "".join([*parts, text[done : words[-1].end]])

    def _find_chain(self, words: Sequence[Token], place: int) -> int:
        """Count the names with dots between them that begin at a word."""
        if not words[place].is_name or (place and (words[place - 1].key in NO_COLUMN or _is_literal(words[place - 1]))):
            return 0
        count = 1
        while [word.key for word in words[place + 2 * count - 1 :][:1]] == ["."] and _is_name(words, place + 2 * count):
            count += 1
        return count

    def _replace(self, words: Sequence[Token], place: int, chain: int) -> tuple[str, int] | None:
        """Write a column as the answer calls it; says how many words it stands for."""
        end = place + 2 * chain - 1
        if words[end : end + 1] and words[end].key == "(":
            return self._replace_call(words, place) if chain == 1 else None
        found = self.names.find_written([word.name for word in words[place:end:2]], words[place])
        if found is None:
            return None
        column, names = found
        return self._name(column), 2 * names - 1

    def _replace_call(self, words: Sequence[Token], place: int) -> tuple[str, int] | None:
        """Write a call that means the newest event time of a combination."""
        name = words[place]
        if name.text in self.names.functions:
            raise self.names.place.error(f'"{name.text}" is a predicate in Python: it stands in WHERE', name)
        is_empty = [word.key for word in words[place + 1 : place + 3]] == ["(", ")"]
        if self.own_time is not None and name.key == self.own_time.upper() and is_empty:
            self.used.add(self.own_time)
            return backtick(self.own_time), 3
        if name.key == RESULT_TIME.upper() and is_empty:
            if not self.times:
                raise self.names.place.error("no stream has an event time; name one, as in WATERMARK at ..", name)
            return self._use_newest(), 3
        if name.key != "GREATEST" or not self.times:
            return None
        columns: list[Column | None] = []
        at = place + 2
        while at < len(words) and (chain := self._find_chain(words, at)):
            names = [word.name for word in words[at : at + 2 * chain - 1 : 2]]
            found = self.names.find_written(names, words[at])
            columns.append(found[0] if found is not None else None)
            at += 2 * chain
            if words[at - 1 : at] and words[at - 1].key == ")":
                return (self._use_newest(), at - place) if set(columns) == set(self.times) else None
        return None

    def _use_newest(self) -> str:
        self.asks_newest = True
        self._note_time(RESULT_TIME)
        return self.newest

    def _note_time(self, name: str) -> None:
        """Note a time in a part; where results have one of their own, groups close by no other."""
        if self.own_time is None:
            self.used.add(name)

    def _name(self, column: Column) -> str:
        """Give the name that a column has in the answer."""
        if column not in self.outputs:
            name = f"{column.stream}_{column.name}"
            while name in (*self.outputs.values(), RESULT_TIME, self.own_time):
                name += "_"
            self.outputs[column] = name
        if column in self.times:
            self._note_time(self.outputs[column])
        return backtick(self.outputs[column])

    def read_some(self) -> None:
        """Read some column where none is named: `count(*)` counts rows."""
        if not self.times:
            raise self._error("no column of it is found; write each with its input before it, as in o.price")
        self.outputs[self.times[0]] = f"{self.times[0].stream}_{self.times[0].name}"

    def _read(self, part: Written) -> str:
        """Read a part as it is written, on one line."""
        return " ".join(self.tree.place.text[part.words[0].start : part.words[-1].end].split())

    def choose_time(self, used: set[str]) -> str | None:
        """Choose the time by which groups close, among those that they are made by."""
        if len(used) > 1:
            raise self._error(
                f"groups close by one time, and there are {quote(sorted(used))}; group by the newest of them, "
                f"{RESULT_TIME}()"
            )
        if not used and (self.tree.group is not None or self.tree.distinct):
            what = "DISTINCT" if self.tree.group is None else "GROUP BY"
            raise self._error(
                f"{what} without a time: no group ever closes; add an event time, such as "
                f"window({self.own_time or RESULT_TIME}(), '1 minute'), or group the frame that attach gives, for "
                "another output mode"
            )
        return next(iter(used), None)

    def _error(self, message: str) -> QueryError:
        part = self.tree.group
        span = TextSpan(part.words[0].start, part.words[-1].end) if part is not None else self.tree.selected[0].span
        return self.names.place.error(message, span)


def _list_names(part: Written) -> list[str]:
    return [word.name for word in part.words[::2]]


def _is_name(words: Sequence[Token], place: int) -> bool:
    return place < len(words) and words[place].is_name


def _is_literal(word: Token) -> bool:
    return word.kind == "number" or word.is_text
