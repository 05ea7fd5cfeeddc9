"""What searches have found is held against what was predicted, by the keys that they went by."""

from __future__ import annotations

import pytest

from eddy.operators.index.counts import Served, Work
from eddy.operators.index.experience import FEWEST, MOST_KNOWN, MOST_TIMES, Experience
from eddy.operators.index.structures.key_map import Field, KeyMap, hash_map

ONE, BOTH = hash_map(0b01, 16), hash_map(0b11, 16)
FIRST = KeyMap(fields=(Field(keys=(0,), bits=8), Field(keys=(1,), bits=8)))
ROWS = 1_000


def guess(_: Served, rows: int) -> float:
    """One row in a hundred."""
    return rows / 100


def work(candidates: int, lookups: int = 100, rows: int = ROWS) -> Work:
    return Work(lookups=lookups, candidates=candidates, reached=lookups * rows)


def test_nothing_is_corrected_as_long_as_little_is_known() -> None:
    known = Experience()
    assert known.find_times((0,), 0b01, guess) == 1.0
    known.note({(ONE, 0b01): work(2 * FEWEST // 3, lookups=FEWEST // 15)})
    assert known.find_times((0,), 0b01, guess) == 1.0


@pytest.mark.parametrize("candidates", [250, 1_000, 5_000])
def test_a_pattern_is_corrected_by_what_its_own_searches_found(candidates: int) -> None:
    """Another pattern that the same map serves may find more, or fewer."""
    known = Experience()
    for _ in range(5):
        known.note({(ONE, 0b01): work(candidates), (ONE, 0b11): work(3 * candidates)})
    assert known.find_times((0,), 0b01, guess) == pytest.approx(candidates / 1_000)
    assert known.find_times((0,), 0b11, guess) == pytest.approx(3 * candidates / 1_000)
    # Of a pattern that was not asked yet, all that go by the same keys say it.
    assert known.find_times((0,), 0b101, guess) == pytest.approx(2 * candidates / 1_000)
    assert known.find_times((0, 1), 0b11, guess) == 1.0


def test_maps_that_go_by_the_same_keys_know_of_each_other() -> None:
    known = Experience()
    known.note({(FIRST, 0b01): work(5_000), (BOTH, 0b11): work(4_000)})
    assert known.find_times((0,), 0b01, guess) == pytest.approx(5)
    assert known.find_times((0, 1), 0b11, guess) == pytest.approx(4)


def test_what_is_past_fades() -> None:
    known = Experience()
    for candidates in (10_000, *[500] * 60):
        known.note({(ONE, 0b01): work(candidates)})
    assert known.find_times((0,), 0b01, guess) == pytest.approx(0.5, rel=0.02)


def test_a_correction_is_bounded_and_so_is_what_is_kept() -> None:
    known = Experience()
    known.note({(ONE, 0b01): work(10_000_000), (None, 0b01): work(5), (BOTH, 0b11): work(0)})
    assert known.find_times((0,), 0b01, guess) == MOST_TIMES
    assert known.find_times((0, 1), 0b11, guess) == 1 / MOST_TIMES
    for pattern in range(1, 3 * MOST_KNOWN):
        known.note({(hash_map(pattern, 16), pattern): work(1)})
    assert len(known._seen) == MOST_KNOWN
