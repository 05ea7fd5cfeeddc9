"""Thoughts in steps, so that a long one can be spread over rounds.

A thought is a generator that yields after each step, and returns what it has found. Steps are short: some looks at all
rows of a sample. Whoever runs it may stop between two of them, and go on in a later round.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Found = TypeVar("Found")

Steps = Generator[int, None, Found]
"""A thought that gives the number of each step once it is over, and returns what it has found."""


class Work:
    """Counts the steps of a thought, and says when it has had as many as it may.

    >>> work = Work(most=4)
    >>> work.step()
    1
    >>> work.has_left(), work.has_left(share=0.25)
    (True, False)
    """

    def __init__(self, most: float = float("inf")) -> None:
        self.most = most
        self.steps = 0

    def step(self) -> int:
        """Count a step that is over; gives its number."""
        self.steps += 1
        return self.steps

    def has_left(self, share: float = 1.0) -> bool:
        """Tell whether some of the steps are left, or of the share of them that a part of the thought may take."""
        return self.steps < share * self.most


def finish(thought: Steps[Found]) -> Found:
    """Think to the end at once.

    >>> def think():
    ...     yield 1
    ...     return "found"
    >>> finish(think())
    'found'
    """
    while True:
        try:
            next(thought)
        except StopIteration as end:
            found: Found = end.value
            return found
