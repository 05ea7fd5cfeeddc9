"""Independent: operators are taken for independent of each other.

It follows section 4.5 of Babu's thesis, for comparisons: where filters agree or exclude each other, its order may cost
as many times the best as there are filters.
"""

from __future__ import annotations

from eddy.contracts import Setting
from eddy.policies.matrix.policy import MatrixPolicy
from eddy.policies.matrix.stream_order import Conduct
from eddy.policies.shared.merit import Costs


class Independent(MatrixPolicy):
    """Keeps the Independent Invariant (definition 4.5.1).

    The parameters are those of `a_greedy`.

    >>> Independent(Setting(operators=("cheap", "dear"))).snapshot()
    {'streams': {}, 'uses': []}
    """

    def __init__(
        self,
        setting: Setting,
        *,
        p: float | str = 0.005,
        window: int = 1_000,
        alpha: float = 0.9,
        costs: Costs = "time",
        price: float = 0.005,
    ) -> None:
        conduct = Conduct(variant="independent", p=p, window=window, alpha=alpha, costs=costs, price=price)
        super().__init__(setting, conduct)
