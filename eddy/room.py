"""A limit to what the stored rows of a cell occupy."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.contracts import Store
from eddy.errors import QueryError

MEGABYTE = 1 << 20


def check(stores: Mapping[str, Store], most: int, stand: str) -> None:
    """Refuse to hold more, and say which streams it is, and which of them holds the others up."""
    sizes = {name: store.nbytes for name, store in stores.items()}
    if sum(sizes.values()) <= most:
        return
    parts = [f'"{name}" {len(stores[name]):,} rows in {size / MEGABYTE:.1f} MB' for name, size in sizes.items()]
    raise QueryError(
        f"query: the stored rows have grown to {sum(sizes.values()):,} bytes, and max_state allows {most:,}: "
        f"{', '.join(parts)}; {stand}; narrow the windows, take fewer rows into a micro-batch, divide the work among "
        "more cells, or raise max_state"
    )
