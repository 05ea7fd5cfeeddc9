"""The workload `chain` is what its parameters say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import eddy
from eddy.jobs.workloads.registry import build


def test_rates_multiplicity_and_shares_are_as_asked() -> None:
    made = build("chain", {"multiplicity": 10, "meets": 0.3, "rates": "1 2 5", "rows": 40_000, "window": 8_000}, seed=3)
    rows = {name: table.num_rows for name, table in made.data.items()}
    assert rows == {"r": 5_000, "s": 10_000, "t": 25_000}
    s = made.data["s"].to_pandas()
    assert (s["k0"] < 1 << 40).mean() == pytest.approx(0.3, abs=0.02)
    # A window holds 2,000 rows of s, ten for each key.
    assert s["k1"].nunique() == 200
    assert np.isin(made.data["t"]["k1"].to_numpy(), s["k1"]).all()


def test_longer_chains_have_results() -> None:
    made = build("chain", {"streams": 5, "multiplicity": 3, "rows": 5_000, "window": 2_000}, seed=0)
    assert made.query.inputs == tuple("rstuv")
    assert eddy.run_local(made.query, made.data, policy="fixed", batch_rows=100).results.num_rows > 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"streams": 2}, "streams"),
        ({"meets": 1.5}, "meets: expected a share"),
        ({"rates": "1 1"}, "rates: expected 3 numbers"),
        ({"rates": "1 1 x"}, "rates: expected 3 numbers"),
        ({"rates": [1, 0, 1]}, "rates: expected 3 numbers"),
        ({"multiplicity": 0}, "multiplicity"),
    ],
)
def test_mistakes_are_told(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(eddy.QueryError, match=said):
        build("chain", wrong, seed=0)
