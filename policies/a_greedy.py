"""A-Greedy: the order that the joint behaviour of operators asks for.

It follows section 4.3 of Babu's thesis, Adaptive Query Processing in Data Stream Management Systems (2005). Some rows
are profiled by every operator, also by those that come after the one that drops them. The order is kept so that at each
place the operator stands that drops most for its cost of what is left there. Such an order costs at most four times as
much as the best, and nearly always as little.

Beyond the thesis: profiling takes its share of the cost and no more (`p = "auto"`), a change is seen in what all rows
do, an order must save something surely to take the place of another, and probes are ordered too.
"""

from __future__ import annotations

from eddy.contracts import Setting
from eddy.policies.matrix.policy import MatrixPolicy
from eddy.policies.matrix.stream_order import Conduct
from eddy.policies.shared.merit import Costs


class AGreedy(MatrixPolicy):
    """Keeps the Greedy Invariant (definition 4.3.1).

    `p` is the probability with which a row is profiled, or "auto": as many as `price`, a share of what rows cost,
    pays for. `window` is the number of profile rows that are kept, `alpha` how much less than a later operator one may
    drop before they change places. `search` is "greedy", or "exact" for the best order of up to ten operators. Where
    both are left as they are, orders that promise something are tried, whatever `alpha` is.

    >>> AGreedy(Setting(operators=("cheap", "dear")), p=0.01).snapshot()
    {'streams': {}, 'uses': []}
    """

    def __init__(
        self,
        setting: Setting,
        *,
        p: float | str = "auto",
        window: int = 1_000,
        alpha: float = 0.9,
        search: str = "greedy",
        costs: Costs = "time",
        price: float = 0.005,
    ) -> None:
        conduct = Conduct(variant="a_greedy", p=p, window=window, alpha=alpha, search=search, costs=costs, price=price)
        super().__init__(setting, conduct)
