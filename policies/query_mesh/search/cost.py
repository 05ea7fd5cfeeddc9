"""The cost of a mesh: equation (2) of the Query Mesh paper.

The cost is `sum over routes of f * (c(route) + c(classification)) + routes * OVH` (section 4.5). The cost of a test
node is the time to look up one row's bucket, and it is paid per level; to put rows into buckets is paid per attribute.
The overhead of a route is a leg of its own in
every round, divided by the rows of it: the steps that it adds, by their fitted prices. The paper counts a route for
each leaf; here leaves with the same route share it, since their rows travel together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eddy.tuples.arrays import Floats, Integers

SECONDS_PER_LEVEL = 6e-9
"""Seconds to take one row one level down the tree, measured on 10,000 rows and three levels. Putting values into
buckets is not in it. It cannot be fitted from steps: nobody times the levels of a plan one by one."""

SECONDS_PER_BUCKET = 25e-9
"""Seconds to put one row into a bucket of one attribute, measured on 10,000 numbers and texts: 12 and 40. A tree needs
it of every attribute that it asks for."""

USUAL_LEG = 270e-6
"""Seconds that one more route takes in a round, whatever its rows, where nobody says otherwise: measured with four
cheap filters and 10,000 rows, where four routes in other orders took 0.82 ms more than one."""

ROWS_ASSUMED = 10_000
"""Rows in a round, where nobody says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Overheads:
    """Costs of routes and classification, besides the operators'.

    >>> round(Overheads(leg=1e-3, rows=1_000).overhead(3) * 1e6, 3)
    2.0
    """

    level: float = SECONDS_PER_LEVEL
    bucket: float = SECONDS_PER_BUCKET
    leg: float = USUAL_LEG
    rows: float = ROWS_ASSUMED
    step: float = 0.0

    def overhead(self, routes: int) -> float:
        """Seconds per row for several routes.

        The first is free, since rows go some way in any case.
        """
        return (routes - 1) * self.leg / max(self.rows, 1.0)

    def estimate(self, routes: int) -> float:
        """Estimate seconds per row of routes and their tree.

        The tree is still to be made, as high as it must be to tell the routes apart, by one attribute at least.
        """
        return self.overhead(routes) + self.level * int(np.ceil(np.log2(max(routes, 1)))) + self.bucket * (routes > 1)

    def total(self, seconds: Floats, levels: Integers, routes: int, attributes: int) -> float:
        """Seconds per row, by equation (2).

        The seconds of the rows under their routes and their levels in the tree are known, and how many attributes the
        tree asks for.
        """
        return float(np.mean(seconds + levels * self.level)) + self.overhead(routes) + self.bucket * attributes
