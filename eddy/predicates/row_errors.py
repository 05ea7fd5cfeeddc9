"""Finds the rows for which something raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from eddy.errors import QueryError, RowError
from eddy.tuples.arrays import Mask, RowIds

Answer = TypeVar("Answer")

MOST_SINGLE_ROWS = 8
"""Rows of a part that are asked one by one: if all rows raise, there are a quarter more calls than rows, and not
twice as many, as there would be if every part were halved to its end."""


class RowErrors(RowError):
    """Some rows have no answer; the others have theirs already."""

    def __init__(self, passed: Mask, faulty: RowIds, errors: Sequence[RowError]) -> None:
        super().__init__(str(errors[0]), kind=errors[0].kind, final=errors[0].final)
        self.passed = passed
        self.faulty = faulty
        self.errors = errors


class Kinds:
    """One error of each kind, for all rows that have it.

    As many rows may raise as there are, and an error is a hundred times as large as the verdict that becomes of it.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], RowError] = {}

    def find_first(self, error: RowError) -> RowError:
        """Give the first error of this kind."""
        key = (error.kind, error.final)
        if key not in self._known:
            self._known[key] = error.bare()
        return self._known[key]


class Bisected(NamedTuple, Generic[Answer]):
    """Answers for parts of the rows, and the rows without one.

    Each of these has an error of its kind.
    """

    parts: Sequence[tuple[RowIds, Answer]]
    faulty: RowIds
    errors: Sequence[RowError]


def ask_by_halves(ask: Callable[[RowIds], Answer], rows: int) -> Bisected[Answer]:
    """Ask about ever fewer rows, until all that raise are alone.

    >>> found = ask_by_halves(lambda rows: [10 // row for row in rows.tolist()], 0)
    >>> found.parts, len(found.faulty)
    ([], 0)
    """
    # The halves wait on a stack, the first one on top, so that parts and errors come in the order of the rows:
    #
    #     [0 .. 63] raises  ->  [32 .. 63] [0 .. 31]  ->  ...  ->  single rows below nine
    waiting = _divide(np.arange(rows))
    parts: list[tuple[RowIds, Answer]] = []
    faulty: list[int] = []
    errors: list[RowError] = []
    kinds = Kinds()
    while waiting:
        part = waiting.pop()
        try:
            parts.append((part, ask(part)))
        except RowError as error:
            if len(part) > 1:
                waiting += _divide(part)
                continue
            faulty.append(int(part[0]))
            errors.append(kinds.find_first(error))
    return Bisected(parts, np.array(faulty, np.int64), errors)


class RowAnswers(NamedTuple):
    """The rows that pass, and those without an answer.

    Each of these has an error of its kind.
    """

    passed: Mask
    faulty: RowIds
    errors: Sequence[RowError]


def ask_again(ask: Callable[[RowIds], Mask], rows: int, error: RowError) -> RowAnswers:
    """Ask about the rows of a call that raised, fewer at a time."""
    parts, faulty, found = ask_by_halves(ask, rows)
    if error.final and not len(faulty):
        # It is not wrong about any row alone, so it does not judge each row by itself: that is no row's error.
        raise QueryError(str(error)) from error
    # If a function gives no mask, its result for all rows says more than its result for one.
    found = [error if one.final and error.final else one for one in found]
    passed = np.zeros(rows, np.bool_)
    for part, mask in parts:
        passed[part] = mask
    return RowAnswers(passed, faulty, found)


def _divide(part: RowIds) -> list[RowIds]:
    """Cut rows in two, or into single ones.

    The first piece stands last, since pieces are taken from there.
    """
    pieces = len(part) if len(part) <= MOST_SINGLE_ROWS else 2
    return [piece for piece in reversed(np.array_split(part, max(pieces, 1))) if len(piece)]
