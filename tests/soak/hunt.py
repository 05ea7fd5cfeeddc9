"""Numbered random cases: the same number and seed give the same case, so that one that fails can be looked at again."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

T = TypeVar("T")

BLOCK = 50
"""Cases that are drawn in one go. The first of each is the simplest that there is, so a block must not be small."""

APART = 1_000_003
"""What the blocks of one seed and those of the next are apart: more than anybody runs."""


@dataclass(frozen=True, kw_only=True)
class Hunt(Generic[T]):
    """A kind of case, and what must hold of each.

    `check` is given a case and its number, and raises if it does not hold. What it gives is a word for what has
    happened, to be counted: the cases of a hunt should not all be refused.
    """

    name: str
    cases: st.SearchStrategy[T]
    check: Callable[[T, int], str]

    def drawn(self, seed: int, start: int, stop: int) -> Iterator[tuple[int, T]]:
        """The cases with some numbers."""
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            for number, case in enumerate(_block(self.cases, seed * APART + block), block * BLOCK):
                if start <= number < stop:
                    yield number, case

    def run(self, seed: int, start: int, stop: int) -> Caught:
        """Check the cases with some numbers; one that fails does not keep the others from being tried."""
        began = time.perf_counter()
        words: Counter[str] = Counter()
        failures: dict[int, str] = {}
        for number, case in self.drawn(seed, start, stop):
            try:
                words[self.check(case, number)] += 1
            except Exception:  # whatever goes wrong in a case is what is looked for
                failures[number] = f"{traceback.format_exc()}\nthe case: {case!r}"
        return Caught(name=self.name, words=words, failures=failures, seconds=time.perf_counter() - began)


@dataclass(frozen=True, kw_only=True)
class Caught:
    """What a hunt has come upon."""

    name: str
    words: Counter[str]
    failures: dict[int, str] = field(default_factory=dict)
    seconds: float = 0.0
    told: str = ""

    @property
    def cases(self) -> int:
        """How many were tried."""
        return self.words.total() + len(self.failures)

    def __str__(self) -> str:
        told = self.told or ", ".join(f"{count:,} {word}" for word, count in sorted(self.words.items()))
        return f"{self.name:<9} {self.cases:>7,} cases in {self.seconds:,.0f} s: {told}; {len(self.failures)} FAILED"


def _block(cases: st.SearchStrategy[T], number: int) -> list[T]:
    held: list[T] = []

    @seeded(number)
    @settings(
        max_examples=BLOCK,
        database=None,
        deadline=None,
        derandomize=False,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases)
    def take(case: Any) -> None:
        held.append(case)

    take()
    return held
