"""What several engines have learned of one query, added up.

Each has seen a part of the rows. What operators let pass and what their steps cost are sums, and sums add up exactly:
whichever comes first, the answer is the same to the last bit. All else is no sum. A classifier cuts values where its
own rows are frequent, so the buckets of two engines are not the same ones, and what a policy counts by buckets, its
orders and its accounts are about those. So of all that the engine counts that has seen the most rows.

Older rows count less in a sum, by the rows that came after them in that engine. A sum of several is given the weight of
the heaviest of them: its rates are those of all, and whoever goes on from it forgets as quickly as if alone. Nothing is
counted that is not there, but rows that several engines have begun with count once for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from eddy.engine.snapshot import Snapshot, pack, unpack
from eddy.tuples import Packed

ROWS_IN, STEPS = 0, 5
"""Where the weight stands among the numbers of a statistic, and among those of a price: rows, and steps."""

Entry = Sequence[Any]


class ReadSnapshot(NamedTuple):
    """A snapshot that was read."""

    snapshot: Snapshot
    meta: Mapping[str, Any]
    tables: Mapping[str, Sequence[Packed]]

    @property
    def rows(self) -> int:
        """The rows that have come, of all streams."""
        return sum(int(count.get("rows", 0)) for count in self.meta.get("came", {}).values())


def add_up(snapshots: Iterable[Snapshot]) -> Snapshot:
    """Add up what was learned of one query, in whatever order it is given; one without rows changes nothing.

    It is for snapshots without rows in windows: those of all but one would be lost. All must be of one query.
    """
    read = [ReadSnapshot(one, *unpack(one)) for one in snapshots]
    parts = sorted((part for part in read if part.rows), key=lambda p: (-p.rows, p.snapshot.meta, p.snapshot.blob))
    if len(parts) < 2:
        return (parts or sorted(read, key=lambda p: (p.snapshot.meta, p.snapshot.blob)))[0].snapshot
    first = parts[0].meta
    # Prices of filters that cost something else than these are about other ones.
    alike = [part.meta for part in parts if part.meta.get("costs", {}) == first.get("costs", {})]
    summed = {
        "statistics": _add_statistics([part.meta["statistics"] for part in parts]),
        "prices": _add_prices([meta.get("prices", []) for meta in alike]),
    }
    return pack({**first, **summed}, parts[0].tables)


def _add_statistics(parts: Sequence[Sequence[Entry]]) -> list[list[Any]]:
    """Add the statistics of each hop."""
    return [[*hop, *_add([entry[2:] for entry in entries], ROWS_IN)] for hop, entries in _gather_by_hop(parts).items()]


def _add_prices(parts: Sequence[Sequence[Entry]]) -> list[list[Any]]:
    """Add the sums that prices are fitted to; steps that wait to be fitted are those of the first that has any."""
    found = []
    for hop, entries in _gather_by_hop(parts).items():
        fitted = [entry[2] for entry in entries if entry[2] is not None]
        # How many steps were slow in a row is no sum.
        sums = [*_add([one[:-1] for one in fitted], STEPS), fitted[0][-1]] if fitted else None
        found.append([*hop, sums, next((entry[3] for entry in entries if entry[3]), [])])
    return found


def _gather_by_hop(parts: Sequence[Sequence[Entry]]) -> dict[tuple[str, str], list[Entry]]:
    found: dict[tuple[str, str], list[Entry]] = {}
    for entry in (entry for part in parts for entry in part):
        found.setdefault((entry[0], entry[1]), []).append(entry)
    return found


def _add(entries: Sequence[Sequence[float]], weight: int) -> list[float]:
    """Add numbers one by one, and give the sum the weight of the heaviest."""
    if len(entries) == 1:
        return [*entries[0]]
    # Summed without rounding in between: then the order does not matter.
    sums = [fsum(numbers) for numbers in zip(*entries, strict=True)]
    share = max(entry[weight] for entry in entries) / sums[weight] if sums[weight] else 1.0
    return [number * share for number in sums]
