"""Steps that are over and not yet learned from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eddy.contracts import Counts, Observation
from eddy.features import Look
from eddy.lineage import Hop

Key = tuple[str, Hop]
Part = tuple[Look, Counts]
"""A look at the buckets of some rows, and what the operator made of them."""


class Pending:
    """Keeps what steps did until the next rows arrive, so that each operator is learned from once, by one sum."""

    def __init__(self) -> None:
        self._steps: dict[Key, tuple[list[Part], list[Part]]] = {}

    def add(self, observation: Observation) -> None:
        """Keep a step."""
        for hop, outcomes in zip(observation.hops, observation.outcomes, strict=True):
            parts = self._steps.setdefault((observation.lineage.origin, hop), ([], []))
            parts[observation.leg.exhaustive].append((observation.buckets, outcomes))

    def take(self) -> Mapping[Key, tuple[Sequence[Part], Sequence[Part]]]:
        """For each operator the steps of rows that came to it anyway, and those of samples; none are kept."""
        steps, self._steps = self._steps, {}
        return steps
