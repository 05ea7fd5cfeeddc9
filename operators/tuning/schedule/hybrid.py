"""The input that has changed most is assessed, and the one that has waited longest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.operators.tuning.schedule.periodic import Periodic
from eddy.operators.tuning.schedule.triggered import Triggered


class Hybrid:
    """`triggered` and `periodic` with one list of who is next: whoever was assessed goes to its end.

    >>> schedule = Hybrid(["a", "b"], period=200, trigger=100)
    >>> schedule.note({"a": 50, "b": 50}); schedule.ask()
    []
    >>> schedule.note({"a": 20, "b": 80}); schedule.ask()
    [('a', 'triggered'), ('b', 'periodic')]
    """

    def __init__(self, inputs: Sequence[str], *, period: int, trigger: int) -> None:
        self._periodic = Periodic(inputs, period=period, trigger=trigger)
        self._triggered = Triggered(inputs, period=period, trigger=trigger)

    def note(self, searches: Mapping[str, int]) -> None:
        """Take note of the searches of a micro-batch, by input."""
        self._periodic.note(searches)
        self._triggered.note(searches)

    def ask(self) -> Sequence[tuple[str, str]]:
        """Give the input that has changed, and the one whose turn it is."""
        changed = self._triggered.ask()
        self._periodic.defer([name for name, _ in changed])
        known = [name for name, _ in changed]
        return [*changed, *((name, why) for name, why in self._periodic.ask() if name not in known)]

    def snapshot(self) -> dict[str, Any]:
        """Give what it has noted, as plain values."""
        return {"periodic": self._periodic.snapshot(), "triggered": self._triggered.snapshot()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._periodic.restore(state["periodic"])
        self._triggered.restore(state["triggered"])
