"""Bound expressions: steps that turn columns into a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from eddy.sql.faults import FAULTS
from eddy.sql.tree import Column
from eddy.sql.value import Kernel, Value


class Refused(Exception):
    """An operator or function does not take such types.

    `at` is the argument that is to blame, where it is one of them.
    """

    def __init__(self, reason: str, *, at: int | None = None) -> None:
        super().__init__(reason)
        self.at = at


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
class Step:
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


def constant(value: pa.Scalar, **marks: Any) -> Step:
    """Build the step of a value that is known now."""
    return Step(value.type, lambda _: value, value=value, **marks)


def listed(values: pa.Array) -> Step:
    """Build the step of a list of values that are known now."""
    return Step(values.type, lambda _: values, values=values)


def apply(kernel: Kernel, args: Sequence[Step], type: pa.DataType, *, fails: bool = False) -> Step:
    """Build the step that hands its arguments to a kernel.

    Constant arguments give a constant, unless the kernel refuses them: then the error waits for a row that needs it.
    """
    if args and all(arg.value is not None for arg in args):
        try:
            return constant(kernel(*(arg.value for arg in args)))
        except FAULTS:
            pass
    return Step(type, _runner(kernel, [arg.run for arg in args]), fails or any(arg.fails for arg in args))


def _runner(kernel: Kernel, runs: list[Callable[[Frame], Value]]) -> Callable[[Frame], Value]:
    if len(runs) == 1:
        (only,) = runs
        return lambda frame: kernel(only(frame))
    if len(runs) == 2:
        first, second = runs
        return lambda frame: kernel(first(frame), second(frame))
    return lambda frame: kernel(*(run(frame) for run in runs))
