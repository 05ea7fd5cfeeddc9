"""How a policy has used operators, for its insight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.observe import Insight


class Uses:
    """Calls of each operator, by kind and by the attribute that they went by."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str, str], int] = {}

    def count(self, operator: str, kind: str, attribute: str, calls: int) -> None:
        """Count some calls."""
        use = (operator, kind, attribute)
        self._calls[use] = self._calls.get(use, 0) + calls

    def insight(self, gains: Mapping[str, float]) -> Sequence[Insight]:
        """What has been counted, with each operator's gain ratio."""
        return [
            Insight(operator=operator, kind=kind, attribute=attribute, gain_ratio=gains[operator], calls=calls)
            for (operator, kind, attribute), calls in self._calls.items()
        ]

    def snapshot(self) -> list[list[Any]]:
        """One row for each use."""
        return [[*use, calls] for use, calls in self._calls.items()]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._calls = {(operator, kind, attribute): calls for operator, kind, attribute, calls in rows}
