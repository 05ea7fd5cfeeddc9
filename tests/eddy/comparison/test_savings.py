"""What is saved, and what is noise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from eddy.comparison.summary import saving
from tests.eddy.comparison.worlds import run, runs

TRIES = 200


def frame(**seconds: list[float]) -> pd.DataFrame:
    return pd.DataFrame(runs(**seconds))


def test_the_same_share_in_every_turn_is_certain() -> None:
    found = saving(frame(fixed=[2, 4, 8], content=[1, 2, 4]), "content", "fixed", "seconds")
    assert found is not None
    assert (found.share, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))


def test_half_and_double_cancel_out() -> None:
    found = saving(frame(fixed=[1, 1], content=[2, 0.5]), "content", "fixed", "seconds")
    assert found is not None
    assert found.share == pytest.approx(0)
    assert found.noise is not None
    assert found.noise > 1


def test_one_run_has_no_interval() -> None:
    found = saving(frame(fixed=[2], content=[1]), "content", "fixed", "seconds")
    assert found is not None
    assert (found.share, found.low, found.noise) == (0.5, None, None)


def test_nothing_in_common_is_nothing_saved() -> None:
    assert saving(frame(fixed=[1], content=[1]), "random", "fixed", "seconds") is None
    apart = pd.DataFrame([run("fixed", 1), run("content", 1, workload="other")])
    assert saving(apart, "content", "fixed", "seconds") is None


def test_workloads_may_differ_without_making_the_saving_unsure() -> None:
    half = [{**row, "workload": "half"} for row in runs(fixed=[2, 2], content=[1, 1])]
    eighth = [{**row, "workload": "eighth"} for row in runs(fixed=[8, 8], content=[1, 1])]
    found = saving(pd.DataFrame([*half, *eighth]), "content", "fixed", "seconds")
    assert found is not None
    assert (found.share, found.low, found.high) == pytest.approx((0.75, 0.75, 0.75))


def test_repeats_of_many_seeds_are_no_more_than_the_seeds() -> None:
    chance = np.random.default_rng(0)
    ratios = chance.lognormal(0, 0.1, 6)
    rows = [run(p, s, seed=n) for n, r in enumerate(ratios) for p, s in (("fixed", 1.0), ("content", float(r)))]
    again = [{**row, "repeat": 1} for row in rows]
    once, twice = (saving(pd.DataFrame(part), "content", "fixed", "seconds") for part in (rows, [*rows, *again]))
    assert once == twice


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    """With a margin of four standard errors."""
    chance = np.random.default_rng(1)
    held = 0
    for _ in range(TRIES):
        rows = runs(fixed=[1.0] * 4, content=list(0.8 * chance.lognormal(0, 0.1, 4)))
        found = saving(pd.DataFrame(rows), "content", "fixed", "seconds")
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.2 <= found.high
    assert held / TRIES == pytest.approx(0.95, abs=0.062)
