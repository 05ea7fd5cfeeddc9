"""What the parts of tuning must keep to: to assess, to select, to schedule.

The tuner calls them at the end of micro-batches, in this order: `Assessment.add` for all that was searched, then
`Schedule.ask`; where that names an input, `Selection.select` by what its assessment counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.workload import Workload

REST = 0
"""The access pattern without keys: searches that no index serves, and those that were counted away to no pattern."""


class Assessment(Protocol):
    """Counts the searches of one input by access pattern, in few entries.

    It is made with `epsilon`, `theta` and `seed`. `add` comes first, any number of times; `counts` changes nothing.
    `restore` must go on exactly as the one that took the snapshot would.
    """

    @property
    def tracked(self) -> int:
        """The number of patterns that have a count."""

    def add(self, pattern: int, times: int) -> None:
        """Count searches by a pattern, a mask of keys."""

    def counts(self) -> Mapping[int, int]:
        """Give the counts of the patterns that are worth an index."""

    def snapshot(self) -> dict[str, Any]:
        """Give what was counted, as plain values."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""


class Selection(Protocol):
    """Chooses the key maps of one input.

    It is made with the settings of `[index]`. The same workload gives the same maps, within its room.
    """

    def select(self, workload: Workload) -> Sequence[KeyMap]:
        """Give the maps for a workload like this one."""


class Schedule(Protocol):
    """Says when the indexes of which input are chosen anew.

    It is made with the inputs, and `period` and `trigger` in searches. `note` comes once a micro-batch with what all
    inputs were asked; then `ask` gives those that are to be assessed now, in order.
    """

    def note(self, searches: Mapping[str, int]) -> None:
        """Take note of the searches of a micro-batch, by input."""

    def ask(self) -> Sequence[tuple[str, str]]:
        """Give the inputs whose turn it is, each with the reason."""

    def snapshot(self) -> dict[str, Any]:
        """Give what it has noted, as plain values."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
