"""Which segments a probe may leave out: none that has a row for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.index import segments
from eddy.operators.index.segments import Segments
from eddy.query import Range, Rows, Unbounded, Window
from eddy.query.validation import LONGEST_DURATION
from eddy.tuples.event_time import age

TIMES = st.integers(0, 12) | st.sampled_from([-(2**63), -(2**63) + 3, 2**63 - 4, 2**63 - 1])
WINDOWS = [Range(0), Range(1), Range(3), Range(2.5), Range(LONGEST_DURATION), Rows(3), Unbounded()]


def made(window: Window, ticks: npt.NDArray[np.int64], *, dtype: type = np.int64) -> Segments:
    """Rows in segments of two or three."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "SMALLEST_SEALED", 2)
        patch.setattr(segments, "FEWEST_SEALED", 1)
        found = Segments(window, 0)
        found.extend(ticks.astype(dtype))
    return found


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(
    times=st.lists(TIMES, min_size=1, max_size=25),
    probes=st.lists(st.tuples(TIMES, st.integers(0, 25)), max_size=5),
)
def test_no_row_that_a_probe_can_meet_is_out_of_its_reach(
    window: Window, times: list[int], probes: list[tuple[int, int]]
) -> None:
    ticks = np.array(times, np.int64)
    rows = made(window, ticks)
    latest = np.array([moment for moment, _ in probes], np.int64)
    before = np.array([min(first, len(times)) for _, first in probes], np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "FEWEST_NARROWED", 1)
        reach = rows.reach(before, latest)
        everywhere = rows.reach(None, latest)
    assert reach is not None and everywhere is not None  # noqa: PT018  one thing: there is a reach
    number = np.concatenate([np.full(segment.rows, n) for n, segment in enumerate(rows)])
    for probe in range(len(probes)):
        near = np.ones(len(ticks), np.bool_)
        if isinstance(window, Range):
            near = age(np.full_like(ticks, latest[probe]), ticks) <= window.ticks
        for one, meets in ((everywhere, near), (reach, near & (np.arange(len(ticks)) < before[probe]))):
            assert ((number[meets] >= one.first[probe]) & (number[meets] < one.last[probe])).all()


def test_what_is_too_old_or_came_later_is_out_of_reach() -> None:
    rows = made(Range(10), np.arange(100))
    reach = rows.reach(np.array([50, 100, 5]), np.array([49, 99, 200]))
    assert reach is not None
    starts = [segment.start for segment in rows]
    first = [starts[n] if n < len(starts) else 100 for n in reach.first]
    assert all(before - 14 < start <= before - 10 for before, start in zip([50, 100], first, strict=False))
    assert [starts[n] if n < len(starts) else 100 for n in reach.last[:2]] == pytest.approx([50, 100], abs=4)
    assert reach.first[2] >= reach.last[2]


def test_few_segments_and_rounded_times_are_all_in_reach() -> None:
    assert made(Range(10), np.arange(8)).reach(None, np.zeros(3, np.int64)) is None
    rows = made(Range(10), np.arange(100), dtype=np.float64)
    reach = rows.reach(None, np.full(3, 99.0))
    assert reach is not None
    assert not reach.first.any()
