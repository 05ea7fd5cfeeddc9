"""What the optimizer finds: routes, and the tree that gives every row one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from policies.orders import Floats
from policies.query_mesh.legality import Route
from policies.query_mesh.reach import row_costs
from policies.query_mesh.sample import Sample
from policies.query_mesh.tree import Tree


@dataclass(frozen=True, kw_only=True)
class Mesh:
    """A mesh, and how it was found.

    `seconds` is what a row takes under each route, `share` how many of the rows go there; `cost` is what a row takes in
    all, `single_cost` what it takes under the best single route, and `start_cost` what the search began with.
    """

    routes: tuple[Route, ...]
    tree: Tree
    seconds: tuple[float, ...]
    share: tuple[float, ...]
    cost: float
    single_cost: float
    start_cost: float
    looks: int
    training: int
    found_by: str

    def is_like(self, other: Mesh) -> bool:
        """Does it send every row the same way."""
        return self.routes == other.routes and self.tree.snapshot() == other.tree.snapshot()

    def spent(self, sample: Sample, costs: Floats) -> Floats:
        """What each row of a sample takes under it; its buckets may be left out where the tree asks for none."""
        given = self.tree.routes(sample.buckets[:, list(self.tree.used)])
        spent: Floats = row_costs(sample.outcomes, costs, self.routes)[np.arange(len(given)), given]
        return spent

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        lists = {name: list(getattr(self, name)) for name in ("seconds", "share")}
        return {"routes": [list(route) for route in self.routes], **numbers, **lists, "tree": self.tree.snapshot()}

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Mesh:
        """The mesh that a snapshot was taken of."""
        return Mesh(
            routes=tuple(tuple(int(number) for number in route) for route in state["routes"]),
            tree=Tree.restore(state["tree"]),
            seconds=tuple(state["seconds"]),
            share=tuple(state["share"]),
            **{name: state[name] for name in _NUMBERS},
        )


_NUMBERS = ("cost", "single_cost", "start_cost", "looks", "training", "found_by")
