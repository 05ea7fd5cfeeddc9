"""What is counted of caches, which have parts of a join ready-made."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

STANDING = ("keys", "combinations", "nbytes")
"""What a cache has at the end of a micro-batch; all else is counted in it."""

NAMES = ("cache", "key")


@dataclass(frozen=True, kw_only=True, slots=True)
class CacheCount:
    """One cache in one micro-batch.

    `cache` names the inputs that it has combinations of, and `key` the columns by which tuples look them up. Of its
    `look_ups` as many as there are `hits` found a key that was held. `filled` keys were found anew, and `refused` ones
    had too many candidates. `fresh` rows came that it was kept up with, in `seconds`; the combinations of `tapped` ones
    of these had passed anyway. `keys` are held at the end, with
    so many `combinations`, in `nbytes`.
    """

    cache: str
    key: str
    look_ups: int = 0
    hits: int = 0
    filled: int = 0
    refused: int = 0
    fresh: int = 0
    tapped: int = 0
    seconds: float = 0.0
    keys: int = 0
    combinations: int = 0
    nbytes: int = 0


def write_caches(counts: Sequence[CacheCount]) -> list[list[Any]]:
    """Write counts as plain values."""
    return [list(astuple(count)) for count in counts]


def read_caches(rows: Sequence[Sequence[Any]]) -> list[CacheCount]:
    """Read what `write_caches` wrote; versions without caches wrote nothing."""
    names = [field.name for field in fields(CacheCount)]
    return [CacheCount(**dict(zip(names, row, strict=True))) for row in rows]


def sum_caches(came: Collection[Sequence[CacheCount]], known: Collection[Sequence[CacheCount]]) -> list[CacheCount]:
    """Add up the caches of cells: what was done in those that were called, and what stands in all.

    >>> one = CacheCount(cache="b, c", key="b.k", hits=2, keys=5)
    >>> [(sum.hits, sum.keys) for sum in sum_caches([[one]], [[one], [one]])]
    [(2, 10)]
    """
    sums: dict[tuple[str, str], CacheCount] = {}
    work = [field.name for field in fields(CacheCount) if field.name not in (*STANDING, *NAMES)]
    for counts, names in ((known, STANDING), (came, tuple(work))):
        for count in (count for part in counts for count in part):
            own = sums.setdefault((count.cache, count.key), CacheCount(cache=count.cache, key=count.key))
            more = {name: getattr(own, name) + getattr(count, name) for name in names}
            sums[count.cache, count.key] = replace(own, **more)
    return list(sums.values())
