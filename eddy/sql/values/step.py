"""Bound steps: functions from columns to a value.

A step with values that Spark would not evaluate must not see them: `1 / x` in `x <> 0 AND 1 / x > 2` may fail on rows
where x is 0. Steps know whether they can fail, and a step that can is run on the rows that need it only:

    x                 [2,    0,     4]
    x <> 0            [true, false, true]
    positions         [0,           2]
    1 / x on these    [0.5,         0.25]
    scattered         [0.5,  null,  0.25]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from eddy.errors import QueryError
from eddy.sql.values.arrays import Kernel, Value, fill, nulls, scatter, truth
from eddy.sql.values.faults import FAULTS
from eddy.sql.values.tree import Column
from eddy.tuples.arrays import Integers

_LAZY_KERNELS: dict[str, Kernel] = {"and": pc.and_kleene, "or": pc.or_kleene}
# The value that settles AND and OR, whatever the others are.
_SETTLING = {"and": False, "or": True}


class Refused(Exception):
    """An operator or function does not take such types.

    `at` is the argument that is to blame, where it is one of them.
    """

    def __init__(self, reason: str, *, at: int | None = None) -> None:
        super().__init__(reason)
        self.at = at


class OnlySpark(Refused):
    """Spark evaluates what is refused here."""


class Frame:
    """The rows on which an expression is evaluated.

    `careful` says that to evaluate an argument on more rows than Spark would has failed before.
    """

    __slots__ = ("careful", "columns", "rows")

    def __init__(self, columns: Mapping[Column, pa.Array], rows: int, *, careful: bool = False) -> None:
        self.columns = columns
        self.rows = rows
        self.careful = careful

    def narrow(self, positions: pa.Array) -> Frame:
        """Keep some of the rows, gathering columns when asked."""
        return Frame(_Taken(self.columns, positions), len(positions), careful=self.careful)


class _Taken(Mapping[Column, pa.Array]):
    """Columns of chosen rows, each gathered at its first use."""

    def __init__(self, source: Mapping[Column, pa.Array], positions: pa.Array) -> None:
        self._source = source
        self._positions = positions
        self._taken: dict[Column, pa.Array] = {}

    def __getitem__(self, column: Column) -> pa.Array:
        if column not in self._taken:
            self._taken[column] = self._source[column].take(self._positions)
        return self._taken[column]

    def __iter__(self) -> Iterator[Column]:
        return iter(self._source)

    def __len__(self) -> int:
        return len(self._source)


@dataclass(frozen=True)
class BoundStep:
    """One bound node: its type, and how to evaluate it.

    `fails` says that some values make it raise: such a step must only see the rows on which Spark would evaluate it.
    `value` is there for constants, `values` for a list of them, which only IN can read. `digits` is there for whole
    literals, which take part in decimal arithmetic with the digits they have. `whole_days` marks an interval in days:
    a date plus one of them stays a date.
    """

    type: pa.DataType
    run: Callable[[Frame], Value]
    fails: bool = False
    value: pa.Scalar | None = None
    values: pa.Array | None = None
    digits: int | None = None
    whole_days: bool = False


def constant(value: pa.Scalar, **marks: Any) -> BoundStep:
    """Build the step of a value that is known now."""
    return BoundStep(value.type, lambda _: value, value=value, **marks)


def constant_list(values: pa.Array) -> BoundStep:
    """Build the step of a list of values that are known now."""
    return BoundStep(values.type, lambda _: values, values=values)


def apply(kernel: Kernel, args: Sequence[BoundStep], type: pa.DataType, *, fails: bool = False) -> BoundStep:
    """Build the step that hands its arguments to a kernel.

    Constant arguments give a constant, unless the kernel refuses them: then the error waits for a row that needs it.
    """
    if args and all(arg.value is not None for arg in args):
        try:
            return constant(kernel(*(arg.value for arg in args)))
        except FAULTS:
            pass
    return BoundStep(type, _runner(kernel, [arg.run for arg in args]), fails or any(arg.fails for arg in args))


def _runner(kernel: Kernel, runs: list[Callable[[Frame], Value]]) -> Callable[[Frame], Value]:
    if len(runs) == 1:
        (only,) = runs
        return lambda frame: kernel(only(frame))
    if len(runs) == 2:
        first, second = runs
        return lambda frame: kernel(first(frame), second(frame))
    return lambda frame: kernel(*(run(frame) for run in runs))


def narrow_rows(frame: Frame, positions: Integers) -> Frame:
    """Keep some of the rows."""
    return frame if len(positions) == frame.rows else frame.narrow(pa.array(positions))


def run_partly(step: BoundStep, frame: Frame, positions: Integers) -> Value:
    """Evaluate on some rows; the others are null."""
    if not len(positions):
        return pa.nulls(frame.rows, step.type)
    if len(positions) == frame.rows:
        return step.run(frame)
    part = fill(step.run(narrow_rows(frame, positions)), len(positions))
    return scatter([part], positions, frame.rows, step.type)


def connect_steps(name: str, steps: Sequence[BoundStep]) -> BoundStep:
    """Join any number of conditions by AND or OR."""
    kernel, settling = _LAZY_KERNELS[name], pa.scalar(_SETTLING[name])
    if all(step.value is not None for step in steps):
        return functools.reduce(lambda left, right: apply(kernel, (left, right), left.type), steps)

    def run(frame: Frame) -> Value:
        # `made` is the value so far. With AND, a row that is false stays false, so a step that can fail sees only the
        # rows that are true or null so far; the null that it has elsewhere changes nothing: false AND null is false.
        made = steps[0].run(frame)
        for step in steps[1:]:
            if not step.fails:
                made = kernel(made, step.run(frame))
                continue
            unsettled = np.flatnonzero(~truth(fill(pc.equal(made, settling), frame.rows)))
            made = kernel(made, run_partly(step, frame, unsettled))
        return made

    return BoundStep(steps[0].type, run, fails=any(step.fails for step in steps))


def strict(
    kernel: Kernel, args: Sequence[BoundStep], type: pa.DataType, *, fails: bool = False, backwards: bool = False
) -> BoundStep:
    """Apply a kernel that gives null where any argument is null.

    An argument is evaluated where those before it are not null; `backwards` begins with the last, as a division does.
    """
    # The plain step is enough where all is constant, or where only the first argument can fail: every row needs that.
    order = [*range(len(args))][:: -1 if backwards else 1]
    step = apply(kernel, args, type, fails=fails)
    if step.value is not None or not any(args[at].fails for at in order[1:]):
        return step

    def run(frame: Frame) -> Value:
        values: dict[int, Value] = {}
        for at in order:
            values[at] = _evaluate_known(args[at], frame, [*values.values()])
        return kernel(*(values[at] for at in range(len(args))))

    return BoundStep(type, run, fails=True)


def _evaluate_known(step: BoundStep, frame: Frame, before: Sequence[Value]) -> Value:
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
    return run_partly(step, frame, np.flatnonzero(~missing))
