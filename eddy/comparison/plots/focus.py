"""Which run is shown where there is room for one."""

from __future__ import annotations

from collections.abc import Sequence

from eddy.comparison.turns import Traced


def focus(traced: Sequence[Traced], part: str) -> Traced:
    """Of the runs that have anything there, one that changes if there is one, and that has most to show of it."""
    have = [one for one in traced if _size(one, part)]
    return max(have, key=lambda one: (bool(one.drift_points), _classes(one, part)))


def has(traced: Sequence[Traced], part: str) -> bool:
    """Has any of them anything there."""
    return any(_size(one, part) for one in traced)


def _size(one: Traced, part: str) -> int:
    columns: dict[str, Sequence[object]] = getattr(one.trace, part)
    return len(next(iter(columns.values()), ()))


def _classes(one: Traced, part: str) -> int:
    """How many classes or attributes it tells apart; a policy that learns none has one."""
    columns: dict[str, Sequence[object]] = getattr(one.trace, part)
    return len(set(columns.get("class", columns.get("attribute", ()))))
