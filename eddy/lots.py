"""Complete tuples in lots of one size."""

from __future__ import annotations

from collections.abc import Iterator

from eddy.tuples import Tuples, merge

EMITTED = 1 << 13
"""Results are gathered in lots of this many: each gather has a price of its own, and each lot a size."""


def lots(parts: Iterator[Tuples]) -> Iterator[Tuples]:
    """The same tuples, in parts of one size; their lineages matter no more."""
    held: list[Tuples] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= EMITTED:
            lot = merge(held)
            while len(lot) >= EMITTED:
                yield lot.first(EMITTED)
                lot = lot.rest(EMITTED)
            held = [lot]
    if any(map(len, held)):
        yield merge(held)
