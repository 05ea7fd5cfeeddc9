"""Random inputs and conditions, each in two forms: for the engine, and for the naive answer.

A `Condition` is built twice from one draw: as SQL text or as a function with annotations, which the engine takes,
and as a Python function of one value, which the reference calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

from tests.reference import Row, before, same

Truth = Callable[[Row], bool | None]

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
DECIMAL = pa.decimal128(20, 4)

INTS = st.sampled_from([-(2**63) + 1, -(2**53) - 1, -3, -1, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1])
FLOATS = st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.5, -2.25, 1e300])
STRINGS = st.sampled_from(["", "a", "A", "ab", "b", "ß", "é", "%", "_", "日本", "\U0001f600", "a'b"])
DECIMALS = st.sampled_from([Decimal("0.0000"), Decimal("1.5000"), Decimal("-1.5000"), Decimal("9999999999999999.9999")])
STAMPS = st.sampled_from([datetime(2024, 1, 1, 0, 0, s, us, tzinfo=UTC) for s in (0, 1, 59) for us in (0, 1, 999_999)])


@dataclass(frozen=True)
class Kind:
    """A column type: its values, and how SQL writes one."""

    type: pa.DataType
    values: st.SearchStrategy[Any]
    literal: Callable[[Any], str]


KINDS = {
    "i": Kind(pa.int64(), INTS, str),
    "f": Kind(pa.float64(), FLOATS, lambda value: f"cast('{value}' as double)"),
    "s": Kind(pa.string(), STRINGS, lambda value: "'" + value.replace("'", "\\'") + "'"),
    "d": Kind(DECIMAL, DECIMALS, lambda value: f"cast('{value}' as decimal(20, 4))"),
    "t": Kind(pa.timestamp("us", "UTC"), STAMPS, lambda value: f"timestamp '{value.isoformat(sep=' ')}'"),
    "b": Kind(pa.bool_(), st.booleans(), lambda value: str(value).lower()),
}
"""A random table has one column of each kind, called by this letter."""


@dataclass(frozen=True)
class Condition:
    """One filter in both forms."""

    engine: dict[str, Any]
    truth: Truth


@dataclass(frozen=True)
class Clock:
    """A type of event time: its values, and how long `n` units of it are in a query and in ticks."""

    type: pa.DataType
    values: st.SearchStrategy[Any]
    unit: str | None = None

    def delay(self, length: int | None) -> str | int | None:
        """As a query says it."""
        return length if length is None or self.unit is None else f"{length} {self.unit}"

    def ticks(self, length: int | None) -> int | None:
        """As the reference counts it."""
        return length if length is None or self.unit is None else length * 1_000_000


MOMENTS = st.integers(0, 100)
CLOCKS = {
    "integer": Clock(pa.int64(), MOMENTS),
    "short": Clock(pa.int8(), st.none() | MOMENTS),
    "float": Clock(pa.float64(), st.none() | st.sampled_from([float("nan"), 0.0, 0.1, 0.5, 1.5, 20.1, 20.6, 40.0])),
    "zoned": Clock(
        pa.timestamp("us", "UTC"), st.none() | MOMENTS.map(lambda s: EPOCH + timedelta(seconds=s)), "seconds"
    ),
    "unzoned": Clock(
        pa.timestamp("ms"), MOMENTS.map(lambda s: EPOCH.replace(tzinfo=None) + timedelta(seconds=s)), "seconds"
    ),
}
"""The event times of a random table."""


def rows(clock: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows with every kind of column, nulls anywhere."""
    columns = {letter: st.none() | kind.values for letter, kind in KINDS.items()}
    return st.lists(st.fixed_dictionaries({"ts": CLOCKS[clock].values, **columns}), max_size=40)


def table(records: list[dict[str, Any]], clock: str) -> pa.Table:
    """Rows as the engine takes them."""
    fields = [pa.field("ts", CLOCKS[clock].type)] + [pa.field(letter, kind.type) for letter, kind in KINDS.items()]
    return pa.Table.from_pylist(records, schema=pa.schema(fields))


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[str, Truth]:
    """A comparison of a column with a value."""
    letter = draw(st.sampled_from(sorted(KINDS)))
    kind = KINDS[letter]
    value = draw(kind.values)
    text = kind.literal(value)
    found: tuple[str, Truth] = draw(
        st.sampled_from(
            [
                (f"{letter} = {text}", lambda row: same(row[letter], value)),
                (f"{letter} <> {text}", lambda row: _not(same(row[letter], value))),
                (f"{letter} < {text}", lambda row: before(row[letter], value)),
                (f"{letter} >= {text}", lambda row: _not(before(row[letter], value))),
                (f"{text} < {letter}", lambda row: before(value, row[letter])),
                (f"{letter} is null", lambda row: row[letter] is None),
                (f"{letter} in ({text}, null)", lambda row: _or(same(row[letter], value), None)),
            ]
        )
    )
    return found


def _combined(inner: st.SearchStrategy[tuple[str, Truth]]) -> st.SearchStrategy[tuple[str, Truth]]:
    negated = inner.map(lambda c: (f"not ({c[0]})", lambda row: _not(c[1](row))))
    both = st.tuples(inner, inner).map(
        lambda c: (f"({c[0][0]}) and ({c[1][0]})", lambda row: _and(c[0][1](row), c[1][1](row)))
    )
    either = st.tuples(inner, inner).map(
        lambda c: (f"({c[0][0]}) or ({c[1][0]})", lambda row: _or(c[0][1](row), c[1][1](row)))
    )
    return negated | both | either


TEXTS = st.recursive(comparisons(), _combined, max_leaves=4)


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left: bool | None, right: bool | None) -> bool | None:
    return _not(_and(_not(left), _not(right)))


def by_series(i: pd.Series) -> pd.Series:
    """Exact also where neighbours are null."""
    return i > 2**53


def by_numpy(i: npt.NDArray[np.int64], f: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """A null is NaN in both."""
    even: npt.NDArray[np.bool_] = i % 2 == 0
    return even | np.isnan(f)


def by_arrow(s: pa.Array) -> pa.Array:
    """Answers null with null."""
    return pa.compute.starts_with(s, "a")


def by_row(b: Any, d: Any) -> Any:
    """Plain Python values."""
    return d is None or (b and d > 0)


def by_null(i: pd.Series) -> pd.Series:
    """Nulls alone."""
    return i.isna()


def by_nulls(i: pd.Series, b: npt.NDArray[np.object_]) -> pd.Series:
    """Two columns of types whose nulls numpy does not know."""
    return i.isna() == pd.isna(b)


def by_text(s: pd.Series) -> pd.Series:
    """An object Series with None in it."""
    return s.str.contains("b", regex=False)


def by_map(i: pd.Series) -> pd.Series:
    """A Python function for each value of a Series."""
    return i.map(lambda value: value == 2**53 + 1)


FUNCTIONS = [
    Condition({"function": by_map}, lambda row: row["i"] == 2**53 + 1),
    Condition({"function": by_series, "columns": ["i"]}, lambda row: row["i"] is not None and row["i"] > 2**53),
    Condition(
        {"function": by_numpy, "columns": ["i", "f"]},
        lambda row: (row["i"] is not None and row["i"] % 2 == 0) or row["f"] is None or row["f"] != row["f"],
    ),
    Condition(
        {"function": by_numpy, "columns": ["i", "f"], "nulls": "skip"},
        lambda row: None not in (row["i"], row["f"]) and (row["i"] % 2 == 0 or row["f"] != row["f"]),
    ),
    Condition({"function": by_null}, lambda row: row["i"] is None),
    Condition({"function": by_nulls}, lambda row: (row["i"] is None) == (row["b"] is None)),
    Condition({"function": by_arrow}, lambda row: row["s"] is not None and row["s"].startswith("a")),
    Condition(
        {"function": by_row, "rowwise": True},
        lambda row: row["d"] is None or (bool(row["b"]) and row["d"] > 0),
    ),
    Condition(
        {"function": by_row, "rowwise": True, "nulls": "skip"},
        lambda row: None not in (row["b"], row["d"]) and row["b"] and row["d"] > 0,
    ),
    Condition({"function": by_text}, lambda row: row["s"] is not None and "b" in row["s"]),
]
PARTS: list[dict[str, Any]] = [{"batch_size": 1}, {"batch_size": 5}, {"batch_size": 3, "concurrency": 4}]
CACHES: list[dict[str, Any]] = [{"cache": "1 value"}, {"cache": "7 values"}, {"cache": "10000 values"}]
FUNCTIONS += [
    Condition({**one.engine, **way}, one.truth)
    for number, one in enumerate(FUNCTIONS)
    for way in (CACHES[number % 3], *([] if "rowwise" in one.engine else [PARTS[number % 3]]))
]
"""Each in other ways as well, none of which changes an answer."""

CONDITIONS = TEXTS.map(lambda c: Condition({"where": c[0]}, c[1])) | st.sampled_from(FUNCTIONS)
