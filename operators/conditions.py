"""The conditions of a join, ready to be asked of rows.

Rows are found by a `JoinPair`: an equality, or an order whose keys sort as their values do. A `Residual` is any
condition at all, and is asked of candidates that have been found. A `Pattern` is what can be asked of tuples that span
certain inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from eddy.operators.keys import Key
from eddy.operators.stem import Stem
from eddy.predicates.faults import FAILS, Faults
from eddy.predicates.judge import Judge, Judged, ask_sql
from eddy.predicates.row_errors import ask_by_halves
from eddy.sql import Bound, Column, ComparedPair, Expression, bind_pair
from eddy.tuples.arrays import Mask, RowIds
from eddy.tuples.codes import is_exact
from eddy.tuples.values import Values

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
class JoinPair:
    """A comparison between two inputs.

    It has both sides, and how each compares with the other.
    """

    sides: Mapping[str, Side]
    ops: Mapping[str, str]

    def other(self, input: str) -> Side:
        """The side that is not an input's."""
        first, second = self.sides.values()
        return second if first.input == input else first


@dataclass(frozen=True, kw_only=True)
class Residual:
    """A condition over any number of inputs."""

    inputs: frozenset[str]
    columns: Sequence[Column]
    text: str
    judge: Judge
    sides: Sequence[Bound]

    def holds(self, stems: Mapping[str, Stem], ids: Mapping[str, RowIds], rows: int) -> Judged:
        """Mask the tuples for which the condition is true.

        Null compares with nothing, also with a side that cannot be computed: an index that is searched for a null
        finds nothing, whichever side it is on.
        """
        judged = self.judge.ask(_values_of(self.columns, stems, ids), rows)
        if judged.faults is None:
            return judged
        # `a = b` with b null is null whatever a is: such a row is no match, and no error if a cannot be computed.
        faulty = judged.faults.nonzero()[0]
        met = {name: held.take(faulty) for name, held in ids.items()}
        for side in self.sides:
            null = faulty[_is_null(side, columns_of(side.columns, stems, met), len(faulty))]
            judged.passed[null] = False
        return judged


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """All conditions of a query."""

    equalities: Sequence[JoinPair]
    orders: Sequence[JoinPair]
    residuals: Sequence[Residual]


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """The access pattern for tuples that span certain inputs.

    `terms` are the comparisons by which it searches, as texts, and `keys` the numbers of the target's keys in them.
    `mask` are those that must be equal; without any, all `keys` are the one that the `orders` are about. Tuples with
    the same rows of the inputs that it `settles` by find the same, but for what their times say. `text` is what reports
    call it.
    """

    equalities: Sequence[JoinPair]
    orders: Sequence[JoinPair]
    residuals: Sequence[Residual]
    keys: tuple[int, ...]
    mask: int
    terms: tuple[str, ...]
    reads: frozenset[str]
    settles: frozenset[str]
    text: str

    @property
    def faulty(self) -> bool:
        """Some row has no key to compute: no index finds its matches."""
        return any(side.key.faulty for one in self.searched for side in one.sides.values())

    @property
    def searched(self) -> Sequence[JoinPair]:
        """The comparisons by which rows are found; empty for a scan."""
        return self.equalities or self.orders


def sort_conditions(
    predicates: Sequence[Expression],
    types: Mapping[Column, pa.DataType],
    stems: Mapping[str, Stem],
    faults: Faults,
) -> Conditions:
    """Sort a query's conditions by what can be done with them."""
    equalities: list[JoinPair] = []
    orders: list[JoinPair] = []
    residuals: list[Residual] = []
    for predicate in predicates:
        bound = predicate.condition(types)
        compared = _between_two(predicate.comparison())
        pair = _pair(compared, types, stems, faults) if compared is not None else None
        # An equality is checked by its keys, so it needs no residual. An order's key only finds candidates.
        if pair is not None and "=" in pair.ops.values():
            equalities.append(pair)
            continue
        sides = () if compared is None else bind_pair(compared.left, compared.right, types)
        residuals.append(_residual(predicate, bound, sides, faults))
        if pair is not None:
            orders.append(pair)
    return Conditions(equalities=equalities, orders=orders, residuals=residuals)


def evaluate(bound: Bound, stems: Mapping[str, Stem], ids: Mapping[str, RowIds], rows: int) -> pa.Array:
    """The value of an expression for each tuple."""
    return bound.evaluate(columns_of(bound.columns, stems, ids), rows)


def columns_of(
    columns: Sequence[Column], stems: Mapping[str, Stem], ids: Mapping[str, RowIds]
) -> dict[Column, pa.Array]:
    """The values of columns for each tuple."""
    return {c: values.arrow() for c, values in _values_of(columns, stems, ids).items()}


def _values_of(columns: Sequence[Column], stems: Mapping[str, Stem], ids: Mapping[str, RowIds]) -> dict[Column, Values]:
    """The same, not gathered yet."""
    return {c: Values(stems[str(c.stream)].column(c.name), ids[str(c.stream)]) for c in columns}


def _is_null(side: Bound, columns: Mapping[Column, pa.Array], rows: int) -> Mask:
    """Mask the rows with a null on one side of a comparison.

    A side that cannot be computed is not null.
    """
    null = np.zeros(rows, np.bool_)
    for part, known in ask_by_halves(lambda part: _nulls(side, columns, part), rows).parts:
        null[part] = known
    return null


def _nulls(side: Bound, columns: Mapping[Column, pa.Array], part: RowIds) -> Mask:
    places = pa.array(part)
    values = side.evaluate({column: array.take(places) for column, array in columns.items()}, len(part))
    return np.array(values.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _between_two(comparison: ComparedPair | None) -> ComparedPair | None:
    """Give the comparison if it compares one input with another."""
    if comparison is None:
        return None
    left, right = comparison.left.inputs, comparison.right.inputs
    return comparison if len(left) == len(right) == 1 and left != right else None


def _residual(predicate: Expression, bound: Bound, sides: Sequence[Bound], faults: Faults) -> Residual:
    judge = Judge(f"join {predicate.text}", ask_sql(bound), faults, on_error=FAILS)
    return Residual(inputs=predicate.inputs, columns=bound.columns, text=predicate.text, judge=judge, sides=sides)


def _pair(
    comparison: ComparedPair, types: Mapping[Column, pa.DataType], stems: Mapping[str, Stem], faults: Faults
) -> JoinPair | None:
    """Add the keys to a comparison.

    Gives None for `!=`, and for orders of values whose codes do not sort as they do.
    """
    if comparison.op not in MIRRORED:
        return None
    expressions = (comparison.left, comparison.right)
    bounds = bind_pair(*expressions, types)
    # Hashes have no order.
    if comparison.op != "=" and not all(is_exact(bound.type) for bound in bounds):
        return None
    sides = {}
    for expression, bound in zip(expressions, bounds, strict=True):
        (name,) = expression.inputs
        key = stems[name].key(expression, bound, faults)
        sides[name] = Side(input=name, key=key, bound=bound, text=expression.text)
    left, right = sides
    return JoinPair(sides=sides, ops={left: comparison.op, right: MIRRORED[comparison.op]})


def make_pattern(
    target: str, spans: frozenset[str], conditions: Conditions, number: Callable[[Key], int], timed: Collection[str]
) -> Pattern:
    """Find the access pattern to an input, for tuples that span some others; `timed` are those with event times."""
    joined = spans | {target}
    equalities = [e for e in conditions.equalities if target in e.sides and joined.issuperset(e.sides)]
    orders = [o for o in conditions.orders if target in o.sides and joined.issuperset(o.sides)]
    # Conditions that this probe completes: all their inputs are there with it, and some were not before.
    residuals = [r for r in conditions.residuals if target in r.inputs and joined >= r.inputs]
    # Equalities find far fewer rows than an order does. The orders are residuals too, so none is forgotten.
    orders = keep_one_key(orders, target)
    searched: Sequence[JoinPair] = equalities or orders
    texts = [e.sides[target].text for e in equalities]
    texts += [] if equalities else [f"{o.sides[target].text} {o.ops[target]}" for o in orders]
    keys = [number(one.sides[target].key) for one in searched]
    asked = set[str]().union(*(e.sides for e in searched), *(r.inputs for r in residuals))
    return Pattern(
        equalities=equalities,
        orders=orders,
        residuals=residuals,
        keys=tuple(keys),
        mask=sum({1 << key for key in keys}) if equalities else 0,
        terms=tuple(describe_term(one, target) for one in searched),
        reads=spans.intersection(asked.union(timed)),
        settles=spans.intersection(asked),
        text=", ".join(dict.fromkeys(texts)) or " ".join(("scan", *(r.text for r in residuals))),
    )


def describe_term(one: JoinPair, target: str) -> str:
    """Write a comparison as a text, from the side of an input."""
    own, other = one.sides[target], one.other(target)
    return f"{own.text} {one.ops[target]} {other.input}.{other.text}"


def keep_one_key(orders: Sequence[JoinPair], target: str) -> list[JoinPair]:
    """Keep the orders that one index can answer.

    Those are the ones on the key that most of them are about.
    """
    keys = [order.sides[target].key for order in orders]
    return [order for order, key in zip(orders, keys, strict=True) if key == max(keys, key=keys.count)]
