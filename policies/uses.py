"""How a policy has used operators, for its insight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.contracts import Observation
from eddy.features import Features
from eddy.observe import Use

SAMPLE = "profiling"
"""What rows are called that teach."""


class Uses:
    """Calls of each operator, by kind and by the attribute that they went by."""

    def __init__(self, features: Features) -> None:
        self._calls: dict[tuple[str, str, str], int] = {}
        self._names: dict[str | None, list[str]] = {}
        for attribute in features.attributes:
            self._names.setdefault(attribute.column.stream, []).append(str(attribute.column))

    def count(self, observation: Observation, attributes: Sequence[Sequence[int]]) -> None:
        """Count the calls of a step when they have been made; `attributes` are those that each hop's calls went by."""
        is_sample = observation.legs[0].exhaustive
        for hop, outcomes, by in zip(observation.hops, observation.outcomes, attributes, strict=True):
            kind = SAMPLE if is_sample else "classified" if by else "unclassified"
            names = self._names.get(observation.origin, [])
            use = (hop.operator, kind, "" if is_sample else " and ".join([names[a] for a in by]))
            self._calls[use] = self._calls.get(use, 0) + len(outcomes)

    def all(self, gains: Mapping[str, float]) -> Sequence[Use]:
        """What has been counted, with each operator's gain ratio."""
        return [
            Use(operator=operator, kind=kind, attribute=attribute, gain_ratio=gains.get(operator, 0.0), calls=calls)
            for (operator, kind, attribute), calls in self._calls.items()
        ]

    def snapshot(self) -> list[list[Any]]:
        """One row for each use."""
        return [[*use, calls] for use, calls in self._calls.items()]

    def restore(self, rows: Sequence[Sequence[Any]]) -> None:
        """Go on from a snapshot."""
        self._calls = {(operator, kind, attribute): calls for operator, kind, attribute, calls in rows}
