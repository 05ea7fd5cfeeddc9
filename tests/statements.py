"""Random statements that Spark takes as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hypothesis import strategies as st

from tests.statement_groups import Groups
from tests.statement_parts import (
    KEY,
    STREAMS,
    TABLES,
    TIME,
    Asked,
    Expressions,
    Input,
    Rows,
    Writer,
    list_columns,
    list_owners,
)

ALIASES = ("o", "Cl", "x_2", "_p", "q7")
"""None is called like a column."""

KINDS = ("rows", "rows", "rows", "groups", "groups", "distinct", "newest")
"""What is asked for: combinations, groups or rows without duplicates by the time of a stream, groups by the newest."""

HOW_MANY = {"rows": (1, 2, 2, 2, 3), "groups": (1, 2, 2, 3), "distinct": (1, 2, 2), "newest": (2,)}
"""Streams of a statement."""

LATE = 0.25
"""Statements that could have late rows, and do."""


def make(seed: int) -> Asked:
    """The statement that a number stands for."""
    return _Builder(Random(seed)).build()


def statements() -> st.SearchStrategy[Asked]:
    """Any statement: its words take longer to draw one by one than to write."""
    return st.integers(0, 2**32 - 1).map(make)


class _Builder:
    """Writes a statement from its inputs on."""

    def __init__(self, random: Random) -> None:
        self.random, self.write = random, Writer(random)
        self.kind = random.choice(KINDS)
        self.told = self.write.often(0.15)
        self.delays: dict[str, int] = {}
        self.named: list[str] = []
        self.relations: dict[str, str] = {}
        self.where: list[str] = []
        self.every_name = self.is_shared = True
        self.inputs = self._choose_inputs()
        self.streams = [one for one in self.inputs if one.is_stream]
        is_joined = len(self.streams) == 2 == len(self.inputs) and self.kind == "rows"
        self.late = is_joined and self.write.often(LATE)
        self.asks = [] if self.late else self._choose_asks()
        self.owners = list_owners([*self.inputs, *self.asks])
        self.say = Expressions(self.write, self.column)
        for one in [*self.inputs, *self.asks]:
            self.relations[one.alias] = self._write_relation(one)

    # --- inputs

    def _choose_inputs(self) -> list[Input]:
        streams = self.random.choice(HOW_MANY[self.kind])
        tables = self.random.randint(0, min(2, 4 - streams))
        views = [self.random.choice([*STREAMS]) for _ in range(streams)]
        views += [self.random.choice([*TABLES]) for _ in range(tables)]
        self.random.shuffle(views)
        is_timed = streams > 1 or self.kind != "rows" or self.write.often(0.5)
        return [self._make_input(view, alias, is_timed=is_timed) for view, alias in zip(views, ALIASES, strict=False)]

    def _choose_asks(self) -> list[Input]:
        """Choose a table that is asked for a match, now and then."""
        if len(self.inputs) > 3 or not self.write.often(0.25):
            return []
        return [self._make_input(self.random.choice([*TABLES]), ALIASES[len(self.inputs)], is_timed=False)]

    def _make_input(self, view: str, alias: str, *, is_timed: bool) -> Input:
        delay = self.random.randint(1, 20) if is_timed and view in STREAMS else None
        if delay is not None and self.told:
            delay = self.delays.setdefault(view, delay)
        shown = {name: name for name in list_columns(view)}
        if self.write.often(0.25):  # a subquery gives some of them other names
            for name in self.random.sample([*shown], 3):
                shown[name] = f"{name.replace(' ', '')}_of_{alias}"
        return Input(alias=alias, view=view, shown=shown, delay=delay)

    def _write_relation(self, one: Input) -> str:
        """Write an input as FROM has it, with its alias."""
        word, often = self.write.word, self.write.often
        # What is said of a stream beside the text says also that it is one.
        is_said = one.is_stream and not (self.told and one.delay is not None and often(0.5))
        base = f"{word('stream')} {self.write.name(one.view)}" if is_said else self.write.name(one.view)
        mark = self._write_watermark(one)
        alias = f" {word('as')} {self.write.name(one.alias)}" if often(0.7) else f" {self.write.name(one.alias)}"
        is_renamed = any(name != shown for name, shown in one.shown.items())
        if not is_renamed and often(0.7):
            return base + mark + alias
        inside = often(0.5) or mark == ""
        query = self._write_view(one, base + (mark if inside else ""), is_renamed=is_renamed)
        behind = "" if inside else self._write_watermark(replace(one, shown=one.shown), shown=True)
        if often(0.5):
            self.named.append(f"part{len(self.named)} {word('as')} ({query})")
            return f"part{len(self.named) - 1}{behind}{alias}"
        return f"({query}){behind}{alias}"

    def _write_watermark(self, one: Input, *, shown: bool = False) -> str:
        if one.delay is None or self.told:
            return ""
        time = self.write.name(one.shown[TIME] if shown else TIME)
        length = self.random.choice([f"INTERVAL {one.delay} SECONDS", f"interval '{one.delay}' second"])
        return f" {self.write.word('watermark')} {time} {self.write.word('delay of')} {length}"

    def _write_view(self, one: Input, base: str, *, is_renamed: bool) -> str:
        columns = "*"
        if is_renamed:
            parts = [(self.write.name(own), shown) for own, shown in one.shown.items()]
            columns = ", ".join(
                own if own.strip("`").lower() == as_.lower() else f"{own} AS {as_}" for own, as_ in parts
            )
        own = replace(one, shown={name: name for name in one.shown})
        inner = Expressions(self.write, lambda _, name: self.write.name(name))
        where = f" {self.write.word('where')} {inner.make(own)}" if not self.late and self.write.often(0.4) else ""
        return f"{self.write.word('select')} {columns} {self.write.word('from')} {base}{where}"

    def column(self, one: Input, base: str) -> str:
        """Write a column, with its input where it needs one."""
        name = self.write.name(one.shown[base])
        if self.owners[one.shown[base].lower()] == 1 and self.write.often(0.4):
            return name
        return f"{self.write.name(one.alias)}.{name}"

    # --- FROM

    def _write_from(self) -> str:
        """Write the inputs with their joins; those behind a comma see none of those before it."""
        text, scope, place = self.relations[self.inputs[0].alias], [self.inputs[0]], self.random.randrange(4)
        for number, one in enumerate(self.inputs):
            if number:
                more, is_joined = self._write_join(one, self.inputs[:number], scope)
                text += more
                scope = [*scope, one] if is_joined else [one]
            if self.asks and number == place % len(self.inputs) and any(known.is_stream for known in scope):
                text += self._write_ask(self.asks[0], scope)
        return text

    def _write_join(self, one: Input, before: Sequence[Input], scope: Sequence[Input]) -> tuple[str, bool]:
        """Write a join with the inputs before; says also whether it is one, and no comma."""
        word, space, relation = self.write.word, self.write.space(), self.relations[one.alias]
        links, is_near = self._link(one, before, scope)
        self.is_shared = (self.is_shared or len(scope) == 1) and all(known.shown[KEY] == KEY for known in (*scope, one))
        if self.is_shared and is_near and links and self.write.often(0.4):
            self.where += links[1:]
            return f"{space}{word('join')} {relation} {word('using')} ({self.write.name(KEY)})", True
        self.is_shared = False
        if not links:
            return f"{space}{word('cross join')} {relation}", True
        form = self.random.choice(["join", "join", "inner join", "cross join", "list"])
        # Spark lists streams, and does not cross them.
        if form == "list" or (one.is_stream and (form == "cross join" or not is_near)):
            self.where += links
            return f", {relation}", False
        if form == "cross join":
            self.where += links
            return f"{space}{word('cross join')} {relation}", True
        self.where += (moved := [link for link in links[1:] if self.write.often(0.3)])
        on = f" {word('and')} ".join(link for link in links if link not in moved)
        return f"{space}{word(form)} {relation}{self.write.space()}{word('on')} {on}", True

    def _link(self, one: Input, before: Sequence[Input], scope: Sequence[Input]) -> tuple[list[str], bool]:
        """Write the conditions that join an input, and say whether ON sees what they name.

        The first is the one that USING may stand for.
        """
        streams = [known for known in before if known.is_stream]
        if one.is_stream and streams:
            bounded = self.kind != "rows" or len(self.streams) > 2
            times = self.say.bound if bounded else self.say.loose
            links = [self.say.equal(streams[-1], one, by_key=self.late), *times(streams[-1], one)]
            is_near = streams[-1] in scope
        else:
            links, is_near = [self.say.equal(self.random.choice(scope), one)] if self.write.often(0.85) else [], True
        if links and not self.late and self.write.often(0.2):
            links.append(self.say.between(self.random.choice(scope), one))
        return links, is_near

    def _write_ask(self, ask: Input, scope: Sequence[Input]) -> str:
        kind = self.random.choice(["left semi join", "left anti join", "semi join", "anti join"])
        space, word = self.write.space(), self.write.word
        if len(scope) == 1 and ask.shown[KEY] == KEY == scope[0].shown[KEY] and self.write.often(0.3):
            return f"{space}{word(kind)} {self.relations[ask.alias]} {word('using')} ({self.write.name(KEY)})"
        # Of two tables that no other condition names a query cannot tell which one is asked about the other.
        asking = [one for one in scope if one.is_stream]
        conditions = [self.say.equal(self.random.choice(asking), ask)]
        if self.write.often(0.3):
            conditions.append(self.say.make(ask))
        on = f" {word('and')} ".join(conditions)
        return f"{space}{word(kind)} {self.relations[ask.alias]} {word('on')} {on}"

    # --- the columns

    def _write_list(self) -> tuple[str, str]:
        """Write the columns, and what stands behind the inputs."""
        if self.kind == "rows":
            return self._write_columns(), ""
        return self._write_groups()

    def _write_columns(self) -> str:
        # Of three streams the first one's time does not go past its join.
        hidden = self.streams[0] if len(self.streams) > 2 else None
        if hidden is None and self.write.often(0.2):
            return "*"
        entries = []
        for number in range(self.random.randint(1, 5)):
            one, form = self.random.choice(self.inputs), self.random.random()
            if form < 0.15 and one is not hidden:
                entries.append(f"{self.write.name(one.alias)}.*")
            elif form < 0.6:
                name = self.random.choice([base for base in one.shown if one is not hidden or base != TIME])
                entries.append(self.column(one, name) + self.random.choice(["", "", f" AS c{number}", f" c{number}"]))
            else:
                made = self.say.make(one, self.random.choice(["number", "string", "condition", "time"]))
                is_named = self.write.often(0.85)
                self.every_name &= is_named
                entries.append(f"{made} {self.write.word('as')} e{number}" if is_named else made)
        return ", ".join(entries)

    def _write_groups(self) -> tuple[str, str]:
        """Write groups by a time, or rows without duplicates."""
        self.groups = Groups(self.random, self.inputs, self.kind, self.streams[-2:])
        return self.groups.fill(self.groups.columns, self.column), self.groups.fill(self.groups.tail, self.column)

    # --- the whole

    def build(self) -> Asked:
        source = self._write_from()
        if not self.late:
            self.where += [self.say.make(one) for one in self.inputs if self.write.often(0.25)]
        self.random.shuffle(self.where)
        conditions = f" {self.write.word('and')} ".join(self.where)
        source += f"{self.write.space()}{self.write.word('where')} {conditions}" if conditions else ""
        columns, tail = self._write_list()
        rows = Rows(self.random, self.inputs, late=self.late, closing=self.kind != "rows")
        return Asked(
            text=self._put_together(columns, source, tail),
            kind=self.kind,
            feeds=rows.feeds(),
            tables={view: rows.table() for view in TABLES},
            told={one.view: one.delay for one in self.streams if one.delay is not None} if self.told else {},
            joined=self._put_together(self.groups.joined(self.column), source, "") if self.kind == "newest" else "",
            grouped=self.groups.grouped if self.kind == "newest" else "",
            named=self.every_name,
        )

    def _put_together(self, columns: str, source: str, tail: str) -> str:
        parts = f"{self.write.word('with')} {', '.join(self.named)} " if self.named else ""
        hint = self.random.choice(["", "", "", "/*+ POLICY(source), CELLS(2) */ "])
        space = self.write.space()
        return f"{parts}{self.write.word('select')} {hint}{columns}{space}{self.write.word('from')} {source}{tail}"
