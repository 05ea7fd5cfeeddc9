"""Finds the rows for which something raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from eddy.errors import QueryError, RowError
from eddy.tuples.arrays import Mask, RowIds
from eddy.tuples.halves import ask_halves

Answer = TypeVar("Answer")


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
    faulty: list[int] = []
    errors: list[RowError] = []
    kinds = Kinds()

    def refuse(row: int, error: RowError) -> None:
        faulty.append(row)
        errors.append(kinds.find_first(error))

    parts = ask_halves(ask, rows, RowError, refuse)
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
