"""How a policy has used operators, for its insight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.contracts import Observation
from eddy.features import Features
from eddy.observe import Insight
from policies.profile import NO_ATTRIBUTE

SAMPLE = "profiling"
"""What rows are called that teach."""


class Uses:
    """Calls of each operator, by kind and by the attribute that they went by."""

    def __init__(self, features: Features) -> None:
        self._calls: dict[tuple[str, str, str], int] = {}
        self._names: dict[str | None, list[str]] = {}
        for attribute in features.attributes:
            self._names.setdefault(attribute.column.stream, []).append(str(attribute.column))

    def count(self, observation: Observation, attribute: int, taught: int) -> None:
        """Count the calls of a step: those that `taught`, and the others by the operator's classifier."""
        operator, calls = observation.hops[0].operator, len(observation.outcomes[0]) - taught
        if taught:
            self._add((operator, SAMPLE, ""), taught)
        if calls and attribute == NO_ATTRIBUTE:
            self._add((operator, "unclassified", ""), calls)
        elif calls:
            self._add((operator, "classified", self._names[observation.origin][attribute]), calls)

    def _add(self, use: tuple[str, str, str], calls: int) -> None:
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
