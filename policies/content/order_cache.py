"""Orders that were decided for classes and stand for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from eddy.classes.divider import Buckets
from eddy.tuples import Hop
from eddy.tuples.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The order of each class among some hops; a class is its buckets of the attributes `used`.

    `saved` is what a row of the class is expected to save by its order, beside the common one.
    """

    hops: tuple[Hop, ...] = ()
    used: tuple[int, ...] = ()
    orders: Mapping[bytes, tuple[int, ...]] = field(default_factory=dict)
    saved: Mapping[bytes, float] = field(default_factory=dict)

    def fits(self, hops: Sequence[Hop], used: Sequence[int]) -> bool:
        """Was it decided about these hops, by these attributes."""
        return self.hops == tuple(hops) and self.used == tuple(used)

    def find_unknown(self, examples: Buckets) -> Integers:
        """Find the classes that have no order yet."""
        return np.flatnonzero([bytes(example) not in self.orders for example in examples])

    def extend(self, examples: Buckets, orders: Integers, saved: Floats) -> Standing:
        """The same with what was decided about more classes."""
        names = [bytes(example) for example in examples]
        decided = dict(zip(names, map(tuple, orders.tolist()), strict=True))
        gains = dict(zip(names, saved.tolist(), strict=True))
        return replace(self, orders={**self.orders, **decided}, saved={**self.saved, **gains})

    def of(self, examples: Buckets) -> Integers:
        """The order of each class."""
        return np.array([self.orders[bytes(example)] for example in examples])

    def count_saved(self, examples: Buckets, rows: Integers) -> float:
        """Count what some rows of each class save."""
        saved = [self.saved[bytes(example)] for example in examples]
        return float(np.dot(saved, rows)) if saved else 0.0

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "hops": [list(hop) for hop in self.hops],
            "used": list(self.used),
            "orders": [[list(name), list(order), self.saved[name]] for name, order in self.orders.items()],
        }

    @staticmethod
    def restore(state: Mapping[str, Any]) -> Standing:
        """From a snapshot; one from before savings were kept says nothing of them."""
        return Standing(
            hops=tuple(Hop(*hop) for hop in state["hops"]),
            used=tuple(state["used"]),
            orders={bytes(example): tuple(order) for example, order, *_ in state["orders"]},
            saved={bytes(example): saved[0] if saved else 0.0 for example, _, *saved in state["orders"]},
        )
