"""Three-valued logic, and forms that evaluate row by row.

Spark evaluates a branch of CASE only where its condition is true. A step that cannot fail is evaluated on all rows,
which is faster; one that can sees only its rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.sql.kernels.casts import coerce
from eddy.sql.kernels.comparison import compare, unite
from eddy.sql.values import types
from eddy.sql.values.arrays import Value, choose, fill, scatter, truth
from eddy.sql.values.session import Session
from eddy.sql.values.step import BoundStep, Frame, Refused, apply, connect_steps, constant, narrow_rows, run_partly


def _condition(step: BoundStep, session: Session, doing: str, *, strings: bool = True, at: int = 0) -> BoundStep:
    # Spark takes a bare null as a condition anywhere but after WHEN.
    taken = (types.BOOLEAN,) if doing == "CASE" else (types.BOOLEAN, types.NULL)
    if step.type in taken or (strings and step.type == types.STRING):
        return coerce(step, types.BOOLEAN, session)
    raise Refused(f'{doing} needs a condition, of type "boolean", got {types.names([step.type])}', at=at)


def connect(name: str, session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind AND and OR, of any number of conditions."""
    return connect_steps(name, [_condition(arg, session, name.upper(), at=at) for at, arg in enumerate(args)])


def negate(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind NOT."""
    return apply(pc.invert, (_condition(args[0], session, "NOT"),), types.BOOLEAN)


def is_null(_: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind IS NULL, for values of any type."""
    return apply(pc.is_null, args, types.BOOLEAN)


def is_not_null(_: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind ISNOTNULL."""
    return apply(pc.is_valid, args, types.BOOLEAN)


def is_true(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind IS TRUE."""
    condition = _condition(args[0], session, "IS TRUE")
    return apply(lambda value: pc.fill_null(value, False), (condition,), types.BOOLEAN)


def is_false(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind IS FALSE."""
    condition = _condition(args[0], session, "IS FALSE")
    return apply(lambda value: pc.invert(pc.fill_null(value, True)), (condition,), types.BOOLEAN)


def case(session: Session, args: Sequence[BoundStep], doing: str = "CASE") -> BoundStep:
    """Bind CASE: conditions and values in turn, perhaps an ELSE."""
    places = range(0, len(args) // 2 * 2, 2)
    conditions = [_condition(args[at], session, doing, strings=False, at=at) for at in places]
    otherwise = list(args[-1:]) if len(args) % 2 else [constant(pa.scalar(None))]
    values = unite(session, [*args[1::2], *otherwise], doing)
    if not any(step.fails for step in (*conditions[1:], *values)):
        return _eager_case(conditions, values)
    branches = [*zip(conditions, values, strict=False), (constant(pa.scalar(True)), values[-1])]
    return BoundStep(values[0].type, _choose_lazily(branches, values[0].type), fails=True)


def _eager_case(conditions: Sequence[BoundStep], values: Sequence[BoundStep]) -> BoundStep:
    count = len(conditions)

    def kernel(*made: Value) -> Value:
        # From the last branch to the first, so that the first that is true has the last word.
        return functools.reduce(
            lambda otherwise, at: _choose(made[at], made[count + at], otherwise), reversed(range(count)), made[-1]
        )

    return apply(kernel, (*conditions, *values), values[-1].type)


def _choose(condition: Value, value: Value, otherwise: Value) -> Value:
    return choose(pc.fill_null(condition, False), value, otherwise)


def _choose_lazily(branches: Sequence[tuple[BoundStep, BoundStep]], type: pa.DataType) -> Callable[[Frame], Value]:
    def run(frame: Frame) -> Value:
        pending, parts, placed = np.arange(frame.rows), [], []
        for condition, value in branches:
            if not len(pending):
                break
            rows = narrow_rows(frame, pending)
            hit = truth(fill(condition.run(rows), len(pending)))
            chosen, pending = pending[hit], pending[~hit]
            if len(chosen):
                parts.append(fill(value.run(narrow_rows(frame, chosen)), len(chosen)))
                placed.append(chosen)
        return scatter(parts, np.concatenate(placed) if placed else pending, frame.rows, type)

    return run


def when(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind IF, the CASE of one condition."""
    return case(session, args, "IF")


def coalesce(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind COALESCE.

    An argument is evaluated where all before are null.
    """
    steps = unite(session, args, "COALESCE")
    if not any(step.fails for step in steps[1:]):
        return apply(pc.coalesce, steps, steps[0].type)

    def run(frame: Frame) -> Value:
        made = fill(steps[0].run(frame), frame.rows)
        for step in steps[1:]:
            missing = np.flatnonzero(made.is_null().to_numpy(zero_copy_only=False))
            if not len(missing):
                break
            made = pc.coalesce(made, run_partly(step, frame, missing))
        return made

    return BoundStep(steps[0].type, run, fails=True)


def null_if(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind NULLIF: null where both are equal, else the first."""
    first = args[0]
    equal = compare("=", session, args)
    return apply(_choose, (equal, constant(pa.scalar(None, first.type)), first), first.type)


def second_if_known(session: Session, args: Sequence[BoundStep]) -> BoundStep:
    """Bind NVL2: the second where the first is not null."""
    return case(session, (is_not_null(session, args[:1]), *args[1:]), "NVL2")
