"""Attributes: filters whose outcomes a column of some shape foretells.

The columns are as people have them: with outliers, sentinels, many texts, ids that nearly go up. The class of each row
stands in a column that only `knows` is told about, so that `knows` gains what a perfect classifier would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

import eddy
from eddy.classes.single_values import MOST_BUCKETS
from eddy.comparison.workload import Workload
from eddy.errors import QueryError, check_whole
from eddy.jobs.experiments.workloads.burn import MaskFunction, add_work
from eddy.jobs.experiments.workloads.columns import (
    DOMAIN,
    build_member,
    build_uneven_member,
    draw_keys,
    draw_numbers,
    make_noise,
)
from eddy.jobs.experiments.workloads.selectivities import Selectivities, best_order
from eddy.jobs.experiments.workloads.selectivities import selectivities as table_of
from eddy.jobs.experiments.workloads.shapes import Told
from eddy.jobs.experiments.workloads.shapes import shape as shape_of
from eddy.jobs.workloads.parameters import check_number
from eddy.tuples.arrays import Floats, Integers, Mask

ROWS = 60_000
TRUTH = "truth"
"""The column with each row's class."""

VALUE = "value"
"""The column that tells it, or several that are numbered."""


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """Each row's chances to pass, and its costs, by operator."""

    chances: Floats
    dear: Mask | None
    times: float

    def groups(self) -> tuple[Integers, Floats] | None:
        """Number the rows' classes, and give each class's table.

        Rows of a class have the same chances. Where that makes too many classes, they have the same best order, and the
        table has the means of their chances, which are in that order too.
        """
        told = self._ranked()
        table, which = np.unique(told, axis=0, return_inverse=True)
        if len(table) > MOST_BUCKETS:
            orders, which = np.unique(np.argsort(told, axis=1, kind="stable"), axis=0, return_inverse=True)
            if len(orders) > MOST_BUCKETS:
                return None
            sums = np.array([np.bincount(which.ravel(), column) for column in told.T]).T
            table = sums / np.bincount(which.ravel())[:, None]
        return which.ravel(), table

    def _ranked(self) -> Floats:
        """Give the chances by which `knows` is to rank operators.

        It has one cost for each operator. Where a row is dear to an operator, the operator is told to drop so much less
        of its like: what it drops for what a cheap row costs.
        """
        if self.dear is None:
            return self.chances
        return 1 - (1 - self.chances) / np.where(self.dear, self.times, 1.0)


def attributes(  # noqa: PLR0913  what a config file may say
    operators: int,
    selectivities: object,
    *,
    shape: str | Mapping[str, Any] = "plain",
    rows: int = ROWS,
    seed: int = 0,
    own: bool = False,
    appear: float = 0.0,
    correlation: float = 0.0,
    cost_us: float = 0,
    dear: float = 1,
) -> Workload:
    """Make a stream whose columns of some shape foretell outcomes.

    `selectivities` is a table [class][operator] or a name with parameters. With `own`, each operator has a column of
    its own that tells its outcomes alone. Classes `appear` after that share of the rows; before, each operator passes
    as many of every class as it then does of all. That share of tuples, `correlation`, passes or fails all operators
    by one draw. Operators take `cost_us` for a row; with `dear`, one operator takes so many times as long, for each
    class another one.

    >>> attributes(2, [[0.1, 0.9], [0.9, 0.1]], shape="outlier", rows=100).truth["attribute"]
    's.truth'
    """
    _check(operators, rows, appear, correlation, cost_us, dear)
    rng = np.random.default_rng([seed, 5])
    table = table_of(selectivities, operators, seed)
    columns, classes = _draw_columns(rng, rows, table.classes, operators if own else 1, shape)
    outcomes = _outcomes(table, classes, appear, dear)
    mixed = own or appear or correlation or dear > 1 or any(told.by_time for told in columns.values())
    return replace(
        _workload(rng, columns, outcomes, correlation, cost_us),
        best=None if mixed else _best(table, classes[:, 0]),
        drift_points=(round(appear * rows),) if appear else (),
        facts={"operators": operators, "cost_us": cost_us, "classes": table.classes, **table.facts},
    )


def _workload(
    rng: np.random.Generator, columns: Mapping[str, Told], outcomes: Outcomes, correlation: float, cost_us: float
) -> Workload:
    """Draw the table, and make the query over it."""
    rows, operators = outcomes.chances.shape
    numbers = [rng.permutation(DOMAIN) for _ in range(operators)]
    by_time = any(told.by_time for told in columns.values())
    hidden, truth = _tell(None if by_time else outcomes.groups())
    told = {name: told.column for name, told in columns.items()} | _told(rng, outcomes, numbers, correlation)
    return Workload(
        name="attributes",
        query=_query(numbers, cost_us, outcomes.times),
        data={"s": pa.table({"ts": np.arange(rows), "id": np.arange(rows), **told, **hidden})},
        truth=truth,
        hidden=tuple(f"s.{name}" for name in hidden),
        attribute=_right(columns, by_time=by_time),
        costs="time" if cost_us else "unit",
    )


def _told(rng: np.random.Generator, outcomes: Outcomes, numbers: list[Integers], correlation: float) -> dict[str, Any]:
    """Draw the outcomes, and write them into foreign keys, beside columns that say nothing."""
    rows, operators = outcomes.chances.shape
    passed = draw_numbers(rng, rows, operators, correlation) < outcomes.chances
    slow = [None] * operators if outcomes.dear is None else list(outcomes.dear.T)
    fks = {f"fk{i + 1}": draw_keys(rng, numbers[i], passed[:, i], slow[i]) for i in range(operators)}
    return fks | make_noise(rng, rows)


def _check(operators: object, rows: object, appear: object, correlation: object, cost_us: object, dear: object) -> None:
    for name, number in (("operators", operators), ("rows", rows)):
        check_whole(number, name, where="attributes")
    for name, share in (("appear", appear), ("correlation", correlation)):
        check_number(share, name, where="attributes", most=1)
    check_number(cost_us, "cost_us", where="attributes")
    if check_number(dear, "dear", 1, where="attributes") > 1 and not cost_us:
        raise QueryError(f"attributes: expected dear of 1 or more, with cost_us above 0, got {dear!r}")


def _draw_columns(
    rng: np.random.Generator, rows: int, classes: int, columns: int, choice: str | Mapping[str, Any]
) -> tuple[dict[str, Told], Integers]:
    """Draw the columns, and the class of each row by each of them."""
    draw = shape_of(choice)
    drawn = [draw(rng, rows, classes) for _ in range(columns)]
    names = [VALUE] if columns == 1 else [f"{VALUE}{number + 1}" for number in range(columns)]
    return dict(zip(names, drawn, strict=True)), np.array([told.classes for told in drawn]).T


def _outcomes(table: Selectivities, classes: Integers, appear: float, dear: float) -> Outcomes:
    """Work out each row's chances and costs.

    There is a column of classes for each operator, or one for all.
    """
    rows, operators = len(classes), table.values.shape[1]
    everybody = np.broadcast_to(classes, (rows, operators))
    chances = table.values[everybody, np.arange(operators)]
    early = np.arange(rows) < round(appear * rows)
    chances = np.where(early[:, None], chances.mean(axis=0), chances)
    slow = None if dear == 1 else everybody % operators == np.arange(operators)
    return Outcomes(chances=chances, dear=slow, times=dear)


def _tell(groups: tuple[Integers, Floats] | None) -> tuple[dict[str, Integers], dict[str, Any] | None]:
    """Write down what `knows` is told, and the column with it, which no other policy sees."""
    if groups is None:
        return {}, None
    which, table = groups
    told = {f"op{number + 1}": column for number, column in enumerate(table.T.tolist())}
    truth = {"attribute": f"s.{TRUTH}", "values": list(range(len(table))), "selectivities": told}
    return {TRUTH: which}, truth


def _right(columns: Mapping[str, Told], *, by_time: bool) -> str | None:
    """Name the column that a policy should find.

    Nobody knows it of several. Where rows are told by time no column is right; the column of the event time, by which
    nothing can be told, stands for it, so that every other one counts as wrong.
    """
    if by_time:
        return "s.ts"
    return f"s.{VALUE}" if VALUE in columns else None


def _best(table: Selectivities, classes: Integers) -> list[str] | None:
    order = best_order(table.values, np.bincount(classes, minlength=table.classes) / len(classes))
    return None if order is None else [f"op{number + 1}" for number in order]


def _query(numbers: list[Integers], cost_us: float, dear: float) -> eddy.Query:
    filters = [
        eddy.Filter(f"op{i + 1}", on="s", function=_judge(known, cost_us, dear), columns=[f"fk{i + 1}"])
        for i, known in enumerate(numbers)
    ]
    return eddy.Query(name="attributes", streams=[eddy.Stream("s", time="ts")], filters=filters, select=["s.id"])


def _judge(known: Integers, cost_us: float, dear: float) -> MaskFunction:
    if dear == 1:
        return add_work(build_member(known), cost_us)
    return build_uneven_member(known, cost_us, dear)
