"""The input whose share of the searches has changed most is assessed, if it is a change at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.operators.tuning.schedule.reading import read_searches

LEAST_CHANGE = 0.1
"""By which an input's share of the searches must have changed, to be one: routes that are drawn by chance change it by
a hundredth between windows of a hundred thousand."""


class Triggered:
    """Compares a window of searches with the one before.

    An input whose share stays the same is never assessed, as the paper says of this schedule, even if it is searched
    by other keys.

    >>> schedule = Triggered(["a", "b"], period=0, trigger=100)
    >>> schedule.note({"a": 50, "b": 50}); schedule.ask()
    []
    >>> schedule.note({"a": 20, "b": 80}); schedule.ask()
    [('a', 'triggered')]
    """

    def __init__(self, inputs: Sequence[str], *, period: int, trigger: int) -> None:
        self._inputs = list(inputs)
        self._trigger = trigger
        self._searches = dict.fromkeys(inputs, 0)
        self._before = dict.fromkeys(inputs, 0)

    def note(self, searches: Mapping[str, int]) -> None:
        """Take note of the searches of a micro-batch, by input."""
        for name, times in searches.items():
            self._searches[name] += times

    def ask(self) -> Sequence[tuple[str, str]]:
        """Give the input that has changed most, once a window is over."""
        total, known = sum(self._searches.values()), sum(self._before.values())
        if total < self._trigger:
            return []
        changes = {name: self._change(name, total, known) for name in self._inputs if known}
        self._before, self._searches = self._searches, dict.fromkeys(self._inputs, 0)
        most = max(changes, key=lambda name: changes[name], default=None)
        return [] if most is None or changes[most] < LEAST_CHANGE else [(most, "triggered")]

    def _change(self, name: str, total: int, known: int) -> float:
        """Give by which part of itself an input's share has changed."""
        now, before = self._searches[name] / total, self._before[name] / known
        return abs(now - before) / max(now, before) if now or before else 0.0

    def snapshot(self) -> dict[str, Any]:
        """Give what it has noted, as plain values."""
        return {"searches": dict(self._searches), "before": dict(self._before)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot; ValueError if it is none."""
        self._searches = read_searches(self._inputs, state["searches"])
        self._before = read_searches(self._inputs, state["before"])
