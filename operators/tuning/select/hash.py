"""The most frequent access patterns have an index each: the paper's state of the art (sections 2.2 and 9.3)."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.operators.index.structures.key_map import KeyMap, hash_map
from eddy.operators.tuning.select.maps import fit, full_bits, rank_patterns
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.workload import Workload


class Hash:
    """`count` access modules. Another pattern is served by the largest that it has all keys of, or by a scan."""

    def __init__(self, settings: IndexSettings) -> None:
        self._count = settings.count

    def select(self, workload: Workload) -> Sequence[KeyMap]:
        """Give the maps of the most frequent patterns."""
        bits = full_bits(workload)
        return fit((hash_map(p, bits) for p in rank_patterns(workload.searches)[: self._count]), workload)
