"""Numbers of things, for people."""

from __future__ import annotations


def plural(number: int, one: str, many: str = "") -> str:
    """A number and its noun.

    >>> plural(1, "stream"), plural(2_000, "row"), plural(0, "micro-batch", "micro-batches")
    ('1 stream', '2,000 rows', '0 micro-batches')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
