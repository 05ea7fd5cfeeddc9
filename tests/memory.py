"""How much memory something takes: of Python's, of numpy's and of Arrow's, and never by the clock or the machine."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

_POOLS: list[pa.MemoryPool] = []
"""Kept for ever: a buffer that outlives its pool, in a cache or an error, would be given back to nobody."""


class Taken:
    """The most bytes that were in use at a time, once it is over."""

    most = 0


@contextmanager
def measured() -> Iterator[Taken]:
    """Measure what happens in here, also where it ends with an error."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    taken = Taken()
    try:
        yield taken
    finally:
        taken.most = tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0)
        tracemalloc.stop()
        pa.set_memory_pool(before)
