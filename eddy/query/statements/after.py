"""What comes after the eddy: columns that are computed, groups and aggregates, which are Spark's.

Only columns are found in these texts, by their words, and get the names that they have in the eddy's answer; all else
is Spark's own, and stays as it is written:

    SELECT o.user, count(*) AS n, sum(o.price * 2) FROM .. GROUP BY o.user, window(o.at, '1 minute')
    SELECT `o_user` AS `user`, count(*) AS `n`, sum(`o_price` * 2) AS `sum(o.price * 2)` FROM {answer}
      GROUP BY `o_user`, window(`o_at`, '1 minute')
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eddy.errors import QueryError, quote
from eddy.query.emit import LEFT_AT, TICK
from eddy.query.inputs import Stream
from eddy.query.statements.input_names import InputNames
from eddy.query.statements.spark_words import find_column_words, is_argument, is_name, split_parts, write_part
from eddy.query.statements.tree import Selected, SelectTree, Written
from eddy.sql.bind.writer import backtick
from eddy.sql.text.reader import Token
from eddy.sql.values.name_case import find_own, fold_case
from eddy.sql.values.tree import Column, TextSpan

_OWN_TIMES = {LEFT_AT.upper(): "DSTREAM(..)", TICK.upper(): "RSTREAM(..) EVERY .."}
"""The functions that give when a combination was told, and where they are."""

_SETS = re.compile(r"\bWITH\s+(ROLLUP|CUBE)\b|\bGROUPING\s+SETS\b")
"""What GROUP BY may end with, but not go on after."""

RESULT_TIME = "result_time"
"""The function that gives the newest event time of a combination, and the column that has it."""

ANSWER = "{answer}"
"""What stands for the eddy's answer in Spark's text."""


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


MOST_DIGITS = 9
"""Of the place of an entry in the list."""

MAKES_GROUPS = frozenset({"WINDOW", "SESSION_WINDOW", "GREATEST", RESULT_TIME.upper()})
"""What a computed entry begins with that groups are made by where GROUP BY ALL says so."""


class _Entry(NamedTuple):
    """An entry of the list, with the times in it."""

    name: str
    times: set[str]
    may_group: bool


@dataclass
class _Writer:
    """Writes parts for Spark, and notes the columns in them."""

    tree: SelectTree
    names: InputNames
    streams: Sequence[Stream]
    own_time: str | None = None
    outputs: dict[Column, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    entries: list[_Entry] = field(default_factory=list)
    aliases: frozenset[tuple[str, int]] = frozenset()
    newest: str = backtick(RESULT_TIME)
    asks_newest: bool = False

    @property
    def times(self) -> list[Column]:
        """The event times of all streams."""
        return [self._spell(Column(one.name, one.time), ()) for one in self.streams if one.time is not None]

    def _spell(self, column: Column, used: Iterable[Column]) -> Column:
        """Spell a column as its input does; where that is not known, as it was spelled before."""
        known = (self.names.columns or {}).get(str(column.stream))
        if known is None:
            known = [one.name for one in used if one.stream == column.stream]
        return Column(column.stream, find_own(column.name, known))

    def write_statement(self) -> tuple[str, str, set[str]]:
        """Write what stands before the answer's name and behind it; gives also the times by which groups are made."""
        tree = self.tree
        self.entries = []
        selected, in_list = self._write_all(text for one in tree.selected for text in self.write_selected(one))
        grouped, in_group = self._write_all(map(self.write, [tree.group] if tree.group is not None else []))
        if tree.group is not None:
            in_group |= self._find_times(tree.group)
        if self.own_time is not None and self.own_time not in in_group and self._adds_time:
            # The answer at a tick is one of that tick, and what ended did so at a time: results have it as their last.
            if self.own_time not in in_list:
                selected.append(backtick(self.own_time))
                in_list.add(self.own_time)
            if grouped:
                grouped, in_group = [self._group_by_own(grouped[0])], {self.own_time}
        self.aliases = self._list_aliases()
        having, _ = self._write_all(map(self.write, [tree.having] if tree.having is not None else []))
        self.aliases = frozenset()
        head = f"SELECT {'DISTINCT ' if tree.distinct else ''}{', '.join(selected)} FROM "
        parts = (("GROUP BY", grouped), ("HAVING", having))
        tail = "".join(f" {word} {part}" for word, written in parts for part in written)
        return head, tail, in_group if tree.group is not None else in_list if tree.distinct else set()

    def _find_times(self, group: Written) -> set[str]:
        """Find the times in entries of the list that groups are made by, where these are named by place or alias."""
        found: set[str] = set()
        for part in split_parts(group.words):
            if is_name(part) and part[0].key == "ALL":
                found |= {time for entry in self.entries if entry.may_group for time in entry.times}
            elif len(part) == 1 and part[0].text.isdigit() and (place := int(part[0].text[:MOST_DIGITS])):
                found |= {time for entry in self.entries[place - 1 : place] for time in entry.times}
            elif is_name(part) and self.names.find_written([part[0].name], part[0]) is None:
                own = fold_case(part[0].name)
                found |= {time for entry in self.entries if fold_case(entry.name) == own for time in entry.times}
        return found

    def _list_aliases(self) -> frozenset[tuple[str, int]]:
        """List the names that HAVING sees before columns of inputs: those of the list that groups are not made by."""
        parts = split_parts(self.tree.group.words) if self.tree.group is not None else []
        grouped = {fold_case(part[-1].name) for part in parts if _is_chain(part)}
        return frozenset(fold_case(entry.name) for entry in self.entries) - grouped

    @property
    def _adds_time(self) -> bool:
        """Whether results get the time at which they were told although nobody asks for it: all but groups of ends."""
        return self.own_time == TICK or (self.tree.group is None and not self.tree.distinct)

    def _group_by_own(self, group: str) -> str:
        """Write what groups are made by with their own time; ALL means it too, since it is in the list."""
        if _SETS.search(group.upper()):
            raise self._error(
                f"{self.own_time}() is a part of all groups, and nothing may stand behind these words; "
                "write ROLLUP(..) or CUBE(..) around columns"
            )
        return group if group.upper() == "ALL" else f"{group}, {backtick(str(self.own_time))}"

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
            name = one.alias or (
                one.words.words[-1].name if one.column else write_part(one.words, self.tree.place.text)
            )
            before, self.used = self.used, set()
            yield f"{self.write(one.words)} AS {backtick(name)}"
            first = one.words.words[0].key
            self._note(name, may_group=first in MAKES_GROUPS or first == str(self.own_time).upper(), before=before)
            return
        for column, name in self.names.read_selected(one):
            before, self.used = self.used, set()
            yield f"{self._name(column)} AS {backtick(name)}"
            self._note(name, may_group=True, before=before)

    def _note(self, name: str, *, may_group: bool, before: set[str]) -> None:
        """Note an entry with its times, and add them to those before."""
        self.entries.append(_Entry(name=name, times=self.used, may_group=may_group))
        self.used = before | self.used

    def _is_of_group(self, part: Written) -> bool:
        """Tell whether what looks like a column is none of an input's, but of what groups are made by."""
        return self.tree.group is not None and self.names.find_written(_list_names(part), part.words[0]) is None

    def write(self, part: Written) -> str:
        """Write a part with its columns as the answer calls them."""
        words, text, done = part.words, self.tree.place.text, part.words[0].start
        parts: list[str] = []
        for place, chain in find_column_words(words):
            found = self._replace(words, place, chain) if words[place].start >= done else None
            if found is not None:
                written, taken = found
                parts += [text[done : words[place].start], written]
                done = words[place + taken - 1].end
        return "".join([*parts, text[done : words[-1].end]])

    def _replace(self, words: Sequence[Token], place: int, chain: int) -> tuple[str, int] | None:
        """Write a column as the answer calls it; says how many words it stands for."""
        end = place + 2 * chain - 1
        if words[end : end + 1] and words[end].key == "(":
            return self._replace_call(words, place) if chain == 1 else None
        if chain == 1 and fold_case(words[place].name) in self.aliases and not is_argument(words, place):
            return None
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
        if name.key in _OWN_TIMES and is_empty:
            raise self.names.place.error(
                f'"{name.text}" goes with {_OWN_TIMES[name.key]}, which this statement has not', name
            )
        if name.key == RESULT_TIME.upper() and is_empty:
            if not self.times:
                raise self.names.place.error("no stream has an event time; name one, as in WATERMARK at ..", name)
            return self._use_newest(), 3
        if name.key != "GREATEST" or not self.times:
            return None
        end = next(at for at in range(place, len(words)) if words[at].key == ")" or at + 1 == len(words))
        columns: list[Column | None] = []
        for part in split_parts(words[place + 2 : end]):
            found = self.names.find_written([word.name for word in part[::2]], part[0]) if _is_chain(part) else None
            columns.append(self._spell(found[0], self.times) if found is not None else None)
        return (self._use_newest(), end - place + 1) if set(columns) == set(self.times) else None

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
        column = self._spell(column, (*self.times, *self.outputs))
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
                f"window({self.own_time or RESULT_TIME}(), '1 minute'), or select columns alone, and group them after "
                "the eddy in another output mode"
            )
        return next(iter(used), None)

    def _error(self, message: str) -> QueryError:
        part = self.tree.group
        span = TextSpan(part.words[0].start, part.words[-1].end) if part is not None else self.tree.selected[0].span
        return self.names.place.error(message, span)


def _list_names(part: Written) -> list[str]:
    return [word.name for word in part.words[::2]]


def _is_chain(words: Sequence[Token]) -> bool:
    """Tell whether words are names with dots between them."""
    names, dots = words[::2], words[1::2]
    return len(words) % 2 == 1 and all(word.is_name for word in names) and all(word.key == "." for word in dots)
