"""The bound: a policy that knows the truth (Content-Knows).

It follows section 6.2 of the content-based routing paper. It is given the classifier attribute and every operator's
selectivity in each class, and routes each class by them. Gains of other policies beside `source` are measured against
its gain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eddy.classes.classifier import MOST_BUCKETS, Features
from eddy.classes.divider import Attribute
from eddy.contracts import Leg, Policy, Setting, Task
from eddy.errors import QueryError, unknown_name
from eddy.policies.shared.checks import check_costs
from eddy.policies.shared.merit import Costs, row_price
from eddy.policies.shared.orders import best_orders, legs
from eddy.tuples import Hop

PARTS = ("attribute", "values", "selectivities")


class Knows(Policy):
    """Routes each class by the true selectivities.

    `truth` names the classifier `attribute` as "stream.column", its `values`, and for each operator its
    `selectivities`, one for each value. A row with another value takes the order that is best on average.

    >>> truth = {"attribute": "s.c", "values": [0, 1], "selectivities": {"cheap": [0.1, 0.9]}}
    >>> from eddy.sql import Column
    >>> Knows(Setting(operators=("cheap",), columns=(Column("s", "c"),)), truth=truth).features.buckets
    2
    """

    def __init__(self, setting: Setting, *, truth: Mapping[str, Any], costs: Costs = "time") -> None:
        where = 'policy "knows": truth'
        check_costs(costs, where='policy "knows"')
        self._costs: Costs = costs
        if not isinstance(truth, Mapping) or set(truth) != set(PARTS):
            raise QueryError(f"{where}: expected attribute, values and selectivities, got {truth!r}")
        columns = {str(column): column for column in setting.columns}
        if str(truth["attribute"]) not in columns:
            raise unknown_name("classifier attribute", str(truth["attribute"]), columns, where=where)
        values, told = truth["values"], truth["selectivities"]
        if not isinstance(values, list | tuple) or not 1 <= len(set(values)) == len(values) <= MOST_BUCKETS:
            raise QueryError(
                f"{where}: values: expected a list of 1 to {MOST_BUCKETS} different values, got {values!r}"
            )
        if not isinstance(told, Mapping):
            raise QueryError(f"{where}: selectivities: expected a list of numbers for each operator, got {told!r}")
        attribute = Attribute(columns[truth["attribute"]], tuple(values))
        self.features = Features(attributes=(attribute,), buckets=max(len(values), 2))
        self._told = {
            op: _check_truth(op, told, len(values), setting, where) for op, told in truth["selectivities"].items()
        }

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        """The best order of each class."""
        told = [self._told.get(hop.operator) for hop in ready]
        column = self.features.of(task.lineage.origin)
        if len(ready) == 1 or not column or any(one is None for one in told):
            return [Leg(route=ready[:1])]
        table = np.array(told).T
        rates = np.vstack((table, table.mean(axis=0)))
        costs = np.array([row_price(hop, task.prices, self._costs) for hop in ready])
        which = np.minimum(task.buckets()[:, 0].astype(np.int64), len(table))
        common = np.argsort((rates[-1] - 1) / costs, kind="stable")
        orders = best_orders(rates, costs, common, np.bincount(which, minlength=len(rates)))
        orders = orders if task.independent else orders[:, :1]
        buckets = np.append(np.arange(len(table)), self.features.buckets).astype(np.uint8)
        return legs(orders, which, np.arange(task.rows), ready, (0,), buckets[:, None])


def _check_truth(operator: str, told: Any, values: int, setting: Setting, where: str) -> Sequence[float]:
    if operator not in setting.operators:
        raise unknown_name("operator", operator, setting.operators, where=f"{where}: selectivities")
    if not isinstance(told, list | tuple) or not all(isinstance(rate, int | float) and rate >= 0 for rate in told):
        raise QueryError(f'{where}: selectivities: expected numbers of 0 or more for "{operator}", got {told!r}')
    if len(told) != values:
        raise QueryError(
            f'{where}: selectivities: expected one for each of {values} values, got {len(told)} of "{operator}"'
        )
    return told
