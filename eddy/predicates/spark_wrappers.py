"""Unwraps the Python function of a `udf` or `pandas_udf`.

Those are for columns of DataFrames, and hold on to Spark; the function inside is what a filter calls. The core does not
import pyspark, so they are known by what they have: a function, a kind, and the type of what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from eddy.errors import QueryError, shorten
from eddy.predicates.arguments import ARROW, SERIES

WRAPPER_ATTRIBUTES = ("func", "evalType", "returnType")

ROW_KINDS: Mapping[int, str] = {100: "a udf", 101: "a udf with useArrow"}
COLUMN_KINDS: Mapping[int, tuple[str, str]] = {200: ("a pandas_udf", SERIES), 250: ("an arrow_udf", ARROW)}
"""Kinds of functions by their number in Spark's protocol: those of a row's values, and those of whole columns with
the form of a parameter without an annotation."""

ITERATOR_KINDS = frozenset({204, 251})
"""Kinds that take an iterator over batches."""


class Unwrapped(NamedTuple):
    """A user's function, and how it is called.

    It takes single rows or whole columns. `unsaid` is the form of a parameter without an annotation.
    """

    function: Callable[..., Any]
    rowwise: bool
    unsaid: str


def unwrap(given: Any, *, rowwise: bool, where: str) -> Unwrapped:
    """Take a user's function out of Spark's wrapper, if any."""
    # Known by its attributes and not by its class: the core does not import pyspark.
    if not all(hasattr(given, mark) for mark in WRAPPER_ATTRIBUTES):
        return Unwrapped(given, rowwise, SERIES)
    kind = given.evalType
    if kind not in ROW_KINDS and kind not in COLUMN_KINDS:
        what = "an iterator over batches" if kind in ITERATOR_KINDS else "groups of rows, or frames"
        raise QueryError(
            f"{where}: function: expected a udf, or a pandas_udf from pd.Series to pd.Series, got one of Spark's "
            f"functions that is handed {what}; a filter judges each row by itself: write it so, without a decorator"
        )
    called = ROW_KINDS[kind] if kind in ROW_KINDS else COLUMN_KINDS[kind][0]
    _check(given, rowwise and kind in COLUMN_KINDS, f"{where}: function: {called}")
    return Unwrapped(given.func, kind in ROW_KINDS, SERIES if kind in ROW_KINDS else COLUMN_KINDS[kind][1])


def _check(given: Any, called_by_row: bool, where: str) -> None:
    """Refuse functions that would mean something else here."""
    if (returns := _type_text(given.returnType)) != "boolean":
        raise QueryError(
            f'{where} that returns "{shorten(returns, 100)}"; expected "boolean": make it a comparison, '
            "and say so in its decorator"
        )
    if not getattr(given, "deterministic", True):
        raise QueryError(
            f"{where} that is declared nondeterministic; filters run in any order, so the answer for a row must depend "
            "on the row alone; if it does, leave asNondeterministic() out"
        )
    if called_by_row:
        raise QueryError(f"{where} is handed columns; leave rowwise out, or hand over a udf")


def _type_text(returns: Any) -> str:
    """Write the name of a type of Spark's.

    A type that has not been parsed yet has a text.
    """
    unparsed = getattr(returns, "data_type_string", returns)
    text = unparsed if isinstance(unparsed, str) else returns.simpleString()
    return str(text).strip().lower()
