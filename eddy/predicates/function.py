"""A user's Python function as a predicate over Arrow columns.

The function gets what its annotations ask for: `pd.Series` (as for a pandas_udf, and when it says nothing),
`np.ndarray` or `pa.Array`; with `rowwise` it is called with plain Python values, one row at a time. It must judge each
row by itself: rows come in whatever company the routing gives them.

What it sees of a row does not depend on the rows beside it either, nulls included: see `predicates.arguments`. Nested
values arrive as Python lists and dicts. Arrow arrays and Python values have nulls of their own.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np

from eddy.errors import LONGEST_NAME, QueryError, RowError, describe_error, quote, read_message, shorten, write_repr
from eddy.predicates import concurrent_calls, time_limit
from eddy.predicates.arguments import FORMS, FROM_NUMBERS, SERIES, check_mask, forms_of, group_by_nulls
from eddy.predicates.concurrent_calls import open_calls
from eddy.predicates.row_errors import Kinds, RowErrors, ask_again, ask_by_halves
from eddy.predicates.time_limit import Expired, Result, RowsDone, call_limited
from eddy.sql import Column
from eddy.tuples.arrays import Mask, Numbers, RowIds
from eddy.tuples.values import Values

OURS = (__file__, time_limit.__file__, concurrent_calls.__file__)
"""Files whose lines say nothing about what is wrong in a function of someone else's."""


class TooSlow(QueryError):
    """A call took longer than its time limit.

    That is no row's fault, so no `on_error` passes over it.
    """


class DirectCall(NamedTuple):
    """Asks a function about rows of which numpy has all numbers, none of them null.

    It is given the numbers of the columns, how many rows they are, and what reads the columns if there is an error.
    """

    columns: tuple[Column, ...]
    ask: Callable[[Sequence[Numbers], int, Callable[[], Mapping[Column, Values]]], Mask]


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
    at_once: int | None = None
    most_rows: int | None = None

    @staticmethod
    def of(
        function: Callable[..., Any],
        columns: Sequence[str] | None,
        *,
        rowwise: bool,
        where: str,
        seconds: float | None = None,
        unsaid: str = SERIES,
        at_once: int | None = None,
        most_rows: int | None = None,
    ) -> Function:
        """Check a function's signature against its columns.

        `unsaid` is the form of columns for parameters without an annotation, `at_once` how many calls may be under way
        at the same time, `most_rows` how many rows a call of a function of columns gets.
        """
        if not callable(function):
            raise QueryError(f"{where}: expected a function, got {write_repr(function)}")
        named = getattr(getattr(function, "func", function), "__qualname__", type(function).__name__)
        name = shorten(str(named), LONGEST_NAME)
        parameters = _read_parameters(function, where, name)
        positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        names = columns if columns is not None else [p.name for p in positional if p.default is p.empty]
        if not names:
            raise QueryError(f'{where}: function "{name}" has no parameter to hand a column to; name them in columns')
        _check_call(function, names, where, name)
        forms: tuple[str, ...] = ("python",) * len(names)
        if not rowwise:
            forms = forms_of(function, parameters, len(names), where, unsaid=unsaid)
        parsed = tuple(map(_parse_column, names))
        return Function(name, function, parsed, forms, rowwise, where, seconds, at_once, most_rows)

    def qualify(self, resolve: Callable[[Column], Column]) -> Function:
        """Spell out each column's stream."""
        return replace(self, columns=tuple(map(resolve, self.columns)))

    @property
    def direct(self) -> DirectCall | None:
        """The way to ask it without a look at its columns; None where it must be asked otherwise."""
        plain = not (self.rowwise or self.seconds or self.at_once or self.most_rows)
        if not plain or not all(form in FROM_NUMBERS for form in self.forms):
            return None
        return DirectCall(self.columns, self._mask_numbers)

    def _mask_numbers(self, numbers: Sequence[Numbers], rows: int, read: Callable[[], Mapping[Column, Values]]) -> Mask:
        """Call the function with numbers of its columns, as `mask` does where there are no nulls."""
        try:
            results = self.function(*(numbers if self._takes_numbers else self._wrap(numbers)))
        except Exception as error:
            columns = read()
            raise self._make_error(error, [columns[column] for column in self.columns], rows) from error
        return check_mask(results, rows, self._who)

    @cached_property
    def _takes_numbers(self) -> bool:
        return all(FROM_NUMBERS.get(form) is None for form in self.forms)

    def _wrap(self, numbers: Sequence[Numbers]) -> list[Any]:
        convert = [FROM_NUMBERS[form] for form in self.forms]
        return [one if make is None else make(one) for one, make in zip(numbers, convert, strict=True)]

    def mask(self, columns: Mapping[Column, Values], rows: int) -> Mask:
        """Call the function for a mask of the rows that pass.

        Raises a `RowError` if it has no answer for some of them.
        """
        values = [columns[column] for column in self.columns]
        # The common case is asked for first, without a call: one with no batches, of columns without a null.
        if self.most_rows is None:
            for one in values:
                if one.held.has_nulls:
                    break
            else:
                return self._call(values, rows)
        parts = self._divide(values, rows)
        return self._call(values, rows) if parts is None else self._call_parts(values, rows, parts)

    def _divide(self, values: Sequence[Values], rows: int) -> Sequence[RowIds] | None:
        """Divide the rows among calls; None for a single one."""
        groups = None
        # A row must look the same in any company, and a null beside it would turn a column of integers into floats.
        if any(one.held.has_nulls for one in values):
            groups = group_by_nulls([one.arrow() for one in values], self.forms)
        most = self.most_rows
        if most is None:
            return groups
        whole = [np.arange(rows)] if groups is None else groups
        return [group[begun : begun + most] for group in whole for begun in range(0, len(group), most)]

    def _call_parts(self, values: Sequence[Values], rows: int, parts: Sequence[RowIds]) -> Mask:
        """Call the function once for each part of the rows.

        If one call raises, only its rows are asked again.
        """
        answers: list[Mask | RowError] = []
        # Made when their turn comes, so that only the arguments of calls under way are held.
        arguments = map(self._convert, (_take(values, part) for part in parts))
        with open_calls(self.function, arguments, self.at_once) as calls:
            longest = max(map(len, parts), default=0)
            self._call_limited(lambda: self._collect(calls, values, parts, answers), lambda: len(answers), longest)
        passed = np.zeros(rows, np.bool_)
        faulty: list[int] = []
        errors: list[RowError] = []
        for part, answer in zip(parts, answers, strict=True):
            if isinstance(answer, RowError):
                # The other parts have their answers, so only this one is halved.
                found = ask_again(partial(self._call_part, _take(values, part)), len(part), answer)
                passed[part] = found.passed
                faulty += part[found.faulty].tolist()
                errors += found.errors
            else:
                passed[part] = answer
        if errors:
            raise RowErrors(passed, np.array(faulty, np.int64), errors)
        return passed

    def _collect(
        self,
        calls: Iterator[Any],
        values: Sequence[Values],
        parts: Sequence[RowIds],
        answers: list[Mask | RowError],
    ) -> None:
        """Take the answers of all parts as they come: each a mask, or why there is none."""
        for part in parts:
            try:
                result = next(calls)
            except RowError:
                # The columns cannot be given to a function, whichever part they are of.
                raise
            except Exception as error:
                answers.append(self._make_error(error, _take(values, part), len(part)))
                continue
            try:
                answers.append(check_mask(result, len(part), self._who))
            except RowError as error:
                answers.append(error)

    def _convert(self, values: Sequence[Values]) -> tuple[Any, ...]:
        """Make the function's arguments of a part of the rows."""
        try:
            return tuple([FORMS[form](one) for one, form in zip(values, self.forms, strict=True)])
        except Exception as error:
            raise self._make_error(error, values, len(values[0])) from error

    def _call_part(self, values: Sequence[Values], part: RowIds) -> Mask:
        return self._call(_take(values, part), len(part))

    def _call(self, values: Sequence[Values], rows: int) -> Mask:
        try:
            arguments = [FORMS[form](one) for one, form in zip(values, self.forms, strict=True)]
            if self.rowwise:
                results, raised = self._call_each(arguments, values, rows)
            elif self.seconds is None and self.at_once is None:
                results, raised = self.function(*arguments), {}
            else:
                results, raised = self._call_limited(lambda: self._call_once(arguments), lambda: 0, rows), {}
        except TooSlow:
            raise
        except Exception as error:
            raise self._make_error(error, values, rows) from error
        return self._merge_results(results, raised) if self.rowwise else check_mask(results, rows, self._who)

    def _call_once(self, arguments: Sequence[Any]) -> Any:
        """Call a function of columns; one that may be called side by side may be asynchronous."""
        if self.at_once is None:
            return self.function(*arguments)
        with open_calls(self.function, [tuple(arguments)], 1) as calls:
            return next(calls)

    def _call_each(
        self, arguments: list[list[Any]], values: Sequence[Values], rows: int
    ) -> tuple[list[Any], dict[int, RowError]]:
        """Call a function of single rows for each, whatever it raises."""
        results: list[Any] = []
        raised: dict[int, RowError] = {}
        kinds = Kinds()

        # One iterator over all rows, in C unless several are asked about at once. It goes on behind a row that raised,
        # so no row is asked twice:
        #
        #     results  [T F]  row 2 raises  ->  [T F F]  raised {2: error}  ->  the next call is for row 3
        def go_on(calls: Iterator[Any]) -> None:
            while len(results) < rows:
                try:
                    # What came before a row that raises is in the list, and the next call is for the row after it.
                    results.extend(calls)
                    error: Exception | None = StopIteration() if len(results) < rows else None
                except Exception as caught:
                    error = caught
                if error is not None:
                    raised[len(results)] = kinds.find_first(self._make_error(error, values, 1))
                    results.append(False)

        with open_calls(self.function, zip(*arguments, strict=True), self.at_once) as calls:
            self._call_limited(lambda: go_on(calls), lambda: len(results), rows)
        return results, raised

    def _merge_results(self, results: list[Any], errors: dict[int, RowError]) -> Mask:
        """Make a mask of single results; some may be no booleans."""
        rows = len(results)
        try:
            passed = check_mask(results, rows, self._who)
        except RowError:
            # The function has been asked already: only its results are halved, until wrong ones are alone.
            parts, wrong, found = ask_by_halves(lambda p: check_mask([results[n] for n in p], len(p), self._who), rows)
            passed = np.zeros(rows, np.bool_)
            for part, mask in parts:
                passed[part] = mask
            errors = {**errors, **dict(zip(wrong.tolist(), found, strict=True))}
        if errors:
            raise RowErrors(passed, np.array(list(errors), np.int64), list(errors.values()))
        return passed

    def _call_limited(self, call: Callable[[], Result], progress: RowsDone, rows: int) -> Result:
        """Call something, and end it if it takes too long."""
        if self.seconds is None:
            return call()
        try:
            return call_limited(self.seconds, progress, call)
        except Expired:
            which = f"row {progress() + 1} of {rows}" if self.rowwise else f"{rows} rows"
            raise TooSlow(
                f"{self._who} was called with {which}, and took longer than its time_limit of {self.seconds:g} "
                "seconds; make it faster, or raise the limit"
            ) from None

    @cached_property
    def _who(self) -> str:
        return f'{self.where}: function "{self.name}"'

    def _make_error(self, error: Exception, values: Sequence[Values], rows: int) -> RowError:
        code = getattr(inspect.unwrap(self.function), "__code__", None)
        own = _find_line(error, getattr(code, "co_filename", None))
        place = f", at line {own.line} of {own.file}: {own.text}" if own else ""
        types = ", ".join(_describe_column(column, one) for column, one in zip(self.columns, values, strict=True))
        name = shorten(type(error).__name__, LONGEST_NAME)
        return RowError(
            f"{self._who} raised {describe_error(error)}{place}; it was called with {rows} rows of {shorten(types)}",
            kind=f"{name} at line {own.line} of {PurePath(own.file).name}" if own else name,
        )


def _take(values: Sequence[Values], part: RowIds) -> list[Values]:
    return [one.at(part) for one in values]


def _describe_column(column: Column, values: Values) -> str:
    return f"{column} {values.held.type}{' with nulls' if values.arrow().null_count else ''}"


class _Line(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    @property
    def text(self) -> str:
        """The text of the line, if the file can be read."""
        linecache.checkcache(self.file)
        return shorten(linecache.getline(self.file, self.line).strip(), LONGEST_NAME)


def _find_line(error: Exception, file: str | None) -> _Line | None:
    """Find the line at which an error was raised.

    It is the last line of the function's file, or else of any that is not ours. The way there is as long as a
    recursion was deep, and of its lines only one is read.
    """
    own = other = None
    step = error.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if name == file:
            own = step
        elif own is None and name not in OURS:
            other = step
        step = step.tb_next
    last = own or other
    return None if last is None else _Line(last.tb_frame.f_code.co_filename, last.tb_lineno)


def _read_parameters(function: Callable[..., Any], where: str, name: str) -> list[inspect.Parameter]:
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
            f'{where}: function "{name}" cannot be called with {len(names)} column(s) {quote(names)}: '
            f"{read_message(error)}"
        ) from None


def _parse_column(name: str) -> Column:
    """Parse `name`, `stream.name`, or stream.`na.me` with a dot."""
    stream, dot, column = name.partition(".") if not name.startswith("`") else ("", "", name)
    return Column(stream if dot else None, _unquote(column if dot else name))


def _unquote(name: str) -> str:
    """Read a name with or without backticks; inside of them two stand for one."""
    is_quoted = len(name) > 1 and name.startswith("`") and name.endswith("`")
    return name[1:-1].replace("``", "`") if is_quoted else name
