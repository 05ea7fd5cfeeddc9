"""Random filters over joined inputs, each for the engine and as a condition of the naive answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from hypothesis import strategies as st

import eddy
from tests import reference
from tests.conditions import Condition, edges, negation, ratio
from tests.reference import before, same

FORMS = st.sampled_from([*[None, "row", "array", "series"] * 4, "skipping"])
"""How a filter is asked: as SQL, or as a function of rows, of arrays, of Series, or of Series without nulls.

The last drops most rows, as few have no null: more of it, and few cases would have results.
"""

READ = ("k", "x", "s")
"""The columns of an input that a function of Series reads: a Series of floats does not tell null from NaN."""


class SeenTooEarly(SystemExit):
    """A filter was asked about a row that one it waits for drops; no error of a row, which `on_error` would hide."""


ON_ERROR = st.sampled_from(["fail", "fail", "drop", "keep"])

WAYS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "parts": {"batch_size": 3},
    "parts at once": {"batch_size": 2, "concurrency": 2},
    "cached": {"cache": "3 values"},
    "cached parts": {"batch_size": 2, "cache": "100 values"},
}
"""Ways to ask a function, none of which changes an answer."""

WAY = st.sampled_from([*["as it is"] * 3, *WAYS])


@dataclass(frozen=True, kw_only=True)
class Filter:
    """A filter of the engine's, and the same in SQL and as a function."""

    on: tuple[str, ...]
    condition: Condition
    form: str | None
    on_error: str = "fail"
    way: str = "as it is"

    @property
    def sql(self) -> str:
        """As DuckDB reads it."""
        if self.form != "skipping":
            return self.condition.sql
        return " and ".join([f"({self.condition.sql})", *(f"{one}.{c} is not null" for one in self.on for c in READ)])

    def holds(self, combination: reference.Combination) -> bool | None:
        """As the naive answer asks it: of one combination after the other."""
        if self.form == "skipping" and any(combination[one][column] is None for one in self.on for column in READ):
            return False
        return self.condition.holds(combination)

    def lets_go_on(self, combination: reference.Combination) -> bool:
        """Whether the filters after this one see a combination; they do where it has no answer, unless that drops."""
        try:
            return self.holds(combination) is True
        except reference.NoAnswer:
            return self.on_error != "drop"

    def asked(self, name: str, columns: Sequence[str], awaited: Sequence[Filter] = ()) -> eddy.Filter:
        """As the engine takes it; a function is handed these columns of every input, or some of them.

        It raises if it sees what one of the awaited filters drops, as far as its own inputs tell.
        """
        guards = [one for one in awaited if set(one.on) <= set(self.on)]
        if self.form is None:
            return eddy.Filter(name, on=self.on, where=self.condition.sql, on_error=self.on_error)
        columns = READ if self.form in ("series", "skipping") else columns
        size = len(columns)

        def ask(*values: Any) -> bool | None:
            parts = (values[n * size : (n + 1) * size] for n in range(len(self.on)))
            rows = (dict(zip(columns, part, strict=True)) for part in parts)
            seen = dict(zip(self.on, rows, strict=True))
            if not all(guard.lets_go_on(seen) for guard in guards):
                raise SeenTooEarly(f"{name}: {seen}")
            return self.condition.holds(seen)

        def ask_all(*values: pa.Array) -> list[bool | None]:
            return [ask(*row) for row in zip(*(column.to_pylist() for column in values), strict=True)]

        def ask_series(*values: pd.Series) -> list[bool | None]:
            return [ask(*map(_plain, row)) for row in zip(*(column.tolist() for column in values), strict=True)]

        ask_all.__annotations__ = {"values": pa.Array}
        functions: dict[str, Callable[..., Any]] = {
            "row": ask,
            "array": ask_all,
            "series": ask_series,
            "skipping": ask_series,
        }
        return eddy.Filter(
            name,
            on=self.on,
            function=functions[self.form],
            columns=[f"{one}.{column}" for one in self.on for column in columns],
            rowwise=self.form == "row",
            nulls="skip" if self.form == "skipping" else "show",
            on_error=self.on_error,
            **self._way(),
        )

    def _way(self) -> Mapping[str, Any]:
        """How the function is asked; one of rows gets no batches."""
        is_apart = self.form != "row"
        return {key: value for key, value in WAYS[self.way].items() if key != "batch_size" or is_apart}


def _plain(value: Any) -> Any:
    """What a Series shows of an integer or a text, as the reference has it; a whole number is never a float."""
    if pd.isna(value):
        return None
    assert isinstance(value, int | str)
    return value


@st.composite
def filters(draw: st.DrawFn, names: Sequence[str], *, faults: bool) -> Filter:
    """A filter over one input, in SQL or in Python, or over two."""
    name = draw(st.sampled_from(names))
    on_error = draw(ON_ERROR)
    value = draw(st.integers(0, 3))
    form = draw(FORMS)
    if draw(st.integers(0, 3)) == 0 and len(names) > 1:
        a, b = draw(st.permutations(names))[:2]
        condition = ratio(a, b) if faults and draw(st.booleans()) else draw(edges(a, b))
        form = {"series": "array", "skipping": "array"}.get(str(form), form)  # these read other columns as well
        return Filter(on=(a, b), condition=condition, form=form, on_error=on_error, way=draw(WAY))
    condition = draw(
        st.sampled_from(
            [
                Condition(f"{name}.k <= {value}", lambda c: negation(before(value, c[name]["k"]))),
                Condition(f"{name}.k <> {value}", lambda c: negation(same(c[name]["k"], value))),
                Condition(f"{name}.s is not null", lambda c: c[name]["s"] is not None),
                *([Condition(f"6 div ({name}.k - {value}) > 1", lambda c: _divides(c[name]["k"], value))] * 2 * faults),
            ]
        )
    )
    return Filter(on=(name,), condition=condition, form=form, on_error=on_error, way=draw(WAY))


def _divides(k: int | None, value: int) -> bool | None:
    if k == value:
        raise reference.NoAnswer
    return None if k is None else int(6 / (k - value)) > 1


@st.composite
def fallible(draw: st.DrawFn, names: Sequence[str]) -> list[Filter]:
    """Filters that let most rows pass and have no answer for some, and guards that drop such rows first."""
    found = [draw(_lenient(names)) for _ in range(draw(st.integers(1, 3)))]
    guarded = [name for name in names if draw(st.integers(0, 3)) == 0]
    return draw(st.permutations([*found, *(draw(_guard(name)) for name in guarded)]))


@st.composite
def _lenient(draw: st.DrawFn, names: Sequence[str]) -> Filter:
    value = draw(st.integers(-1, 4))
    a, b = (draw(st.permutations(names)) * 2)[:2]
    one = Condition(f"{a}.k is null or 6 div ({a}.k - {value}) <> 6", lambda c: _lets_pass(c[a]["k"], value))
    two = Condition(
        f"{a}.k is null or {b}.x is null or {a}.k / ({b}.x - {a}.k) <> {value}",
        lambda c: _lets_pass_two(c[a]["k"], c[b]["x"], value),
    )
    both = len(names) > 1 and draw(st.integers(0, 2)) == 0
    return Filter(
        on=(a, b) if both else (a,),
        condition=two if both else one,
        form=draw(FORMS),
        on_error=draw(ON_ERROR),
        way=draw(WAY),
    )


def _lets_pass(k: int | None, value: int) -> bool:
    return k is None or (_divides(k, value), int(6 / (k - value)) != 6)[1]


def _lets_pass_two(k: int | None, x: int | None, value: int) -> bool:
    if k is None or x is None:
        return True
    if x == k:
        raise reference.NoAnswer
    return k / (x - k) != value


@st.composite
def _guard(draw: st.DrawFn, name: str) -> Filter:
    value = draw(st.integers(0, 3))
    condition = draw(
        st.sampled_from(
            [
                Condition(f"{name}.k >= 2", lambda c: negation(before(c[name]["k"], 2))),
                Condition(f"{name}.k <> {value}", lambda c: negation(same(c[name]["k"], value))),
                Condition(f"{name}.x > 2", lambda c: before(2, c[name]["x"])),
            ]
        )
    )
    return Filter(on=(name,), condition=condition, form=draw(FORMS), way=draw(WAY))


@st.composite
def waits(draw: st.DrawFn, count: int) -> Mapping[int, Sequence[int]]:
    """Which filters wait for which others, now and then; never in a circle."""
    if count < 2 or draw(st.integers(0, 3)):
        return {}
    order = draw(st.permutations(range(count)))
    before = {n: order[:place] for place, n in enumerate(order) if place}
    return {n: draw(st.lists(st.sampled_from(others), min_size=1, unique=True)) for n, others in before.items()}
