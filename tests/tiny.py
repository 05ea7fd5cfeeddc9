"""Everything about indexes made so small that a few rows fill it."""

from __future__ import annotations

import pytest

from eddy.operators.index import admission, catalog, parts, segments, time_bounds


def parts_of(patch: pytest.MonkeyPatch, rows: int, *, merged: int = 1 << 16, room: int = 1 << 16) -> None:
    """Segments of a few rows, merged up to so many, in which probes search no further than they must.

    `room` is what indexes have in any case: with none, they are left out for others, or for a look through all rows.
    """
    patch.setattr(segments, "SMALLEST_SEALED", rows)
    patch.setattr(segments, "FEWEST_SEALED", 1)
    patch.setattr(parts, "FEWEST_NARROWED", 1)
    patch.setattr(parts, "MOST_MERGED", merged)
    patch.setattr(admission, "LEAST_ROOM", room)
    patch.setattr(admission, "FEW_ROWS", 1)
    patch.setattr(admission, "PERIOD", 1)
    for module in (time_bounds, catalog):
        patch.setattr(module, "LEAST_SAVED", 0)
