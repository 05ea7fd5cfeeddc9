"""One index for each access pattern: what the catalog does by itself."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.operators.index.structures.key_map import KeyMap, hash_map
from eddy.operators.tuning.select.maps import fit, full_bits, rank_patterns
from eddy.operators.tuning.settings import IndexSettings
from eddy.operators.tuning.workload import Workload


class Patterns:
    """Every pattern that is searched by has its own map, as long as there is room."""

    def __init__(self, settings: IndexSettings) -> None:
        pass

    def select(self, workload: Workload) -> Sequence[KeyMap]:
        """Give one map for each pattern, the most frequent first."""
        bits = full_bits(workload)
        return fit((hash_map(pattern, bits) for pattern in rank_patterns(workload.searches)), workload)
