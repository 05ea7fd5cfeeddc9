"""One bit-address index for all access patterns: the paper's AMRI (sections 4.1 and 6)."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.cost import COSTS
from eddy.operators.tuning.select.divisions import divide
from eddy.operators.tuning.select.maps import bit_address_map, fit
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.workload import Workload


class Bits:
    """The cheapest division of the bits among the keys."""

    def __init__(self, settings: IndexSettings) -> None:
        self._bits = settings.bits
        self._prices = COSTS[settings.cost or settings.does.cost]

    def select(self, workload: Workload) -> Sequence[KeyMap]:
        """Give one map, or none where no key is worth its hashes."""
        made = bit_address_map(divide(workload, self._bits, self._prices))
        return fit([made] if made else [], workload)
