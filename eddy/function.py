"""A user's Python function as a predicate over Arrow columns.

The function is handed what its annotations ask for: `pd.Series` (as for a pandas_udf, and when it says nothing),
`np.ndarray` or `pa.Array`; with `rowwise` it is called with plain Python values, one row at a time. It must judge each
row by itself: rows come in whatever company the routing gives them.

What it sees of a row does not depend on the rows beside it either. numpy's integers and booleans have no null, and
pandas would turn a whole column into floats or objects for the sake of one; so a row with a null in such a column is
not shown to the function and does not pass, like a row that a strict SQL function answers with null. An `np.ndarray` of
any type is strict in this way. Nested values arrive as Python lists and dicts. Arrow arrays and Python values have
nulls of their own.
"""

from __future__ import annotations

import inspect
import itertools
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from eddy import limit
from eddy.bisect import Kinds, RowErrors, bisected
from eddy.errors import QueryError, RowError, quoted
from eddy.forms import FORMS, forms_of, is_strict
from eddy.limit import Expired, Progress, limited
from eddy.masks import Mask, checked
from eddy.sql import Column

OURS = (__file__, limit.__file__)
"""Files whose lines say nothing about what is wrong in a function of someone else's."""


class TooSlow(QueryError):
    """A call took longer than it may: that is no row's fault, and no `on_error` passes over it."""


@dataclass(frozen=True)
class Function:
    """A vectorised or row function, checked against its columns."""

    name: str
    function: Callable[..., Any]
    columns: tuple[Column, ...]
    forms: tuple[str, ...]
    rowwise: bool
    where: str
    seconds: float | None = None

    @staticmethod
    def of(
        function: Callable[..., Any],
        columns: Sequence[str] | None,
        *,
        rowwise: bool,
        where: str,
        seconds: float | None = None,
    ) -> Function:
        """Check a function's signature against the columns it is to be called with."""
        if not callable(function):
            raise QueryError(f"{where}: expected a function, got {function!r}")
        name = getattr(getattr(function, "func", function), "__qualname__", type(function).__name__)
        parameters = _parameters(function, where, name)
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = columns if columns is not None else [p.name for p in positional if p.default is p.empty]
        if not names:
            raise QueryError(f'{where}: function "{name}" has no parameter to hand a column to; name them in columns')
        _check_call(function, names, where, name)
        forms = ("python",) * len(names) if rowwise else forms_of(function, parameters, len(names), where)
        return Function(name, function, tuple(map(_column, names)), forms, rowwise, where, seconds)

    def qualified(self, resolve: Callable[[Column], Column]) -> Function:
        """The same function with each column's stream spelled out."""
        return replace(self, columns=tuple(map(resolve, self.columns)))

    def mask(self, columns: Mapping[Column, pa.Array], rows: int) -> Mask:
        """Call the function; true where a row passes, and a `RowError` if it has no answer for some of them."""
        arrays = [columns[column] for column in self.columns]
        shown = self._shown(arrays, rows)
        if shown is None:
            return self._call(arrays, rows)
        passed = np.zeros(rows, np.bool_)
        if len(shown):
            passed[shown] = self._call([array.take(pa.array(shown)) for array in arrays], len(shown))
        return passed

    def _shown(self, arrays: list[pa.Array], rows: int) -> np.ndarray[Any, np.dtype[np.int64]] | None:
        """The rows without a null that could not be shown as it is; None for all of them."""
        strict = [a for a, form in zip(arrays, self.forms, strict=True) if a.null_count and is_strict(form, a.type)]
        if not strict:
            return None
        valid = [array.is_valid().to_numpy(zero_copy_only=False) for array in strict]
        return np.flatnonzero(np.logical_and.reduce(valid))

    def _call(self, arrays: list[pa.Array], rows: int) -> Mask:
        try:
            arguments = [FORMS[form](array) for array, form in zip(arrays, self.forms, strict=True)]
            if self.rowwise:
                results, raised = self._each(arguments, arrays)
            else:
                with self._limited(lambda: 0, rows):
                    results, raised = self.function(*arguments), {}
        except TooSlow:
            raise
        except Exception as error:
            raise self._failure(error, arrays, rows) from error
        if not self.rowwise:
            return checked(results, rows, self._who)
        return self._gathered(results, raised)

    def _each(self, arguments: list[list[Any]], arrays: list[pa.Array]) -> tuple[list[Any], dict[int, RowError]]:
        """Call a function of single rows, once for each of them, whatever it raises."""
        rows = len(arrays[0])
        results: list[Any] = []
        raised: dict[int, RowError] = {}
        kinds = Kinds()
        calls = itertools.starmap(self.function, zip(*arguments, strict=True))
        with self._limited(lambda: len(results), rows):
            while len(results) < rows:
                try:
                    # What came before a row that raises is in the list, and the next call is for the row after it.
                    results.extend(calls)
                    error: Exception | None = StopIteration() if len(results) < rows else None
                except Exception as caught:
                    error = caught
                if error is not None:
                    raised[len(results)] = kinds.one(self._failure(error, arrays, 1))
                    results.append(False)
        return results, raised

    def _gathered(self, results: list[Any], errors: dict[int, RowError]) -> Mask:
        """The mask of single results; some of them may be no booleans."""
        rows = len(results)
        try:
            passed = checked(results, rows, self._who)
        except RowError:
            parts, wrong, found = bisected(lambda p: checked([results[n] for n in p], len(p), self._who), rows)
            passed = np.zeros(rows, np.bool_)
            for part, mask in parts:
                passed[part] = mask
            errors = {**errors, **dict(zip(wrong.tolist(), found, strict=True))}
        if errors:
            raise RowErrors(passed, np.array(list(errors), np.int64), list(errors.values()))
        return passed

    @contextmanager
    def _limited(self, progress: Progress, rows: int) -> Iterator[None]:
        """End a call that takes longer than it may."""
        if self.seconds is None:
            yield
            return
        try:
            with limited(self.seconds, progress):
                yield
        except Expired:
            which = f"row {progress() + 1} of {rows}" if self.rowwise else f"{rows} rows"
            raise TooSlow(
                f"{self._who} was called with {which}, and took longer than its time_limit of {self.seconds:g} "
                "seconds; make it faster, or raise the limit"
            ) from None

    @property
    def _who(self) -> str:
        return f'{self.where}: function "{self.name}"'

    def _failure(self, error: Exception, arrays: list[pa.Array], rows: int) -> RowError:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename not in OURS]
        own = [f for f in frames if f.filename == getattr(self._code(), "co_filename", None)] or frames
        place = f", at line {own[-1].lineno} of {own[-1].filename}: {own[-1].line}" if own else ""
        types = ", ".join(f"{column} {array.type}" for column, array in zip(self.columns, arrays, strict=True))
        name = type(error).__name__
        text = f"{name}: {error}" if str(error) else name
        return RowError(
            f"{self._who} raised {text}{place}; it was called with {rows} rows of {types}",
            kind=f"{name} at line {own[-1].lineno} of {PurePath(own[-1].filename).name}" if own else name,
        )

    def _code(self) -> object:
        return getattr(inspect.unwrap(self.function), "__code__", None)


def _parameters(function: Callable[..., Any], where: str, name: str) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise QueryError(
            f'{where}: function "{name}" does not tell its parameters; wrap it in a Python function'
        ) from None


def _check_call(function: Callable[..., Any], names: Sequence[str], where: str, name: str) -> None:
    try:
        inspect.signature(function).bind(*names)
    except TypeError as error:
        raise QueryError(
            f'{where}: function "{name}" cannot be called with {len(names)} column(s) {quoted(names)}: {error}'
        ) from None


def _column(name: str) -> Column:
    """A column as `name`, `stream.name` or, where the name has a dot itself, stream.`na.me`."""
    stream, dot, column = name.partition(".") if not name.startswith("`") else ("", "", name)
    return Column(stream if dot else None, (column if dot else name).strip("`"))
