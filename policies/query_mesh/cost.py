"""What a mesh costs: equation (2) of the Query Mesh paper, in seconds per row.

The cost is `sum over routes of f * (c(route) + c(classification)) + routes * OVH` (section 4.5). The cost of a test
node is the time to look up one row's bucket, and it is paid per level. The overhead of a route is a leg of its own in
every micro-batch, divided by the rows of it. The paper counts a route for each leaf; here leaves with the same route
share it, since their rows travel together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from policies.orders import Floats, Integers

LEVEL = 6e-9
"""Seconds to take one row one level down the tree, measured on 10,000 rows and three levels. Putting values into
buckets is not in it."""

LEG = 270e-6
"""Seconds that one more route takes in a micro-batch, whatever its rows: measured with four cheap filters and 10,000
rows, where four routes in other orders took 0.82 ms more than one."""

ROWS = 10_000
"""Rows in a micro-batch, where nobody says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Overheads:
    """What routes and classification cost besides the operators.

    >>> round(Overheads(leg=1e-3, rows=1_000).overhead(3) * 1e6, 3)
    2.0
    """

    level: float = LEVEL
    leg: float = LEG
    rows: float = ROWS

    def overhead(self, routes: int) -> float:
        """Seconds per row for several routes; the first is free, since rows go some way in any case."""
        return (routes - 1) * self.leg / max(self.rows, 1.0)

    def expected(self, routes: int) -> float:
        """Seconds per row for routes and a tree that is not there yet: as high as it must be to tell them apart."""
        return self.overhead(routes) + self.level * int(np.ceil(np.log2(max(routes, 1))))

    def total(self, seconds: Floats, levels: Integers, routes: int) -> float:
        """Equation (2) for rows whose seconds under their routes, and levels in the tree, are known."""
        return float(np.mean(seconds + levels * self.level)) + self.overhead(routes)
