"""Binds a tree: types are checked, constants folded.

Every node becomes a step that computes it. The operators and functions that a text may have, each with the rule that
binds it, are the tables at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from eddy.errors import QueryError
from eddy.sql.kernels import arithmetic, casts, comparison, logic, regexes, rounding, strings, times
from eddy.sql.values import faults, types
from eddy.sql.values.arrays import Value
from eddy.sql.values.faults import FAULTS
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Frame, OnlySpark, Refused, constant, constant_list
from eddy.sql.values.tree import COMPARISONS, Call, Cast, Column, Literal, Literals, Node, Place, Ref

JOINS_STRINGS = '"||" joins strings; conditions are joined by OR'
_CONDITIONS = frozenset({*COMPARISONS, "and", "or", "not"})


def bind(node: Node, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> BoundStep:
    """Bind a node, and whatever is below it."""
    return _BINDERS[type(node)](node, known, place, session)


def refusal(node: Node, reason: Refused, place: Place) -> QueryError:
    """Build the error for types that do not fit."""
    span = node.span if reason.at is None else node.children[reason.at].span
    hint = (
        f"; {JOINS_STRINGS}"
        if isinstance(node, Call) and node.name in _CONDITIONS and any(map(joins_strings, node.walk()))
        else ""
    )
    make = place.beyond if isinstance(reason, OnlySpark) else place.error
    return make(f"{reason}{hint}", span)


def joins_strings(node: Node) -> bool:
    """Tell whether it was written with `||`, which is no OR."""
    return isinstance(node, Call) and node.name == "concat"


def plain_type(type: pa.DataType, session: Session) -> pa.DataType:
    """Give the type in which expressions see a column."""
    found = types.logical(type)
    return pa.timestamp("us", session.label) if types.is_timestamp(found) else found


def _bind_ref(node: Ref, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> BoundStep:
    column = node.column
    if column not in known:
        raise _make_error(node, known, place)
    return BoundStep(plain_type(known[column], session), lambda frame: frame.columns[column])


def _make_error(node: Ref, known: Mapping[Column, pa.DataType], place: Place) -> QueryError:
    """Build the error for an unknown column.

    The column is spelled as its writer would.
    """
    column, span = node.column, node.span
    whole = [other for other in known if column.stream is not None and other.name == column.stream]
    if whole:
        message = f'"{column.stream}" is a column of type {known[whole[0]]}, and struct fields are not supported'
        return place.error(f'{message}; make "{column.name}" a column of its own first', span)
    near = [other for other in known if other.stream == column.stream] or [*known]
    spelled = [other.name if node.bare else str(other) for other in near]
    return place.unknown("column", column.name if node.bare else str(column), spelled, span)


def _bind_literal(node: Literal, _: object, __: object, ___: object) -> BoundStep:
    # A tinyint is the one whole literal that Spark does not cut to the digits it has.
    whole = types.is_integer(node.type) and node.type != types.TINYINT
    digits = len(str(abs(int(str(node.value))))) if whole else None
    value = pa.scalar(node.value, node.type)
    return constant(value, digits=digits, whole_days=node.whole_days)


def _bind_literals(node: Literals, _: object, __: object, ___: object) -> BoundStep:
    return constant_list(pa.array(node.values, node.type))


def _bind_cast(node: Cast, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> BoundStep:
    child = bind(node.child, known, place, session)
    try:
        return _place_errors(casts.cast(child, node.type, session, safe=node.safe), node, place)
    except Refused as reason:
        raise refusal(node, reason, place) from None


def _bind_call(node: Call, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> BoundStep:
    args = [bind(arg, known, place, session) for arg in node.args]
    try:
        return _place_errors(RULES[node.name](session, args), node, place)
    except Refused as reason:
        raise refusal(node, reason, place) from None


def _place_errors(step: BoundStep, node: Node, place: Place) -> BoundStep:
    """Let the step's errors name their place in the text."""
    if not step.fails:
        return step
    return BoundStep(step.type, show_place(step.run, node, place), fails=True, whole_days=step.whole_days)


def show_place(run: Callable[[Frame], Value], node: Node, place: Place) -> Callable[[Frame], Value]:
    """Let what a kernel raises show its place in the text."""

    def guard(frame: Frame) -> Value:
        try:
            return run(frame)
        except FAULTS as fault:
            raise place.fault(faults.reason(fault), node.span) from None

    return guard


_BINDERS: dict[type[Node], Callable[..., BoundStep]] = {
    Ref: _bind_ref,
    Literal: _bind_literal,
    Literals: _bind_literals,
    Cast: _bind_cast,
    Call: _bind_call,
}


BindRule = Callable[[Session, Sequence[BoundStep]], BoundStep]


@dataclass(frozen=True)
class SqlFunction:
    """A function's rule for binding, and its number of arguments."""

    rule: BindRule
    counts: tuple[int, int | None]


OPERATORS: dict[str, BindRule] = {
    **{name: partial(comparison.compare, name) for name in COMPARISONS},
    "<=>": comparison.same,
    "between": comparison.between,
    "in": comparison.within,
    "and": partial(logic.connect, "and"),
    "or": partial(logic.connect, "or"),
    "not": logic.negate,
    "is true": logic.is_true,
    "is false": logic.is_false,
    "case": logic.case,
    "like": partial(strings.like, "like"),
    "ilike": partial(strings.like, "ilike"),
    "+": times.add,
    "-": times.subtract,
    **{name: partial(arithmetic.binary, name) for name in ("*", "/", "div")},
    "negative": arithmetic.negative,
    "positive": arithmetic.positive,
}
FUNCTIONS: dict[str, SqlFunction] = {
    "%": SqlFunction(partial(arithmetic.binary, "%"), (2, 2)),
    "abs": SqlFunction(arithmetic.absolute, (1, 1)),
    "ceil": SqlFunction(partial(rounding.whole, "ceil"), (1, 1)),
    "coalesce": SqlFunction(logic.coalesce, (1, None)),
    "concat": SqlFunction(strings.concat, (0, None)),
    "contains": SqlFunction(partial(strings.search, "contains"), (2, 2)),
    "day": SqlFunction(partial(times.part, "day"), (1, 1)),
    "dayofweek": SqlFunction(partial(times.part, "dayofweek"), (1, 1)),
    "endswith": SqlFunction(partial(strings.search, "endswith"), (2, 2)),
    "floor": SqlFunction(partial(rounding.whole, "floor"), (1, 1)),
    "greatest": SqlFunction(partial(comparison.extreme, "greatest"), (2, None)),
    "hour": SqlFunction(partial(times.part, "hour"), (1, 1)),
    "if": SqlFunction(logic.when, (3, 3)),
    "isnan": SqlFunction(comparison.isnan, (1, 1)),
    "isnotnull": SqlFunction(logic.is_not_null, (1, 1)),
    "isnull": SqlFunction(logic.is_null, (1, 1)),
    "least": SqlFunction(partial(comparison.extreme, "least"), (2, None)),
    "left": SqlFunction(strings.left, (2, 2)),
    "length": SqlFunction(strings.length, (1, 1)),
    "lower": SqlFunction(partial(strings.change_case, "lower"), (1, 1)),
    "ltrim": SqlFunction(partial(strings.trim, "ltrim"), (1, 2)),
    "minute": SqlFunction(partial(times.part, "minute"), (1, 1)),
    "month": SqlFunction(partial(times.part, "month"), (1, 1)),
    "nullif": SqlFunction(logic.null_if, (2, 2)),
    "nvl2": SqlFunction(logic.second_if_known, (3, 3)),
    "quarter": SqlFunction(partial(times.part, "quarter"), (1, 1)),
    "regexp_extract": SqlFunction(regexes.extract, (2, 3)),
    "right": SqlFunction(strings.right, (2, 2)),
    "rlike": SqlFunction(regexes.rlike, (2, 2)),
    "round": SqlFunction(rounding.round_half_up, (1, 2)),
    "rtrim": SqlFunction(partial(strings.trim, "rtrim"), (1, 2)),
    "second": SqlFunction(partial(times.part, "second"), (1, 1)),
    "startswith": SqlFunction(partial(strings.search, "startswith"), (2, 2)),
    "substring": SqlFunction(strings.substring, (2, 3)),
    "trim": SqlFunction(partial(strings.trim, "trim"), (1, 2)),
    "upper": SqlFunction(partial(strings.change_case, "upper"), (1, 1)),
    "year": SqlFunction(partial(times.part, "year"), (1, 1)),
}
RULES: dict[str, BindRule] = {**OPERATORS, **{name: function.rule for name, function in FUNCTIONS.items()}}
