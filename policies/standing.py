"""Orders that were decided for classes and stand for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eddy.divider import Buckets
from eddy.lineage import Hop
from policies.running import Integers


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """The order of each class among some hops, and the common one for classes that were not seen when it was decided.

    A class is its buckets of the attributes `used`.
    """

    hops: tuple[Hop, ...]
    used: tuple[int, ...]
    common: tuple[int, ...]
    orders: Mapping[bytes, tuple[int, ...]]

    @classmethod
    def decided(
        cls, hops: Sequence[Hop], used: Sequence[int], common: Integers, examples: Buckets, orders: Integers
    ) -> Standing:
        """What was decided for some classes."""
        return cls(
            hops=tuple(hops),
            used=tuple(used),
            common=tuple(common.tolist()),
            orders=dict(zip(map(bytes, examples), map(tuple, orders.tolist()), strict=True)),
        )

    def fits(self, hops: Sequence[Hop], used: Sequence[int]) -> bool:
        """Was it decided about these hops, by these attributes."""
        return self.hops == tuple(hops) and self.used == tuple(used)

    def of(self, examples: Buckets) -> Integers:
        """The order of each class."""
        return np.array([self.orders.get(bytes(example), self.common) for example in examples])

    def snapshot(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "hops": [list(hop) for hop in self.hops],
            "used": list(self.used),
            "common": list(self.common),
            "orders": [[list(example), list(order)] for example, order in self.orders.items()],
        }

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Standing:
        """From a snapshot."""
        return cls(
            hops=tuple(Hop(*hop) for hop in state["hops"]),
            used=tuple(state["used"]),
            common=tuple(state["common"]),
            orders={bytes(example): tuple(order) for example, order in state["orders"]},
        )
