"""What every assessment must do; each check is crossed with every registered one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from eddy.operators.tuning.assess.registry import ASSESSMENTS
from eddy.operators.tuning.contracts import Assessment
from tests.tries import fewer

KEYS = 4

SEARCHES = st.lists(st.tuples(st.integers(1, 2**KEYS - 1), st.integers(1, 40)), max_size=60)
"""Some patterns, each with a number of searches that come at once."""

EPSILONS = st.sampled_from([0.02, 0.05, 0.1, 0.25])
SHARES = st.sampled_from([1.0, 1.5, 3.0])
"""Theta, in epsilons."""


def make(name: str, epsilon: float, theta: float, searches: Sequence[tuple[int, int]]) -> Assessment:
    made = ASSESSMENTS[name](epsilon=epsilon, theta=theta, seed=3)
    for pattern, times in searches:
        made.add(pattern, times)
    return made


def true_counts(searches: Sequence[tuple[int, int]]) -> Counter[int]:
    counted: Counter[int] = Counter()
    for pattern, times in searches:
        counted[pattern] += times
    return counted


def check_every_frequent_pattern_is_found(name: str) -> None:
    """Whatever has theta of the searches is given, and lacks epsilon of them at most."""

    @fewer(5)
    @given(SEARCHES, EPSILONS, SHARES)
    def check(searches: list[tuple[int, int]], epsilon: float, share: float) -> None:
        theta = min(epsilon * share, 1.0)
        known, found = true_counts(searches), make(name, epsilon, theta, searches).counts()
        for pattern, count in known.items():
            if count >= theta * known.total():
                assert found[pattern] >= count - epsilon * known.total()

    check()


def check_no_count_comes_from_elsewhere(name: str) -> None:
    """A pattern's count is of searches that an index of it serves."""

    @fewer(5)
    @given(SEARCHES, EPSILONS, SHARES)
    def check(searches: list[tuple[int, int]], epsilon: float, share: float) -> None:
        known = true_counts(searches)
        for pattern, count in make(name, epsilon, min(epsilon * share, 1.0), searches).counts().items():
            assert 0 < count <= sum(times for other, times in known.items() if other & pattern == pattern)

    check()


def check_it_goes_on_from_a_snapshot(name: str) -> None:
    """Restored anywhere, it counts as the one that was not stopped."""

    @fewer(5)
    @given(SEARCHES, st.integers(0, 60))
    def check(searches: list[tuple[int, int]], at: int) -> None:
        whole = make(name, 0.1, 0.2, searches)
        stopped = make(name, 0.1, 0.2, searches[:at]).snapshot()
        restored = make(name, 0.1, 0.2, [])
        restored.restore(json.loads(json.dumps(stopped)))
        for pattern, times in searches[at:]:
            restored.add(pattern, times)
        assert restored.counts() == whole.counts()
        assert restored.snapshot() == whole.snapshot()

    check()


def check_looking_changes_nothing(name: str) -> None:
    """Counts can be asked for at any time, and are the same again."""
    made = make(name, 0.1, 0.3, [(pattern, pattern) for pattern in range(1, 2**KEYS)])
    before = made.snapshot()
    assert made.counts() == made.counts()
    assert made.snapshot() == before


def check_many_patterns_stay_few(name: str) -> None:
    """However many keys there are, the table is bounded."""
    made = ASSESSMENTS[name](epsilon=0.01, theta=0.05, seed=1)
    for step in range(9_000):
        made.add(step * 7919 % (1 << 20) + 1, 1)
    assert made.tracked <= 4_096


CHECKS = [check for name, check in sorted(globals().items()) if name.startswith("check_")]
