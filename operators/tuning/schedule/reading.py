"""What a schedule keeps of inputs, read from a snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eddy.operators.tuning.assess.entries import read_count


def read_searches(inputs: Sequence[str], state: Any) -> dict[str, int]:
    """Read counts of searches by input; ValueError if they are not of these inputs."""
    if not isinstance(state, Mapping) or set(state) != set(inputs):
        raise ValueError(f"expected searches of each input, got {state!r:.80}")
    return {name: read_count(state[name]) for name in inputs}


def read_order(inputs: Sequence[str], state: Any) -> list[str]:
    """Read an order of the inputs; ValueError if it is none."""
    if not isinstance(state, list) or sorted(map(str, state)) != sorted(inputs):
        raise ValueError(f"expected an order of the inputs, got {state!r:.80}")
    return list(state)
