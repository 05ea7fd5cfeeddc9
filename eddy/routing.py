"""What routing one micro-batch took."""

from __future__ import annotations

from eddy.contracts import Leg
from eddy.lineage import Hop, Lineage
from eddy.observe import Statistic


class Routing:
    """What routing one micro-batch took."""

    def __init__(self) -> None:
        self.operators: dict[Hop, Statistic] = {}
        self.routes: dict[tuple[str, str, tuple[str, ...]], int] = {}
        self.decisions = 0
        self.planning = 0.0
        self.learning = 0.0

    def add(self, hop: Hop, statistic: Statistic) -> None:
        """Count a step."""
        known = self.operators.get(hop)
        self.operators[hop] = statistic if known is None else known + statistic

    def start(self, lineage: Lineage, leg: Leg, rows: int) -> None:
        """Count the rows that begin a route, by where they came from and what the policy calls them."""
        if not lineage.done:
            key = (lineage.origin, leg.label, tuple(hop.operator for hop in leg.route))
            self.routes[key] = self.routes.get(key, 0) + rows
