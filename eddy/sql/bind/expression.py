"""Expressions: a text, before and after its types are known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from eddy.errors import quote
from eddy.sql.bind import binder, writer
from eddy.sql.kernels import casts, comparison
from eddy.sql.values.arrays import fill
from eddy.sql.values.session import Conversion, Session, session
from eddy.sql.values.step import BoundStep, Frame, Refused
from eddy.sql.values.tree import COMPARISONS, Call, Column, Node, Place, Ref, list_refs, rename_refs
from eddy.sql.values.types import BOOLEAN
from eddy.sql.values.types import name as named

Find = Callable[[Column], Sequence[str]]
"""The names of the columns that a column may mean."""


def describe_ambiguous(name: str, found: Iterable[str]) -> str:
    """Say that a name means several columns."""
    return (
        f'column "{name}" is ambiguous, since {quote(found)} differ in case only; rename one of them, or in Spark set '
        "spark.sql.caseSensitive"
    )


@dataclass(frozen=True)
class Bound:
    """An expression whose types are known, ready to be evaluated.

    Columns may arrive in any of Arrow's types for theirs, and are then converted once per evaluation.
    """

    type: pa.DataType
    columns: tuple[Column, ...]
    _step: BoundStep = field(repr=False)
    _conversions: tuple[Conversion, ...] = field(repr=False)

    @property
    def fails(self) -> bool:
        """Whether it has no answer for some values; conversions of columns do not count."""
        return self._step.fails

    def evaluate(self, columns: Mapping[Column, pa.Array], rows: int) -> pa.Array:
        """Give the value in each of so many rows.

        Raises a `RowError` if one of them has none.
        """
        if self._conversions:
            plain = {found.column: found.convert(columns[found.column]) for found in self._conversions}
            columns = {**{column: columns[column] for column in self.columns}, **plain}
        return fill(self._step.run(Frame(columns, rows)), rows)


@dataclass(frozen=True)
class ComparedPair:
    """Two expressions, and how they compare."""

    left: Expression
    op: str
    right: Expression


@dataclass(frozen=True)
class Expression:
    """The meaning of a text; equal ones mean the same.

    `where` and the whole text serve the errors only.
    """

    _node: Node = field(repr=False)
    _place: Place = field(compare=False, repr=False)
    text: str = field(init=False, compare=False)
    columns: tuple[Column, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        span = self._node.span
        object.__setattr__(self, "text", self._place.text[span.start : span.end])
        object.__setattr__(self, "columns", tuple(dict.fromkeys(ref.column for ref in list_refs(self._node))))

    def _at(self, node: Node) -> Expression:
        return Expression(node, self._place)

    @property
    def inputs(self) -> frozenset[str]:
        """The streams and tables whose columns it reads.

        Every column must name its own.
        """
        return frozenset(str(column.stream) for column in self.columns)

    def qualify(self, name: Callable[[Column], Column]) -> Expression:
        """Give every column the name that it has in the query."""
        return self._at(rename_refs(self._node, lambda ref: name(ref.column)))

    def write(self) -> str:
        """Write it in the one spelling that all texts of the same meaning have."""
        return writer.write(self._node)

    def write_part(self) -> str:
        """Write it so that it can stand between ANDs."""
        return writer.write_part(self._node)

    def is_spelled(self, find: Find) -> bool:
        """Tell whether columns are written as they are called.

        Unknown columns pass.
        """
        return all(_is_spelled(ref, find(ref.column)) for ref in list_refs(self._node))

    def respell(self, find: Find) -> str:
        """Write it with every column as it is called.

        A name that means several columns is an error.
        """

        def choose(ref: Ref) -> Column:
            found = find(ref.column)
            if len(found) > 1:
                raise self._place.error(describe_ambiguous(str(ref.written), found), ref.span)
            return Column(ref.column.stream, found[0]) if found else ref.column

        return writer.write(rename_refs(self._node, choose))

    def conjuncts(self) -> tuple[Expression, ...]:
        """Split at every AND that is not below anything else.

        A BETWEEN is two comparisons.
        """
        node = self._node
        if isinstance(node, Call) and node.name == "and":
            return tuple(part for arg in node.args for part in self._at(arg).conjuncts())
        if isinstance(node, Call) and node.name == "between":
            value, low, high = node.args
            return tuple(self._at(replace(node, name=op, args=(value, end))) for op, end in ((">=", low), ("<=", high)))
        return (self,)

    def comparison(self) -> ComparedPair | None:
        """Give the two sides, if a comparison is at the top."""
        node = self._node
        if not (isinstance(node, Call) and node.name in COMPARISONS):
            return None
        left, right = node.args
        return ComparedPair(self._at(left), node.name, self._at(right))

    def signed_columns(self) -> list[tuple[int, Column]] | None:
        """Give each column with its sign, if it is columns and constants that are added and taken away."""
        found: list[tuple[int, Column]] = []
        pending = [(1, self._node)]
        while pending:
            sign, node = pending.pop()
            if isinstance(node, Ref):
                found.append((sign, node.column))
            elif isinstance(node, Call) and node.name in ("+", "-"):
                left, right = node.args
                pending += [(sign, left), (sign if node.name == "+" else -sign, right)]
            elif list_refs(node):
                return None
        return found

    def inside_absolute(self) -> Expression | None:
        """Give what is between the brackets of `abs(..)`, if it is nothing else."""
        node = self._node
        return self._at(node.args[0]) if isinstance(node, Call) and node.name == "abs" else None

    def as_column(self) -> Column | None:
        """Give the column, if it is nothing else."""
        return self._node.column if isinstance(self._node, Ref) else None

    def bind(self, types: Mapping[Column, pa.DataType]) -> Bound:
        """Check the types, and make it ready to be evaluated."""
        asked = session(types, self.columns)
        return self._make_bound(self._step(types, asked), types, asked)

    def condition(self, types: Mapping[Column, pa.DataType]) -> Bound:
        """Bind, and demand that it be true or false."""
        bound = self.bind(types)
        if bound.type != BOOLEAN:
            hint = f"; {binder.JOINS_STRINGS}" if binder.joins_strings(self._node) else ""
            message = f"expected a condition that is true or false, got {named(bound.type)}{hint}"
            raise self._place.error(message, self._node.span)
        return bound

    def _step(self, known: Mapping[Column, pa.DataType], session: Session) -> BoundStep:
        return binder.bind(self._node, known, self._place, session)

    def _make_bound(self, step: BoundStep, known: Mapping[Column, pa.DataType], session: Session) -> Bound:
        wanted = ((column, binder.plain_type(known[column], session)) for column in self.columns)
        changed = (self._make_conversion(column, type) for column, type in wanted if known[column] != type)
        return Bound(step.type, self.columns, step, tuple(changed))

    def _make_conversion(self, column: Column, type: pa.DataType) -> Conversion:
        span = next(ref.span for ref in list_refs(self._node) if ref.column == column)
        return Conversion(column=column, type=type, span=span, place=self._place)

    def _coerce(
        self, step: BoundStep, type: pa.DataType, session: Session, known: Mapping[Column, pa.DataType]
    ) -> Bound:
        made = casts.cast(step, type, session)
        if made.fails:
            made = BoundStep(made.type, binder.show_place(made.run, self._node, self._place), fails=True)
        return self._make_bound(made, known, session)


def bind_pair(left: Expression, right: Expression, types: Mapping[Column, pa.DataType]) -> tuple[Bound, Bound]:
    """Bind both in the type in which Spark would compare them."""
    asked = session(types, (*left.columns, *right.columns))
    steps = (left._step(types, asked), right._step(types, asked))
    try:
        united = comparison.unite(asked, steps, f'comparing "{left.text}" with "{right.text}"')
    except Refused as reason:
        raise binder.refusal(left._node, reason, left._place) from None
    type = united[0].type
    first, second = (one._coerce(step, type, asked, types) for one, step in zip((left, right), steps, strict=True))
    return first, second


def _is_spelled(ref: Ref, found: Sequence[str]) -> bool:
    return ref.written.stream in (None, ref.column.stream) and (not found or [*found] == [ref.column.name])
