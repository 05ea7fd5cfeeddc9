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

    def count(self, observation: Observation, attributes: Sequence[int]) -> None:
        """Count the calls of some steps when they have been made; `attributes` are the operators' classifiers."""
        is_sample = observation.legs[0].exhaustive
        for hop, outcomes, attribute in zip(observation.hops, observation.outcomes, attributes, strict=True):
            if is_sample:
                use = (hop.operator, SAMPLE, "")
            elif attribute == NO_ATTRIBUTE:
                use = (hop.operator, "unclassified", "")
            else:
                use = (hop.operator, "classified", self._names[observation.origin][attribute])
            self._calls[use] = self._calls.get(use, 0) + len(outcomes)

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
