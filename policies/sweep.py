"""Sweep: one operator is profiled at a time.

It follows section 4.4 of Babu's thesis. In each stage the operator at one place is also shown rows that others drop
before it, and moves forward if it belongs there. It comes to an order of A-Greedy's kind, later and with less
profiling.
"""

from __future__ import annotations

from eddy.contracts import Setting
from eddy.policies.matrix.policy import MatrixPolicy
from eddy.policies.matrix.stream_order import Conduct
from eddy.policies.shared.merit import Costs


class Sweep(MatrixPolicy):
    """Keeps the Sweep Invariant (definition 4.4.1), place after place.

    The parameters are those of `a_greedy`.

    >>> Sweep(Setting(operators=("cheap", "dear"))).snapshot()
    {'streams': {}, 'uses': []}
    """

    def __init__(
        self,
        setting: Setting,
        *,
        p: float | str = 0.01,
        window: int = 500,
        alpha: float = 0.9,
        costs: Costs = "time",
        price: float = 0.005,
    ) -> None:
        conduct = Conduct(variant="sweep", p=p, window=window, alpha=alpha, costs=costs, price=price)
        super().__init__(setting, conduct)
