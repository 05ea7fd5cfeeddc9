"""Which input each column of a statement belongs to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from eddy.errors import quote
from eddy.query.statements.tree import JoinKind, Selected, Source, View
from eddy.query.statements.views import find_base
from eddy.sql.values.name_case import find_own, fold_case
from eddy.sql.values.tree import Column, Node, Place, Ref, TextSpan, rename_refs

ASKED = (JoinKind.SEMI, JoinKind.ANTI)
"""Joins that add no columns: their input is seen in their own condition only."""


@dataclass(frozen=True, kw_only=True)
class InputNames:
    """The inputs of a statement, and their columns if these are known."""

    place: Place
    sources: Sequence[Source]
    columns: Mapping[str, Sequence[str]] | None
    functions: Collection[str] = ()

    @cached_property
    def joined(self) -> list[str]:
        """The inputs that results have rows of."""
        return [one.alias for one in self.sources if one.kind not in ASKED]

    @cached_property
    def shared(self) -> dict[tuple[str, tuple[str, int]], Ref]:
        """The columns of an input that USING says are those of an earlier one."""
        return {(one.alias, fold_case(ref.column.name)): ref for one in self.sources for ref in one.using}

    def list_seen(self, source: Source | None = None) -> list[str]:
        """List the inputs that the condition of a join sees, or those that WHERE and SELECT do.

        A join sees what it joins: nothing from before the last comma.
        """
        if source is None:
            return self.joined
        seen: list[str] = []
        for one in self.sources:
            if one.kind is JoinKind.LISTED:
                seen.clear()
            if one.alias == source.alias:
                break
            if one.kind not in ASKED:
                seen.append(one.alias)
        return [*seen, source.alias]

    def qualify(self, node: Node, source: Source | None = None) -> Node:
        """Give every column of a condition its input."""
        return rename_refs(node, partial(self.find, among=self.list_seen(source)))

    def find(self, ref: Ref, among: Sequence[str]) -> Column:
        """Find the column that a name means."""
        stream, name = ref.column
        alias = self._find_owner(ref, among) if stream is None else self.find_input(stream, among, ref.span)
        return self._read_through(alias, name, ref.span)

    def find_written(self, names: Sequence[str], span: TextSpan) -> tuple[Column, int] | None:
        """Find the column that names with dots between them begin with, and how many of them are its own.

        None where they are no column that is known: a field, an alias, a word of Spark's.
        """
        alias = find_own(names[0], self.joined) if len(names) > 1 else ""
        if alias in self.joined:
            return self._read_through(alias, names[1], span), 2
        column = Column(None, names[0])
        folded = fold_case(names[0])
        known = [one for one in self.joined if folded in map(fold_case, self._list_visible(one) or ())]
        return (self.find(Ref(span, column, column), known), 1) if known else None

    def read_selected(self, selected: Selected) -> Iterator[tuple[Column, str]]:
        """Give the columns of one entry of the select list, with their names."""
        if selected.column is not None:
            column = self.find(selected.column, self.joined)
            yield column, selected.alias or selected.column.column.name
        elif selected.every_of is None:
            yield from self.list_every(selected.span).shown
        else:
            alias = self.find_input(selected.every_of, self.joined, selected.span)
            every = self.list_every(selected.span) if self.shared else None
            yield from self.list_columns(alias, selected.span) if every is None else every.list_of(alias)

    def find_own(self, ref: Ref, source: Source) -> Column:
        """Find a column of an input."""
        return self._read_through(source.alias, ref.column.name, ref.span)

    def _read_through(self, alias: str, name: str, span: TextSpan) -> Column:
        """Find what an input calls a column, where a subquery calls it otherwise."""
        return Column(alias, find_base(self._views.get(alias, View()), name, self.place, span))

    @cached_property
    def _views(self) -> dict[str, View]:
        return {one.alias: one.view for one in self.sources if one.view is not None}

    def _list_visible(self, alias: str) -> Sequence[str] | None:
        """List the names of an input's columns; None where they are not known."""
        view = self._views.get(alias)
        if view is not None and view.columns is not None:
            return list(view.columns)
        return None if self.columns is None else self.columns.get(alias)

    def find_input(self, name: str, among: Sequence[str], span: TextSpan) -> str:
        """Find the input that a name means, in any case of letters."""
        alias = find_own(name, among)
        if alias not in among:
            raise self.place.unknown("input", name, among, span)
        return alias

    def find_earlier(self, ref: Ref, source: Source) -> Column:
        """Find the column of an earlier input that USING equates with one of `source`."""
        return self.find(ref, self.list_seen(source)[:-1])

    def _find_owner(self, ref: Ref, among: Sequence[str]) -> str:
        """Find the one input that a bare column can be of; one that is shared is of the first that has it."""
        if len(among) == 1:
            return among[0]
        name = ref.column.name
        visible = {alias: self._list_visible(alias) for alias in among}
        if None in visible.values():
            *most, last = (f"{alias}.{name}" for alias in among)
            told = f'column "{name}" names no input, and what columns there are is not known here; write'
            raise self.place.error(f"{told} {', '.join(most)} or {last}", ref.span)
        folded = fold_case(name)
        owners = [alias for alias, names in visible.items() if folded in map(fold_case, names or ())]
        first = [alias for alias in owners if (alias, folded) not in self.shared]
        if len(first) == 1:
            return first[0]
        if first:
            message = f'column "{name}" is in {quote(first)}; write {first[0]}.{name} or the like'
            raise self.place.error(message, ref.span)
        known = sorted({column for names in visible.values() for column in names or ()})
        raise self.place.unknown("column", name, known, ref.span)

    def list_columns(self, alias: str, span: TextSpan) -> list[Output]:
        """List the columns of an input with their names, for a `*`."""
        visible = self._list_visible(alias)
        if visible is None:
            raise self.place.error("what columns there are is not known here; list those that you want", span)
        return [(self._read_through(alias, name, span), name) for name in visible]

    def list_every(self, span: TextSpan) -> _Outputs:
        """List the columns of all inputs in Spark's order: each USING puts its columns before all that it joins."""
        parts: list[_Outputs] = []
        for one in self.sources:
            own = [] if one.kind in ASKED else self.list_columns(one.alias, span)
            if one.kind in (JoinKind.FIRST, JoinKind.LISTED):
                parts.append(_Outputs(own))
            else:
                parts[-1] = parts[-1].join(own, [fold_case(ref.column.name) for ref in one.using])
        return _Outputs([one for part in parts for one in part.shown], [one for part in parts for one in part.hidden])


Output = tuple[Column, str]
"""A column, with its name in the answer."""


@dataclass(frozen=True)
class _Outputs:
    """What inputs that are joined show, and what USING hides: only who names the input sees that."""

    shown: Sequence[Output]
    hidden: Sequence[Output] = ()

    def join(self, other: Sequence[Output], using: Sequence[tuple[str, int]]) -> _Outputs:
        """Give what a join with another input shows."""
        left = {fold_case(name): (column, name) for column, name in reversed(self.shown)}
        shared = [left[name] for name in using if name in left]
        rest = [one for one in (*self.shown, *other) if fold_case(one[1]) not in using]
        return _Outputs([*shared, *rest], [*(one for one in other if fold_case(one[1]) in using), *self.hidden])

    def list_of(self, alias: str) -> list[Output]:
        """List the columns of one input, those that are hidden first, as Spark does."""
        return [one for one in (*self.hidden, *self.shown) if one[0].stream == alias]
