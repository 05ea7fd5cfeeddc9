"""From the tree to steps: types are checked, constants folded."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

from eddy.errors import QueryError, unknown
from eddy.sql import casts, types
from eddy.sql.place import Place
from eddy.sql.rules import RULES
from eddy.sql.step import FAULTS, Frame, Refused, Session, Step, Value, constant
from eddy.sql.tree import Call, Cast, Column, Literal, Node, Ref

DEFAULT_ZONE = "UTC"


def session(known: Mapping[Column, pa.DataType]) -> Session:
    """Take the session's zone from the columns; without any it is UTC."""
    zones = [type.tz for type in known.values() if types.is_timestamp(type) and type.tz]
    return Session(zone=zones[0] if zones else DEFAULT_ZONE)


def bind(node: Node, known: Mapping[Column, pa.DataType], place: Place, session: Session) -> Step:
    """Bind a node, and whatever is below it."""
    return _BINDERS[type(node)](node, known, place, session)


def refused(node: Node, reason: Refused, place: Place) -> QueryError:
    """Build the error for types that do not fit."""
    return place.error(str(reason), node.span.start, node.span.end)


def _bind_ref(node: Ref, known: Mapping[Column, pa.DataType], place: Place, _: Session) -> Step:
    column = node.column
    if column not in known:
        error = unknown("column", str(column), map(str, known), where=place.where)
        raise QueryError(f"{error}\n{place.marked(node.span.start, node.span.end)}")
    return Step(types.logical(known[column]), lambda frame: frame.columns[column])


def _bind_literal(node: Literal, _: object, __: object, ___: object) -> Step:
    # A tinyint is the one whole literal that Spark does not cut to the digits it has.
    whole = types.is_integer(node.type) and node.type != types.TINYINT
    digits = len(str(abs(int(str(node.value))))) if whole else None
    value = pa.scalar(node.value, node.type)
    return constant(value, digits=digits, whole_days=node.whole_days)


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
            raise place.error(str(fault), node.span.start, node.span.end) from None

    return guard


_BINDERS: dict[type[Node], Callable[..., Step]] = {
    Ref: _bind_ref,
    Literal: _bind_literal,
    Cast: _bind_cast,
    Call: _bind_call,
}
