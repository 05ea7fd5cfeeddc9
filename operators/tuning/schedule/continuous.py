"""Every input is assessed without end: its indexes are chosen anew whenever a period of its searches is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.operators.tuning.schedule.reading import read_searches


class Continuous:
    """Each input by its own searches.

    >>> schedule = Continuous(["a", "b"], period=100, trigger=0)
    >>> schedule.note({"a": 120, "b": 60}); schedule.ask()
    [('a', 'continuous')]
    """

    def __init__(self, inputs: Sequence[str], *, period: int, trigger: int) -> None:
        self._inputs = list(inputs)
        self._period = period
        self._searches = dict.fromkeys(inputs, 0)

    def note(self, searches: Mapping[str, int]) -> None:
        """Take note of the searches of a micro-batch, by input."""
        for name, times in searches.items():
            self._searches[name] += times

    def ask(self) -> Sequence[tuple[str, str]]:
        """Give the inputs whose period is over."""
        over = [name for name in self._inputs if self._searches[name] >= self._period]
        self._searches.update(dict.fromkeys(over, 0))
        return [(name, "continuous") for name in over]

    def snapshot(self) -> dict[str, Any]:
        """Give what it has noted, as plain values."""
        return {"searches": dict(self._searches)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._searches = read_searches(self._inputs, state["searches"])
