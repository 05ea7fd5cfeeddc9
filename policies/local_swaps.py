"""LocalSwaps: only neighbours change places.

It follows section 4.6 of Babu's thesis, for comparisons: a dropped row is shown to the next operator alone, which is
cheap to do. An order may stay wrong though each two neighbours are right.
"""

from __future__ import annotations

from eddy.contracts import Setting
from eddy.policies.matrix.policy import MatrixPolicy
from eddy.policies.matrix.stream_order import Conduct
from eddy.policies.shared.merit import Costs


class LocalSwaps(MatrixPolicy):
    """Keeps the LocalSwaps Invariant (definition 4.6.1).

    The parameters are those of `a_greedy`.

    >>> LocalSwaps(Setting(operators=("cheap", "dear"))).snapshot()
    {'streams': {}, 'uses': []}
    """

    def __init__(
        self,
        setting: Setting,
        *,
        p: float | str = 0.01,
        window: int = 1_000,
        alpha: float = 0.9,
        costs: Costs = "time",
        price: float = 0.005,
    ) -> None:
        conduct = Conduct(variant="local_swaps", p=p, window=window, alpha=alpha, costs=costs, price=price)
        super().__init__(setting, conduct)
