"""Parts follow segments, and a probe leaves out none that has a row for it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.index import parts, segments
from eddy.operators.index.parts import Parts
from eddy.operators.index.segments import Segments
from eddy.operators.index.time_bounds import make_bounds
from eddy.query import Range, Rows, Unbounded, Window
from eddy.query.validation import LONGEST_DURATION
from eddy.tuples.event_time import age
from eddy.tuples.runs import Kept, Reach

TIMES = st.integers(0, 12) | st.sampled_from([-(2**63), -(2**63) + 3, 2**63 - 4, 2**63 - 1])
WINDOWS = [Range(0), Range(1), Range(3), Range(2.5), Range(LONGEST_DURATION), Rows(3), Unbounded()]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments of two or three rows."""
    monkeypatch.setattr(segments, "SMALLEST_SEALED", 2)
    monkeypatch.setattr(segments, "FEWEST_SEALED", 1)
    monkeypatch.setattr(parts, "FEWEST_NARROWED", 1)


def made(window: Window, ticks: npt.NDArray[np.int64], *, merge: bool = True) -> Parts:
    """Rows in parts, merged where that can be."""
    held = Segments(window, 0)
    held.extend(ticks)
    found = Parts(merge=merge)
    for _ in range(2):
        found.follow(list(held), None)
    return found


def reached(found: Parts, before: npt.NDArray[np.int64] | None, latest: npt.NDArray[np.int64], window: Window) -> Reach:
    span = window.ticks if isinstance(window, Range) else None
    reach = found.reach(before, None if span is None else make_bounds([latest], [None], span))
    return reach or Reach(np.zeros(len(latest), np.int64), np.full(len(latest), len(found)))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(
    times=st.lists(TIMES, min_size=1, max_size=25),
    probes=st.lists(st.tuples(TIMES, st.integers(0, 25)), min_size=1, max_size=5),
    merge=st.booleans(),
)
def test_no_row_that_a_probe_can_meet_is_out_of_its_reach(
    window: Window, times: list[int], probes: list[tuple[int, int]], merge: bool
) -> None:
    ticks = np.array(times, np.int64)
    found = made(window, ticks, merge=merge)
    latest = np.array([moment for moment, _ in probes], np.int64)
    before = np.array([min(first, len(times)) for _, first in probes], np.int64)
    reach, everywhere = reached(found, before, latest, window), reached(found, None, latest, window)
    number = np.concatenate([np.full(part.rows, n) for n, part in enumerate(found)])
    for probe in range(len(probes)):
        near = np.ones(len(ticks), np.bool_)
        if isinstance(window, Range):
            near = age(np.full_like(ticks, latest[probe]), ticks) <= window.ticks
        for one, meets in ((everywhere, near), (reach, near & (np.arange(len(ticks)) < before[probe]))):
            assert ((number[meets] >= one.first[probe]) & (number[meets] < one.last[probe])).all()


def test_what_is_too_old_or_too_new_or_came_later_is_out_of_reach() -> None:
    found = made(Range(10), np.arange(100), merge=False)
    bounds = make_bounds([np.array([49, 99, 200, 20])], [5], 10)
    reach = found.reach(np.array([50, 100, 5, 100]), bounds)
    assert reach is not None
    starts = [*(part.start for part in found), 100]
    assert [starts[n] for n in reach.first[:2]] == pytest.approx([38, 88], abs=2)
    assert [starts[n] for n in reach.last[:2]] == pytest.approx([50, 100], abs=4)
    assert reach.first[2] >= reach.last[2]
    assert [starts[reach.first[3]], starts[reach.last[3]]] == pytest.approx([10, 27], abs=3)


@pytest.mark.parametrize("moment", [0, 1, 5, 9])
def test_a_merged_part_is_in_reach_if_one_of_its_segments_is(moment: int) -> None:
    found = made(Range(12), np.repeat([9, 1, 5, 20], 4))
    first, *_ = found
    assert (first.rows, first.least, first.newest) == (12, 1, 9)
    bounds = make_bounds([np.array([moment])], [1], 0)
    reach = found.reach(None, bounds)
    assert reach is not None
    assert (int(reach.first[0]), int(reach.last[0])) == (0, 1)


def test_full_segments_become_one_part_and_the_one_that_grows_stays_alone() -> None:
    held, found = Segments(Range(40), 0), Parts(merge=True)
    sizes = []
    for start in range(0, 200, 10):
        held.extend(np.arange(start, start + 10))
        found.follow(list(held), None)
        gone = sum(s.rows for s in held if s.newest < start - 40)
        held.retain(Kept(gone, sum(s.rows for s in held)))
        found.follow(list(held), None)
        sizes.append([part.rows for part in found])
    assert all(len(some) <= 3 for some in sizes[4:])
    assert max(some[0] for some in sizes) >= 30
    assert [part.stop - part.start for part in found] == sizes[-1]


def test_parts_are_not_merged_beyond_what_two_bytes_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_MERGED", 10)
    found = made(Range(12), np.arange(40))
    assert max(part.rows for part in found if len(part.segments) > 1) in range(6, 11)


def test_times_that_fall_are_noticed() -> None:
    rising = made(Range(1_000), np.arange(40))
    assert all(part.rises for part in rising)
    fell = made(Range(1_000), np.concatenate([np.arange(20), [3], np.arange(20, 40)]))
    assert not all(part.rises for part in fell)
    step = made(Range(1_000), np.concatenate([np.arange(20), np.arange(10, 40)]))
    assert not all(part.rises for part in step if part.rows > 4)


def test_holes_among_old_rows_are_new_parts() -> None:
    held, found = Segments(Range(400), 0), Parts(merge=True)
    held.extend(np.arange(60))
    for _ in range(3):
        found.follow(list(held), None)
    first, *_ = found
    assert len(first.segments) > 1
    keep = np.ones(60, np.bool_)
    keep[first.stop // 2] = False
    held.retain(Kept.of(keep))
    found.follow(list(held), None)
    assert sum(part.rows for part in found) == 59
    assert [part.start for part in found][1:] == [part.stop for part in found][:-1]
    assert all(part.end - part.gone == sum(rows for _, rows in part.segments) for part in found)
