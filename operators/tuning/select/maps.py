"""Key maps of the usual kinds, with as many bits as the rows need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from eddy.operators.index.structures.key_map import Field, KeyMap
from eddy.operators.tuning.contracts import REST
from eddy.operators.tuning.cost import NARROW_BITS
from eddy.operators.tuning.settings import MOST_BITS
from eddy.operators.tuning.workload import Workload
from eddy.tuples.request import list_keys


def full_bits(workload: Workload) -> int:
    """Give the bits of a code: 16, or 32 where a part has more rows than those can tell apart.

    >>> from eddy.operators.tuning.workload import Spread
    >>> [full_bits(Workload(arrived=0, searches={}, stored=n, keys=Spread(chances={}))) for n in (9_999, 999_999)]
    [16, 32]
    """
    return NARROW_BITS if workload.stored / workload.parts <= 1 << NARROW_BITS else MOST_BITS


def chain_map(patterns: Sequence[int], bits: int, workload: Workload) -> KeyMap:
    """Make one index of patterns that are each in the next: what it sorts by first serves the first.

    Each field has the bits for its values, and the last one the rest.
    """
    fields: list[Field] = []
    before, left = 0, bits
    for pattern in patterns:
        rest = len(patterns) - len(fields) - 1
        # One more bit than the values fill, so that few of them have one in common.
        wanted = int(workload.keys.distinct(pattern & ~before)).bit_length() + 1
        width = left if not rest else max(min(wanted, left - rest), 1)
        fields.append(Field(keys=list_keys(pattern & ~before), bits=width))
        before, left = pattern, left - width
    return KeyMap(fields=tuple(fields))


def bit_address_map(division: Mapping[int, int]) -> KeyMap | None:
    """Make the paper's index: a field for each key that has bits."""
    fields = tuple(Field(keys=(key,), bits=bits) for key, bits in division.items() if bits)
    return KeyMap(fields=fields) if fields else None


def rank_patterns(searches: Mapping[int, float]) -> list[int]:
    """List patterns that have keys, the most frequent first."""
    return sorted((p for p in searches if p != REST), key=lambda pattern: (-searches[pattern], pattern))


def fit(maps: Iterable[KeyMap], workload: Workload) -> list[KeyMap]:
    """Keep the first maps for which there is room."""
    kept, used = [], 0.0
    for one in maps:
        used += workload.stored * workload.row_bytes * (1 if one.bits <= NARROW_BITS else 2)
        if used <= workload.room:
            kept.append(one)
    return kept
