"""Tables of the share of each class that passes each operator.

With the routing calls that the best orders need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eddy.errors import QueryError, check_choice, check_whole
from eddy.jobs.experiments.workloads.ordering.exact import MOST_OPERATORS, find_cheapest
from eddy.jobs.workloads.parameters import call, check_number
from eddy.tuples.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Selectivities:
    """A table of classes by operators, and what a figure calls it."""

    values: Floats
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def classes(self) -> int:
        """Count the classes."""
        return len(self.values)

    @property
    def aggregate(self) -> float:
        """The share that passes all operators.

        The classes are taken as equally frequent and the outcomes as independent.
        """
        return float(self.values.prod(axis=1).mean())


def best_calls(values: Floats, shares: Floats | None = None) -> float:
    """Compute the fewest routing calls per tuple.

    Every class takes its best order: the bound for any policy. `shares` are those of the classes; equal ones when none
    are given.

    >>> round(best_calls(np.array([[0.5, 0.1], [0.2, 1.0]])), 9)
    1.15
    """
    ordered = np.sort(values, axis=1)
    return float(np.average(1 + ordered.cumprod(axis=1)[:, :-1].sum(axis=1), weights=shares))


def skew(operators: int, _seed: int, *, A: float, aggregate: float = 0.05) -> Selectivities:  # noqa: N803  as the paper
    """Table 3: operator i passes A of class i, B of the others.

    B keeps the aggregate selectivity.
    """
    if operators < 2:
        raise QueryError(f"selectivities skew: expected two operators or more, got {operators}")
    b = _share("skew", "aggregate", aggregate) / _share("skew", "A", A)
    if b > 1 + 1e-9:
        raise QueryError(f"selectivities skew: expected aggregate to be at most A, got {aggregate} and {A}")
    rest = min(b, 1.0) ** (1 / (operators - 1))
    values = np.where(np.eye(operators, dtype=bool), A, rest)
    return Selectivities(values=values, facts={"A": A, "B": round(rest, 4), "skew": round(A - rest, 4)})


def random(
    operators: int,
    seed: int,
    *,
    classes: int | None = None,
    low: float = 0.0,
    high: float = 1.0,
    aggregate: float | None = None,
) -> Selectivities:
    """Draw any selectivity as likely as any other.

    There are as many classes as operators (section 6.4). With `aggregate` (section 6.5) every class keeps that share:
    it is dealt out to its operators at random.
    """
    rng = np.random.default_rng([seed, 1])
    shape = (operators if classes is None else check_whole(classes, "classes", where="selectivities random"), operators)
    if aggregate is None:
        return Selectivities(values=rng.uniform(_share("random", "low", low), _share("random", "high", high), shape))
    parts = rng.dirichlet(np.ones(operators), size=shape[0])
    values = _share("random", "aggregate", aggregate) ** parts
    return Selectivities(values=values, facts={"aggregate": aggregate})


def partitions(operators: int, _seed: int, *, p: int = 3, low: float = 0.2, high: float = 0.95) -> Selectivities:
    """Make partitions with different best orders.

    In partition k every p-th operator passes `low`, the others `high`.

    Table 3 of the Query Mesh paper has three skewed partitions of which it says just that; how skewed, it does not say.
    """
    if operators < check_whole(p, "p", where="selectivities partitions"):
        raise QueryError(f"selectivities partitions: expected an operator for each of {p} partitions, got {operators}")
    own = np.arange(operators) % p == np.arange(p)[:, None]
    values = np.where(own, _share("partitions", "low", low), _share("partitions", "high", high))
    return Selectivities(values=values, facts={"partitions": p})


def uniform(operators: int, _seed: int, *, selectivity: float | Sequence[Any] = 0.5, classes: int = 4) -> Selectivities:
    """Make classes that do not differ.

    The attribute looks like a classifier, and is none.

    In an experiment, where a list stands for several workloads, one selectivity for each operator is a list in a list.
    """
    shares = np.full(operators, selectivity) if isinstance(selectivity, float | int) else np.ravel(selectivity)
    if len(shares) != operators:
        raise QueryError(f"selectivities uniform: expected one selectivity for each operator, got {len(shares)}")
    return _check_table(np.tile(shares, (check_whole(classes, "classes", where="selectivities uniform"), 1)), operators)


TABLES: dict[str, Callable[..., Selectivities]] = {
    "skew": skew,
    "random": random,
    "partitions": partitions,
    "uniform": uniform,
}
"""The tables that have a name."""


def selectivities(choice: object, operators: int, seed: int) -> Selectivities:
    """Read a table by its name and parameters, or written out.

    {"table": "skew", "A": 0.05}, or a list [class][operator].

    `rotate` moves each operator's column that many places on: the same classes, with another order that is best.

    >>> selectivities([[0.1, 0.9], [0.9, 0.1]], 2, seed=0).classes
    2
    """
    if not isinstance(choice, Mapping):
        return _check_table(_matrix(choice), operators)
    parameters = dict(choice)
    name, by = parameters.pop("table", None), parameters.pop("rotate", 0)
    check_choice(name, TABLES, "table", where="selectivities")
    found = call(TABLES[name], parameters, operators, seed, where=f"selectivities {name}", more=("rotate", "table"))
    return Selectivities(values=np.roll(found.values, by, axis=1), facts=found.facts)


def best_order(values: Floats, weights: Floats, costs: Floats | None = None) -> list[int] | None:
    """Find the best order that all classes can share.

    It needs the fewest routing calls, or costs least where calls have `costs`; `weights` are the shares of the classes.

    >>> import numpy as np
    >>> best_order(np.array([[0.9, 0.1, 0.5], [0.9, 0.2, 0.5]]), np.array([0.5, 0.5]))
    [1, 2, 0]
    """
    operators = values.shape[1]
    if operators > MOST_OPERATORS:
        return None
    sets = np.arange(1 << operators)[:, None] >> np.arange(operators) & 1
    left = np.array([weights @ np.where(one, values, 1.0).prod(axis=1) for one in sets])
    return find_cheapest(left, np.ones(operators) if costs is None else costs)


def calls_of(order: list[int], values: Floats, weights: Floats) -> float:
    """Routing calls per tuple when all classes take one order.

    >>> import numpy as np
    >>> round(calls_of([1, 0], np.array([[0.5, 0.1], [0.2, 1.0]]), np.array([0.5, 0.5])), 9)
    1.55
    """
    left = values[:, order[:-1]].cumprod(axis=1).sum(axis=1)
    return float(weights @ (1 + left))


def _matrix(rows: object) -> Floats:
    try:
        return np.array(rows, float)
    except (TypeError, ValueError):
        raise QueryError(f"selectivities: expected a row of numbers for each class, got {rows!r}") from None


def _check_table(values: Floats, operators: int) -> Selectivities:
    if values.ndim != 2 or not len(values) or values.shape[1] != operators:
        raise QueryError(
            f"selectivities: expected a row for each class and {operators} columns, one for each operator, "
            f"got the shape {values.shape}"
        )
    if not ((values >= 0) & (values <= 1)).all():
        raise QueryError("selectivities: expected shares from 0 to 1")
    return Selectivities(values=values)


def _share(table: str, name: str, value: object) -> float:
    return check_number(value, name, where=f"selectivities {table}", most=1)
