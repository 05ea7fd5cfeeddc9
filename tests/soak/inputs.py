"""Bad inputs, each refused in our words at little cost, and loads: more than usual, in measured memory."""

from __future__ import annotations

from typing import Any

from tests import damage, hostile, overload
from tests.soak.hunt import Hunt


def _overridden(sets: list[str], number: int) -> str:
    return hostile.read_file(hostile.GOOD, number, tuple(sets))


INPUTS: tuple[Hunt[Any], ...] = (
    Hunt(name="states", cases=damage.states(), check=damage.read_state),
    Hunt(name="parcels", cases=damage.payloads(), check=damage.read_payload),
    Hunt(name="files", cases=hostile.FILES, check=hostile.read_file),
    Hunt(name="settings", cases=hostile.SETS, check=_overridden),
    Hunt(name="overload", cases=overload.loads(), check=overload.bear),
)
