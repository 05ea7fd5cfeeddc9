"""Asks a predicate about rows, and lets no row answer for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from eddy.bisect import RowErrors, bisected
from eddy.errors import RowError
from eddy.faults import FAIL, PENDING, Faults
from eddy.masks import Mask
from eddy.query import Predicate
from eddy.sql import Column
from eddy.tuples import Codes, RowIds

SHOWN = 200
"""Characters of a value in a sample."""


class Judged(NamedTuple):
    """Which rows go on, and the faults of those of them that the predicate has no answer for; None for no faults."""

    passed: Mask
    faults: Codes | None


class Judge:
    """A predicate, and what is done where it has no answer."""

    def __init__(self, name: str, predicate: Predicate, faults: Faults, *, on_error: str) -> None:
        self._name = name
        self._predicate = predicate
        self._faults = faults
        self._on_error = on_error

    def ask(self, columns: Mapping[Column, pa.Array], rows: int) -> Judged:
        """Judge some rows.

        Those of a call that raises are asked again, fewer at a time, until the ones are found that raise alone. A
        function of single rows is asked once about each.
        """
        try:
            return Judged(self._predicate(columns, rows), None)
        except RowErrors as errors:
            passed, faulty, found = errors.passed, errors.faulty, errors.errors
        except RowError as error:
            parts, faulty, found = bisected(lambda part: self._predicate(_taken(columns, part), len(part)), rows)
            if error.final and not len(faulty):
                # It is not wrong about any row alone, so it does not judge each row by itself.
                raise
            # Of a function that gives no mask, what it gave for all says more than what it gives for each.
            found = [error if one.final and error.final else one for one in found]
            passed = np.zeros(rows, np.bool_)
            for part, mask in parts:
                passed[part] = mask
        verdicts = self._faults.note(self._name, found, self._on_error, lambda n: _shown(columns, int(faulty[n])))
        return _judged(passed, faulty, verdicts)


def _judged(passed: Mask, faulty: RowIds, verdicts: Codes) -> Judged:
    passed[faulty] = verdicts != FAIL
    if not len(verdicts) or verdicts.max() < PENDING:
        return Judged(passed, None)
    faults = np.zeros(len(passed), np.uint8)
    faults[faulty] = np.where(verdicts < PENDING, np.uint8(0), verdicts)
    return Judged(passed, faults)


def _taken(columns: Mapping[Column, pa.Array], rows: RowIds) -> dict[Column, pa.Array]:
    places = pa.array(rows)
    return {column: array.take(places) for column, array in columns.items()}


def _shown(columns: Mapping[Column, pa.Array], row: int) -> str:
    return ", ".join(f"{column} = {_short(array[row].as_py())}" for column, array in columns.items())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
