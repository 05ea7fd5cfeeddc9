"""One input after the other is assessed, whenever a period of searches is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.operators.tuning.assess.entries import read_count
from eddy.operators.tuning.schedule.reading import read_order


class Periodic:
    """The inputs in turn, by the searches of all of them.

    >>> schedule = Periodic(["a", "b"], period=100, trigger=0)
    >>> schedule.note({"a": 120, "b": 60}); schedule.ask()
    [('a', 'periodic')]
    >>> schedule.note({"a": 10, "b": 20}); schedule.ask()
    [('b', 'periodic')]
    """

    def __init__(self, inputs: Sequence[str], *, period: int, trigger: int) -> None:
        self._inputs = list(inputs)
        self._period = period
        self._searches = 0
        self._order = list(inputs)

    def note(self, searches: Mapping[str, int]) -> None:
        """Take note of the searches of a micro-batch, by input."""
        self._searches += sum(searches.values())

    def ask(self) -> Sequence[tuple[str, str]]:
        """Give those that have waited longest, one for each period that is over."""
        periods, self._searches = divmod(self._searches, self._period)
        turn = self._order[: min(periods, len(self._order))]
        self.defer(turn)
        return [(name, "periodic") for name in turn]

    def defer(self, names: Sequence[str]) -> None:
        """Put inputs at the end: they have been assessed."""
        self._order = [*(name for name in self._order if name not in names), *names]

    def snapshot(self) -> dict[str, Any]:
        """Give what it has noted, as plain values."""
        return {"searches": self._searches, "order": list(self._order)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._searches = read_count(state["searches"])
        self._order = read_order(self._inputs, state["order"])
