"""What the soak of many micro-batches calls flat."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.soak.batches import FULL, Soaked


@pytest.mark.parametrize(
    ("seconds", "grown", "flat"), [(1.0, 1.0, True), (1.2, 1.05, True), (2.0, 1.0, False), (1.0, 1.3, False)]
)
def test_what_grows_is_not_flat(seconds: float, grown: float, flat: bool) -> None:
    size = 100
    late = pd.Series([n >= FULL + size for n in range(FULL + 2 * size)])
    batches = pd.DataFrame({"batch": range(len(late)), "seconds": 0.1, "restore_seconds": 0.1, "saving_seconds": 0.1})
    batches["trigger_seconds"] = late.map({False: 1.0, True: seconds})
    batches["state_bytes"] = late.map({False: 1_000.0, True: 1_000.0 * grown})
    assert Soaked(right=True, results=1, batches=batches).flat() == flat
