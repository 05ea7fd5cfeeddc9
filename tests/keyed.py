"""Random joins whose keys come again and again, so that what is kept for one row is of use to others.

They are `joins.cases`, but for this: nearly all inputs are connected by equalities of two or three values, windows are
wide, and rows are drawn by a seed, which allows more of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests import indexes, reference
from tests.conditions import Condition, edges, equal, sums
from tests.filters import filters
from tests.joins import COLUMNS, INTEGER, Case

VALUES: dict[str, Sequence[Any]] = {"k": (0, 1, 2, None), "x": (0, 1, 2**53), "f": (0.0, 1.0), "s": ("a", "ab", None)}
"""Each column's values, which join often; a null joins nothing."""

ROWS = {3: 14, 4: 8, 5: 5}
"""Rows of each of so many inputs: the naive answer looks at a few thousand combinations."""


@st.composite
def cases(draw: st.DrawFn, *, faults: bool = False) -> Case:
    """A query of three to five inputs, most of them connected by equalities."""
    names = list("abcde"[: draw(st.sampled_from([3, 3, 3, 4, 4, 5]))])
    streams = names[: draw(st.integers(1, len(names)))]
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = draw(st.lists(filters(names, faults=faults), max_size=1))
    return Case(
        streams={name: draw(sources(by_rows=len(streams) > 1)) for name in streams},
        clocks=dict.fromkeys(streams, INTEGER),
        tables=names[len(streams) :],
        rows={name: [draw_row(chance) for _ in range(ROWS[len(names)])] for name in names},
        joins=draw(graphs(names, faults=faults)),
        filters=found,
        batch_rows=draw(st.sampled_from([1, 2, 3, 7])),
        index=draw(st.none() | indexes.choices(tuple(names))),
    )


@st.composite
def sources(draw: st.DrawFn, *, by_rows: bool) -> reference.Source:
    """A stream whose windows hold many of its rows, or all of them, and of which some rows are late."""
    kind = draw(st.sampled_from(["span", "span", "all", "rows" if by_rows else "all"]))
    return reference.Source(
        time="ts",
        span=draw(st.integers(2, 25)) if kind == "span" else None,
        rows=draw(st.integers(2, 9)) if kind == "rows" else None,
        delay=draw(st.sampled_from([None, 0, 5, 30])),
    )


@st.composite
def graphs(draw: st.DrawFn, names: Sequence[str], *, faults: bool) -> list[Condition]:
    """Conditions that connect the inputs, nearly all equalities, and now and then one more."""
    found = []
    for n, name in enumerate(names[1:], 1):
        other, column = draw(st.sampled_from(names[:n])), draw(st.sampled_from("kksx"))
        is_equality = draw(st.integers(0, 7)) > 0
        found.append(equal(other, column, name, column) if is_equality else draw(edges(other, name, faults=faults)))
    a, b, d = draw(st.permutations(names))[:3]
    more = draw(st.integers(0, 4))
    if more == 1:
        found.append(sums(a, b, d))
    elif more > 2:
        found.append(draw(edges(a, b, faults=faults)))
    return found


def draw_row(chance: np.random.Generator) -> dict[str, Any]:
    """A row; times rise and fall, as they do where rows are late."""
    return {
        "ts": int(chance.integers(0, 31)),
        **{name: VALUES[name][int(chance.integers(0, len(VALUES[name])))] for name in COLUMNS},
    }
