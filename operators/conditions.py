"""The conditions of a join, ready to be asked of rows.

Rows are found by a `Pair`: an equality, or an order whose keys sort as their values do. A `Residual` is any condition
at all, and is asked of candidates that have been found.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from eddy.codes import is_exact
from eddy.function import Mask
from eddy.sql import Bound, Column, Comparison, Expression, bind_pair, truth
from eddy.tuples import RowIds
from operators.keys import Key
from operators.stem import Stem

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The same comparison, seen from the other side."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison between two inputs."""

    input: str
    key: Key
    bound: Bound
    text: str


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A comparison between two inputs: its sides, and how each compares with the other."""

    sides: Mapping[str, Side]
    ops: Mapping[str, str]

    def other(self, input: str) -> Side:
        """The side that is not an input's."""
        return next(side for name, side in self.sides.items() if name != input)


@dataclass(frozen=True, kw_only=True)
class Residual:
    """A condition over any number of inputs."""

    inputs: frozenset[str]
    bound: Bound
    text: str

    def holds(self, stems: Mapping[str, Stem], ids: Mapping[str, RowIds], rows: int) -> Mask:
        """Where it is true."""
        return truth(evaluate(self.bound, stems, ids, rows))


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """All conditions of a query."""

    equalities: Sequence[Pair]
    orders: Sequence[Pair]
    residuals: Sequence[Residual]


def conditions(
    predicates: Sequence[Expression], types: Mapping[Column, pa.DataType], stems: Mapping[str, Stem]
) -> Conditions:
    """Sort the conditions of a query by what can be done with them."""
    equalities: list[Pair] = []
    orders: list[Pair] = []
    residuals: list[Residual] = []
    for predicate in predicates:
        bound = predicate.condition(types)
        compared = _between_two(predicate.comparison())
        pair = _pair(compared, types, stems) if compared is not None else None
        if pair is not None and "=" in pair.ops.values():
            equalities.append(pair)
            continue
        residuals.append(Residual(inputs=predicate.inputs, bound=bound, text=predicate.text))
        if pair is not None:
            orders.append(pair)
    return Conditions(equalities=equalities, orders=orders, residuals=residuals)


def evaluate(bound: Bound, stems: Mapping[str, Stem], ids: Mapping[str, RowIds], rows: int) -> pa.Array:
    """The value of an expression for each tuple."""
    columns = {c: stems[str(c.stream)].take(c.name, ids[str(c.stream)]) for c in bound.columns}
    return bound.evaluate(columns, rows)


def _between_two(comparison: Comparison | None) -> Comparison | None:
    """The comparison, if rows can be found by it: each side is about one input, and they are two."""
    if comparison is None or comparison.op not in MIRRORED:
        return None
    left, right = comparison.left.inputs, comparison.right.inputs
    return comparison if len(left) == len(right) == 1 and left != right else None


def _pair(comparison: Comparison, types: Mapping[Column, pa.DataType], stems: Mapping[str, Stem]) -> Pair | None:
    """The comparison with its keys; None for an order of values whose codes do not sort as they do."""
    expressions = (comparison.left, comparison.right)
    bounds = bind_pair(*expressions, types)
    if comparison.op != "=" and not all(is_exact(bound.type) for bound in bounds):
        return None
    sides = {}
    for expression, bound in zip(expressions, bounds, strict=True):
        (name,) = expression.inputs
        key = stems[name].key(expression, bound)
        sides[name] = Side(input=name, key=key, bound=bound, text=expression.text)
    left, right = sides
    return Pair(sides=sides, ops={left: comparison.op, right: MIRRORED[comparison.op]})
