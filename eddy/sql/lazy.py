"""Steps that evaluate an argument only on the rows that need it.

Spark stops at the first argument that settles a row: a false one of AND, a true one of OR, a null one of whatever
gives null for a null. That matters only where a later argument can fail: all else is evaluated on all rows, which is
faster.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import QueryError
from eddy.sql.arrays import fill, nulls, scattered, truth
from eddy.sql.faults import FAULTS
from eddy.sql.step import Frame, Step, apply
from eddy.sql.value import Kernel, Value

Positions = np.ndarray[Any, np.dtype[np.int64]]
_KERNELS: dict[str, Kernel] = {"and": pc.and_kleene, "or": pc.or_kleene}
# The value that settles AND and OR, whatever the others are.
_SETTLING = {"and": pa.scalar(False), "or": pa.scalar(True)}


def narrowed(frame: Frame, positions: Positions) -> Frame:
    """Keep some of the rows."""
    return frame if len(positions) == frame.rows else frame.narrow(pa.array(positions))


def partly(step: Step, frame: Frame, positions: Positions) -> Value:
    """Evaluate on some rows; the others are null."""
    if not len(positions):
        return pa.nulls(frame.rows, step.type)
    if len(positions) == frame.rows:
        return step.run(frame)
    part = fill(step.run(narrowed(frame, positions)), len(positions))
    return scattered([part], positions, frame.rows, step.type)


def connected(name: str, steps: Sequence[Step]) -> Step:
    """Join any number of conditions by AND or OR."""
    kernel, settling = _KERNELS[name], _SETTLING[name]
    if all(step.value is not None for step in steps):
        return functools.reduce(lambda left, right: apply(kernel, (left, right), left.type), steps)

    def run(frame: Frame) -> Value:
        made = steps[0].run(frame)
        for step in steps[1:]:
            if not step.fails:
                made = kernel(made, step.run(frame))
                continue
            unsettled = np.flatnonzero(~truth(fill(pc.equal(made, settling), frame.rows)))
            made = kernel(made, partly(step, frame, unsettled))
        return made

    return Step(steps[0].type, run, fails=any(step.fails for step in steps))


def strict(
    kernel: Kernel, args: Sequence[Step], type: pa.DataType, *, fails: bool = False, backwards: bool = False
) -> Step:
    """Apply a kernel that gives null where any argument is null.

    An argument is evaluated where those before it are not null; `backwards` begins with the last, as a division does.
    """
    order = [*range(len(args))][:: -1 if backwards else 1]
    step = apply(kernel, args, type, fails=fails)
    if step.value is not None or not any(args[at].fails for at in order[1:]):
        return step

    def run(frame: Frame) -> Value:
        values: dict[int, Value] = {}
        for at in order:
            values[at] = _where_known(args[at], frame, [*values.values()])
        return kernel(*(values[at] for at in range(len(args))))

    return Step(type, run, fails=True)


def _where_known(step: Step, frame: Frame, before: Sequence[Value]) -> Value:
    """Evaluate where no value before is null, if it matters."""
    if not step.fails:
        return step.run(frame)
    if any(isinstance(value, pa.Scalar) and not value.is_valid for value in before):
        return pa.nulls(frame.rows, step.type)
    missing = nulls(*(value for value in before if not isinstance(value, pa.Scalar)))
    if missing is None:
        return step.run(frame)
    if not frame.careful:
        # All rows at once are five times as fast as some of them, and seldom fail; if they do, then no step below
        # tries it again, or the time would double with each level.
        try:
            return step.run(frame)
        except (QueryError, *FAULTS):
            frame = Frame(frame.columns, frame.rows, careful=True)
    return partly(step, frame, np.flatnonzero(~missing))
