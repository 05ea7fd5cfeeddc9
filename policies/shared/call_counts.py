"""Counts of operator calls, for a policy's insight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.classes.classifier import Features
from eddy.contracts import Observation
from eddy.observe.insight import Use

SAMPLE = "profiling"
"""The kind of rows that teach."""


class Uses:
    """Calls of each operator, by kind and by attribute.

    The attribute is the one by which they were routed.
    """

    def __init__(self, features: Features) -> None:
        self._calls: dict[tuple[str, str, str], int] = {}
        self._names: dict[str | None, list[str]] = {}
        for attribute in features.attributes:
            self._names.setdefault(attribute.column.stream, []).append(str(attribute.column))

    def count(self, observation: Observation, attributes: Sequence[int], taught: int) -> None:
        """Count the calls of a step.

        For each hop those of `taught` rows, and the others by the attributes they went by.
        """
        names = self._names.get(observation.origin, [])
        by = " and ".join([names[attribute] for attribute in attributes])
        for hop, outcomes in zip(observation.hops, observation.outcomes, strict=True):
            self._add((hop.operator, SAMPLE, ""), taught)
            self._add((hop.operator, "classified" if by else "unclassified", by), len(outcomes) - taught)

    def count_plain(self, observation: Observation) -> None:
        """Count the calls of a step whose rows nobody told apart."""
        for hop, outcomes in zip(observation.hops, observation.outcomes, strict=True):
            self._add((hop.operator, "unclassified", ""), len(outcomes))

    def count_aside(self, profile: Observation) -> None:
        """Count the calls aside of a profile: they were made to learn."""
        for hop, statistic in zip(profile.hops, profile.statistics, strict=True):
            self._add((hop.operator, SAMPLE, ""), int(statistic.rows_in))

    def _add(self, use: tuple[str, str, str], calls: int) -> None:
        if calls:
            self._calls[use] = self._calls.get(use, 0) + calls

    def list_uses(self, gains: Mapping[str, float]) -> Sequence[Use]:
        """List the counts so far, with each operator's gain ratio."""
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
