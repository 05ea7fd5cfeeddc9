"""Bounds on the time of a candidate: none that could join is left out, and few that cannot are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.kernels.narrowing import narrow
from eddy.operators.index.time_bounds import LEAST_SAVED, make_bounds
from eddy.operators.pairs import mask_inside
from eddy.tuples.request import TimeBounds

ENDS = [-(2**63), -(2**63) + 3, 2**63 - 4, 2**63 - 1]
INTEGERS = st.integers(0, 12) | st.sampled_from(ENDS)
FLOATS = st.floats(allow_nan=False, allow_infinity=True) | st.integers(0, 12).map(float) | st.sampled_from([0.1, 0.3])
SPANS = st.none() | st.integers(0, 12) | st.sampled_from([0.5, 0.1, 2.5, 2**62])


@pytest.mark.parametrize(("times", "dtype"), [(INTEGERS, np.int64), (FLOATS, np.float64)], ids=["whole", "floats"])
@given(data=st.data())
def test_no_row_that_is_inside_is_out_of_bounds(
    times: st.SearchStrategy[float], dtype: Any, data: st.DataObject
) -> None:
    ticks: list[Any] = [np.array([data.draw(times)], dtype) for _ in range(3)]
    a, b, candidate = ticks
    spans = [data.draw(SPANS), data.draw(SPANS)]
    own = data.draw(SPANS)
    if own is None and spans == [None, None]:
        return
    bounds = make_bounds([a, b], spans, own)
    inside = mask_inside([a, b], spans, np.zeros(1, np.int64), candidate, own)[0]
    early = bounds.earliest is not None and candidate[0] < bounds.earliest[0]
    late = bounds.latest is not None and candidate[0] > bounds.latest[0]
    assert not (inside and (early or late))


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize(
    ("spans", "own", "inside"),
    [
        ((None, None), 10, [10, 11, 20, 25, 26, 30, 31, 40]),
        ((10, None), None, [9, 10, 11, 20, 25]),
        ((None, 10), None, [9, 10, 11, 20, 25, 26, 30]),
        ((10, 10), 9, [11, 20, 25]),
    ],
)
def test_a_row_at_the_edge_of_a_window_is_inside(
    spans: tuple[int | None, int | None], own: int | None, inside: list[int], dtype: Any
) -> None:
    """Of a tuple with rows at 15 and 20: the later one says how old a candidate may be, each how much younger."""
    found = np.array([9, 10, 11, 20, 25, 26, 30, 31, 40], dtype)
    ticks = [np.array([15], dtype), np.array([20], dtype)]
    mask = mask_inside(ticks, spans, np.zeros(len(found), np.int64), found, own)
    assert found[mask].tolist() == inside


def test_bounds_are_as_near_as_the_windows_are_long() -> None:
    bounds = make_bounds([np.array([50, 60]), np.array([45, 61])], [20, 30], 10)
    assert bounds.earliest is not None
    assert bounds.latest is not None
    assert bounds.earliest.tolist() == [40, 51]
    assert bounds.latest.tolist() == [70, 80]
    floats = make_bounds([np.array([50.0])], [None], 0.1)
    assert floats.latest is None
    assert floats.earliest is not None
    assert 49.8999 < floats.earliest[0] <= 49.9


@given(data=st.data())
def test_what_is_left_of_a_run_is_what_is_in_bounds(data: st.DataObject) -> None:
    """Of rows that rise in time from run to run, found by places in an order."""
    rng = np.random.default_rng(data.draw(st.integers(0, 1_000)))
    times = rng.integers(0, 30, 60)
    codes = rng.integers(0, data.draw(st.sampled_from([1, 3, 10])), 60)
    order = np.lexsort((times, codes))
    starts = np.searchsorted(codes[order], np.arange(11))
    counts = np.diff(np.append(starts, 60))
    low, high = np.sort(rng.integers(-2, 33, (2, 11)), axis=0)
    bounds = TimeBounds(*(one if data.draw(st.booleans()) else None for one in (low, high)))
    first, many = starts.copy(), counts.copy()
    extent = (int(times.min()), int(times.max()))
    narrow(first, many, np.arange(11), bounds, times, order.astype(np.uint16), extent, 0)
    for probe in range(11):
        run = order[starts[probe] : starts[probe] + counts[probe]]
        kept = np.ones(len(run), np.bool_)
        if bounds.earliest is not None:
            kept &= times[run] >= low[probe]
        if bounds.latest is not None:
            kept &= times[run] <= high[probe]
        assert order[first[probe] : first[probe] + many[probe]].tolist() == run[kept].tolist()


def test_runs_that_are_not_worth_it_stay() -> None:
    starts, counts, times = np.array([0, 0]), np.array([5, 100]), np.arange(100)
    bounds = TimeBounds(np.array([90, 2]), None)
    narrow(starts, counts, np.array([1]), bounds.take(np.array([0, 1])), times, np.arange(100), (0, 99), LEAST_SAVED)
    assert (starts.tolist(), counts.tolist()) == ([0, 0], [5, 100])
