"""From the tree to steps: types are checked, constants folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from eddy.errors import QueryError
from eddy.sql import casts, faults, types
from eddy.sql.faults import FAULTS
from eddy.sql.place import Place
from eddy.sql.rules import RULES
from eddy.sql.session import Session
from eddy.sql.step import Frame, Refused, Step, constant, listed
from eddy.sql.tree import Call, Cast, Column, Literal, Literals, Node, Ref
from eddy.sql.value import Value

JOINS_STRINGS = '"||" joins strings; conditions are joined by OR'
_CONDITIONS = frozenset({"=", "!=", "<", "<=", ">", ">=", "and", "or", "not"})


def bind(node: Node, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> Step:
    """Bind a node, and whatever is below it."""
    return _BINDERS[type(node)](node, known, place, session)


def refused(node: Node, reason: Refused, place: Place) -> QueryError:
    """Build the error for types that do not fit."""
    span = node.span if reason.at is None else node.children[reason.at].span
    hint = (
        f"; {JOINS_STRINGS}"
        if isinstance(node, Call) and node.name in _CONDITIONS and any(map(joins_strings, node.walk()))
        else ""
    )
    return place.error(f"{reason}{hint}", span.start, span.end)


def joins_strings(node: Node) -> bool:
    """Tell whether it was written with `||`, which is no OR."""
    return isinstance(node, Call) and node.name == "concat"


def plain(type: pa.DataType, session: Session) -> pa.DataType:
    """Give the type in which expressions see a column."""
    found = types.logical(type)
    return pa.timestamp("us", session.label) if types.is_timestamp(found) else found


def _bind_ref(node: Ref, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> Step:
    column = node.column
    if column not in known:
        raise _unknown(node, known, place)
    return Step(plain(known[column], session), lambda frame: frame.columns[column])


def _unknown(node: Ref, known: Mapping[Column, pa.DataType], place: Place) -> QueryError:
    """Build the error for an unknown column, as its writer would spell it."""
    column, span = node.column, node.span
    whole = [other for other in known if column.stream is not None and other.name == column.stream]
    if whole:
        message = f'"{column.stream}" is a column of type {known[whole[0]]}, and struct fields are not supported'
        return place.error(f'{message}; make "{column.name}" a column of its own first', span.start, span.end)
    near = [other for other in known if other.stream == column.stream] or [*known]
    spelled = [other.name if node.bare else str(other) for other in near]
    return place.unknown("column", column.name if node.bare else str(column), spelled, span.start, span.end)


def _bind_literal(node: Literal, _: object, __: object, ___: object) -> Step:
    # A tinyint is the one whole literal that Spark does not cut to the digits it has.
    whole = types.is_integer(node.type) and node.type != types.TINYINT
    digits = len(str(abs(int(str(node.value))))) if whole else None
    value = pa.scalar(node.value, node.type)
    return constant(value, digits=digits, whole_days=node.whole_days)


def _bind_literals(node: Literals, _: object, __: object, ___: object) -> Step:
    return listed(pa.array(node.values, node.type))


def _bind_cast(node: Cast, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> Step:
    child = bind(node.child, known, place, session)
    try:
        return _placed(casts.cast(child, node.type, session, safe=node.safe), node, place)
    except Refused as reason:
        raise refused(node, reason, place) from None


def _bind_call(node: Call, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> Step:
    args = [bind(arg, known, place, session) for arg in node.args]
    try:
        return _placed(RULES[node.name](session, args), node, place)
    except Refused as reason:
        raise refused(node, reason, place) from None


def _placed(step: Step, node: Node, place: Place) -> Step:
    """Let the step's errors name their place in the text."""
    if not step.fails:
        return step
    return Step(step.type, guarded(step.run, node, place), fails=True, whole_days=step.whole_days)


def guarded(run: Callable[[Frame], Value], node: Node, place: Place) -> Callable[[Frame], Value]:
    """Turn what a kernel raises into an error that shows the place."""

    def guard(frame: Frame) -> Value:
        try:
            return run(frame)
        except FAULTS as fault:
            raise place.fault(faults.reason(fault), node.span.start, node.span.end) from None

    return guard


_BINDERS: dict[type[Node], Callable[..., Step]] = {
    Ref: _bind_ref,
    Literal: _bind_literal,
    Literals: _bind_literals,
    Cast: _bind_cast,
    Call: _bind_call,
}
