"""Asks a predicate about rows; no row answers for another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from eddy import sql
from eddy.errors import RowError, write_repr
from eddy.predicates.arguments import mask_complete
from eddy.predicates.faults import FAIL, PENDING, Faults
from eddy.predicates.function import DirectCall
from eddy.predicates.row_errors import RowErrors, ask_again
from eddy.predicates.value_cache import ValueCache
from eddy.sql import Column
from eddy.tuples.arrays import FaultCodes, Mask, Numbers, RowIds
from eddy.tuples.values import Values

Columns = Mapping[sql.Column, Values]

Predicate = Callable[[Columns, int], Mask]
"""A function from columns and a number of rows to a mask, true where a row passes; it raises a `RowError` if it has
no answer for some."""


class Judged(NamedTuple):
    """The rows that go on, and their faults; None for no faults.

    A row with a fault goes on without an answer. `skipped` rows do not pass because the predicate is not asked about
    rows with a null, and `reused` ones have the answer that their values had before.
    """

    passed: Mask
    faults: FaultCodes | None
    skipped: int = 0
    reused: int = 0


class Judge:
    """A predicate, and the treatment of rows without an answer.

    With a cache it is not asked again about values for which it has an answer. A function may be asked `direct`, by
    numbers.
    """

    def __init__(
        self,
        name: str,
        predicate: Predicate,
        faults: Faults,
        *,
        on_error: str,
        skips_nulls: bool = False,
        cache: ValueCache | None = None,
        direct: DirectCall | None = None,
    ) -> None:
        self._name = name
        self._predicate = predicate
        self._faults = faults
        self._on_error = on_error
        self._skips_nulls = skips_nulls
        self._cache = cache
        self._answer = predicate if cache is None else self._ask_cache
        # What a cache has is looked up by the columns.
        self.direct = direct if cache is None else None
        self._ask_directly = None if self.direct is None else self.direct.ask

    def ask_directly(self, numbers: Sequence[Numbers], rows: int, read: Callable[[], Columns]) -> Judged:
        """Judge rows by the numbers of their columns, none of them null, if the predicate can be asked so."""
        assert self._ask_directly is not None
        try:
            return Judged(self._ask_directly(numbers, rows, read), None)
        except RowError as error:
            return self._ask_again(error, read(), rows)

    def ask(self, columns: Columns, rows: int) -> Judged:
        """Judge some rows; those with a null may be skipped."""
        judged = self._judge(columns, rows)
        return judged if self._cache is None else judged._replace(reused=self._cache.take_reused())

    def _judge(self, columns: Columns, rows: int) -> Judged:
        if self._skips_nulls and any(values.held.has_nulls for values in columns.values()):
            complete = mask_complete([values.arrow() for values in columns.values()])
            if complete is not None:
                return self._ask_complete(columns, rows, complete)
        return self._ask(columns, rows)

    def _ask_complete(self, columns: Columns, rows: int, passed: Mask) -> Judged:
        """Judge the rows without a null; the others do not pass."""
        # Rows with a null are settled without the function; the answers for the others go back to their places:
        #
        #     complete [T F T T]   asked [0 2 3]   answers [F T T]   ->   passed [F F T T]
        asked, faults = np.flatnonzero(passed), None
        if len(asked):
            judged = self._ask(_take_rows(columns, asked), len(asked))
            passed[asked] = judged.passed
            if judged.faults is not None:
                faults = np.zeros(rows, np.uint8)
                faults[asked] = judged.faults
        return Judged(passed, faults, rows - len(asked))

    def _ask(self, columns: Columns, rows: int) -> Judged:
        """Judge some rows, and find those that raise alone.

        The rows of a call that raises are asked again, fewer at a time. A function of single rows is asked once
        about each.
        """
        try:
            return Judged(self._answer(columns, rows), None)
        except RowError as error:
            return self._ask_again(error, columns, rows)

    def _ask_again(self, error: RowError, columns: Columns, rows: int) -> Judged:
        if isinstance(error, RowErrors):
            passed, faulty, found = error.passed, error.faulty, error.errors
        else:
            passed, faulty, found = ask_again(
                lambda part: self._answer(_take_rows(columns, part), len(part)), rows, error
            )
        # Rows are shown only if the query allows it, so their texts are made on demand.
        verdicts = self._faults.note(self._name, found, self._on_error, lambda n: _row_text(columns, int(faulty[n])))
        return _apply_verdicts(passed, faulty, verdicts)

    def _ask_cache(self, columns: Columns, rows: int) -> Mask:
        """Give the predicate's answers, or those that it gave before; raises what it raises."""
        assert self._cache is not None
        return self._cache.ask(
            columns.values(), rows, lambda part: self._predicate(_take_rows(columns, part), len(part))
        )


def _apply_verdicts(passed: Mask, faulty: RowIds, verdicts: FaultCodes) -> Judged:
    passed[faulty] = verdicts != FAIL
    if not len(verdicts) or verdicts.max() < PENDING:
        return Judged(passed, None)
    faults = np.zeros(len(passed), np.uint8)
    # "drop" and "keep" have settled their rows: only faults that may still fail the query travel with the tuple.
    faults[faulty] = np.where(verdicts < PENDING, np.uint8(0), verdicts)
    return Judged(passed, faults)


def ask_sql(condition: sql.Bound) -> Predicate:
    """Give a condition in SQL as a predicate."""

    def ask(columns: Columns, rows: int) -> Mask:
        return sql.truth(condition.evaluate({column: values.arrow() for column, values in columns.items()}, rows))

    return ask


def _take_rows(columns: Columns, rows: RowIds) -> dict[Column, Values]:
    return {column: values.at(rows) for column, values in columns.items()}


def _row_text(columns: Columns, row: int) -> str:
    return ", ".join(f"{column} = {write_repr(values.arrow()[row].as_py())}" for column, values in columns.items())
