"""Filters that are asked by the numbers of their columns say what they say when they are asked by the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import eddy
from eddy.errors import QueryError
from eddy.predicates.function import DirectCall, Function

ROWS = pa.table(
    {
        "ts": np.arange(40),
        "k": np.arange(40) % 7,
        "f": np.arange(40) / 8,
        "n": [None if i % 5 == 0 else i for i in range(40)],
    }
)


class Asked:
    """A function over columns that notes what it was asked about, and answers as told."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer
        self.seen: list[Any] = []

    def numpy(self, k: np.ndarray[Any, Any], f: np.ndarray[Any, Any]) -> Any:
        return self._ask(k, f)

    def series(self, k: pd.Series, f: pd.Series) -> Any:
        return self._ask(k, f)

    def mixed(self, k: pd.Series, f: np.ndarray[Any, Any]) -> Any:
        return self._ask(k, f)

    def _ask(self, k: Any, f: Any) -> Any:
        self.seen.append((type(k), type(f), list(k), list(f)))
        return self.answer(k, f)


def raise_for_some(k: Any, f: Any) -> Any:
    if (np.asarray(k) == 3).any():
        raise ValueError("three")
    return f > 1


ANSWERS: dict[str, Callable[..., Any]] = {
    "mask": lambda k, f: (k > 2) & (f < 4),
    "all": lambda k, _: k >= 0,
    "list": lambda k, _: [bool(one % 2) for one in k],
    "with nulls": lambda k, _: pa.array([None if one == 1 else True for one in k]),
    "raises": raise_for_some,
    "too few": lambda k, _: np.ones(len(k) - 1, np.bool_),
    "no booleans": lambda k, _: np.asarray(k) * 2,
}


def run(form: str, answer: str, column: str, on_error: str) -> tuple[Any, ...]:
    """What comes out, what was asked, and which faults were counted."""
    asked = Asked(ANSWERS[answer])
    query = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        filters=[
            eddy.Filter("first", on="a", where="ts <> 4"),
            eddy.Filter("asked", on="a", function=getattr(asked, form), columns=["k", column], on_error=on_error),
        ],
    )
    try:
        done = eddy.run_local(query, {"a": ROWS}, policy="fixed", batch_rows=15, seed=0)
    except QueryError as error:
        return str(error), asked.seen
    return done.results.to_pylist(), asked.seen, [c.faults for c in done.report.counters]


@pytest.mark.parametrize("form", ["numpy", "series", "mixed"])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(("column", "on_error"), [("f", "drop"), ("f", "keep"), ("n", "drop")])
def test_it_does_not_matter_how_a_function_gets_its_numbers(
    form: str, answer: str, column: str, on_error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    directly = run(form, answer, column, on_error)
    monkeypatch.setattr(Function, "direct", None)
    assert str(directly) == str(run(form, answer, column, on_error))


def test_only_functions_of_numbers_alone_are_asked_so() -> None:
    def numbers(k: np.ndarray[Any, Any]) -> Any:
        return k > 1

    def arrow(k: pa.Array) -> Any:
        return k

    made = {
        "numbers": Function.of(numbers, None, rowwise=False, where="here"),
        "limited": Function.of(numbers, None, rowwise=False, where="here", seconds=1.0),
        "rows": Function.of(numbers, None, rowwise=True, where="here"),
        "arrow": Function.of(arrow, None, rowwise=False, where="here"),
    }
    assert {name: isinstance(one.direct, DirectCall) for name, one in made.items()} == {
        "numbers": True,
        "limited": False,
        "rows": False,
        "arrow": False,
    }
