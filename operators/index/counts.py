"""What searches have cost, for whoever chooses key maps."""

from __future__ import annotations

from dataclasses import dataclass, field

from eddy.operators.index.structures.key_map import KeyMap

Served = tuple[KeyMap | None, int]
"""A key map, or None for a look through all rows, and an access pattern that it has served."""


@dataclass(slots=True)
class Work:
    """What it took: the tuples that searched, those times the parts that each of them looked into, the runs of rows
    that were found there, their rows, and those of them that were verified. `reached` are the rows of the parts that
    were looked into, once for each look.
    """

    probes: int = 0
    lookups: int = 0
    ranges: int = 0
    candidates: int = 0
    matches: int = 0
    reached: int = 0


@dataclass(slots=True)
class IndexCounts:
    """What was counted of one STeM since it was last asked.

    `patterns` has the tuples that searched by each. `sorted_rows` are the rows put in order for a key map, once or
    again; `arrived` those that came. `calls` are the parts that were looked into, by however many tuples at once.
    """

    patterns: dict[int, int] = field(default_factory=dict)
    served: dict[Served, Work] = field(default_factory=dict)
    sorted_rows: dict[KeyMap, int] = field(default_factory=dict)
    arrived: int = 0
    calls: int = 0

    def ask(self, pattern: int, probes: int) -> None:
        """Count a call of a probe."""
        self.patterns[pattern] = self.patterns.get(pattern, 0) + probes

    def work(self, served: Served) -> Work:
        """Give what is counted of a key map and a pattern."""
        return self.served.setdefault(served, Work())

    def sort(self, key_map: KeyMap, rows: int) -> None:
        """Count rows put in order."""
        self.sorted_rows[key_map] = self.sorted_rows.get(key_map, 0) + rows
