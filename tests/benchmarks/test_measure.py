"""Contenders take turns fairly, and their answers can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.measure import WARM, Goal, Ratio, ratios, seconds_of, setting

BATCHES = [pa.record_batch({"v": [number, None]}) for number in range(300)]


def turns(batches: Any, seed: int = 0) -> list[str]:
    """Who had its turn, one after the other."""
    taken: list[str] = []
    contenders = {name: lambda _, name=name: taken.append(name) for name in "abc"}
    ratios(contenders, batches, baseline="a", seed=seed)
    return taken


def test_everybody_has_one_turn_at_each_batch() -> None:
    taken = turns(BATCHES)
    assert all(sorted(taken[start : start + 3]) == ["a", "b", "c"] for start in range(0, len(taken), 3))


def test_nobody_always_follows_the_same_other() -> None:
    taken = turns(BATCHES)
    follows = [(a, b) for number, (a, b) in enumerate(pairwise(taken)) if number % 3 < 2]
    counts = [follows.count((a, b)) for a in "abc" for b in "abc" if a != b]
    assert min(counts) > 0.8 * np.mean(counts)


def test_the_turns_are_those_of_the_seed() -> None:
    assert turns(BATCHES, seed=1) == turns(BATCHES, seed=1) != turns(BATCHES, seed=2)


@pytest.mark.parametrize("batches", [BATCHES[:5], [{"a": batch, "b": batch} for batch in BATCHES[:5]]])
def test_the_answers_to_every_batch_are_shown(batches: list[Any]) -> None:
    shown: list[Mapping[str, Any]] = []
    found = ratios({"a": id, "b": id}, batches, baseline="a", agree=shown.append)
    assert shown == [{"a": id(batch), "b": id(batch)} for batch in batches]
    assert (found[0].name, found[0].median) == ("a", 1.0)
    assert all(ratio.low <= ratio.median <= ratio.high for ratio in found)


def test_too_few_batches_are_refused() -> None:
    with pytest.raises(ValueError, match=f"more than {WARM} micro-batches"):
        ratios({"a": id}, BATCHES[:WARM], baseline="a")


@pytest.mark.parametrize(
    ("goal", "met", "text"),
    [
        (None, True, "in all"),
        (("at most", 2.0), True, "goal at most 2.0: met"),
        (("at most", 1.4), False, "goal at most 1.4: missed"),
        (("at least", 1.5), True, "goal at least 1.5: met"),
        (("at least", 2.0), False, "goal at least 2.0: missed"),
    ],
)
def test_a_goal_is_met_or_missed(goal: Goal | None, met: bool, text: str) -> None:
    ratio = Ratio(name="ours", median=1.5, low=1.0, high=2.0, seconds=1.0, goal=goal)
    assert ratio.met == met
    assert str(ratio).endswith(text)


def test_a_run_says_what_it_was_made_of() -> None:
    text = setting(rows=1_000_000, batch=10_000, seed=7)
    assert text.startswith("1,000,000 rows, micro-batches of 10,000, seed 7; ")
    assert f"numpy {np.__version__}, pyarrow {pa.__version__}" in text


def test_the_shortest_of_a_few_tries_counts() -> None:
    assert 0 < seconds_of(lambda: sum(range(1_000))) < 1
