"""Filters that are asked in one loop: the same answers, faults, counts and routes as one step after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.observe.statistics import Statistic
from eddy.predicates.judge import Judged
from eddy.routing.sieve import Sieves
from eddy.tuples import Hop
from eddy.tuples.arrays import RowIds

BAD = 13

SCHEMA = pa.schema({"v": pa.int64(), "w": pa.int64()})


def of_array(least: int, most: int) -> Any:
    """A function of numbers, which has no answer for one of them."""

    def inside(v: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        if (v == BAD).any():
            raise ValueError("a bad one")
        found: npt.NDArray[np.bool_] = (v >= least) & (v <= most)
        return found

    return inside


def of_series(least: int, most: int) -> Any:
    """A function of a Series."""

    def inside(v: pd.Series) -> pd.Series:
        return v.between(least, most)

    return inside


@st.composite
def some_filters(draw: st.DrawFn) -> list[eddy.Filter]:
    """Some filters, asked in all ways."""
    made = []
    for number in range(draw(st.integers(1, 5))):
        least, most = draw(st.integers(0, 8)), draw(st.integers(10, 20))
        column = draw(st.sampled_from(["v", "w"]))
        on_error = draw(st.sampled_from(["drop", "keep", "fail"]))
        ways: Sequence[dict[str, Any]] = [
            {"function": of_array(least, most), "columns": [column], "on_error": on_error},
            {"function": of_series(least, most), "columns": [column]},
            {"function": of_series(least, most), "columns": [column], "cache": "5 values"},
            {"where": f"{column} between {least} and {most}"},
            {"where": f"{column} between {least} and {most} and 1 / (w - {BAD}) < 2", "on_error": on_error},
        ]
        made.append(eddy.Filter(f"f{number}", on="a", **draw(st.sampled_from(ways))))
    return made


def build(filters: Sequence[eddy.Filter], policy: str, *, in_one_loop: bool) -> Engine:
    """An engine, and a clock that ticks once each time it is asked."""
    query = eddy.Query(streams=[eddy.Stream("a")], filters=filters)
    ticks = count()
    engine = wiring.engine(query, {"a": SCHEMA}, policy, tables={}, clock=lambda: float(next(ticks)), seed=1)
    if not in_one_loop:
        engine.lanes[""]._router._sieves = Sieves({}, lambda: 0.0)
    return engine


def run(engine: Engine, batches: Sequence[pa.RecordBatch]) -> list[Any]:
    """All that an engine tells but seconds."""
    told: list[Any] = []
    for batch in batches:
        try:
            told.append(sorted(row for part in engine.run({"a": batch}) for row in map(str, part.to_pylist())))
        except eddy.QueryError as error:
            return [*told, str(error)]
        counted = engine.read_counters()
        told += [counted.routes, counted.faults, counted.results, counted.streams, _drop_seconds(counted.operators)]
    return told


def _drop_seconds(operators: Mapping[Hop, Statistic]) -> dict[Hop, Statistic]:
    return {hop: statistic._replace(seconds=0.0) for hop, statistic in operators.items()}


@given(
    filters=some_filters(),
    policy=st.sampled_from(["fixed", "random"]),
    rows=st.lists(st.tuples(st.none() | st.integers(0, 20), st.integers(0, 20)), max_size=60),
    size=st.sampled_from([7, 60]),
)
def test_all_is_as_if_each_step_was_taken_by_itself(
    filters: list[eddy.Filter], policy: str, rows: list[tuple[int | None, int]], size: int
) -> None:
    table = pa.table({"v": [v for v, _ in rows], "w": [w for _, w in rows]}, schema=SCHEMA)
    batches = table.combine_chunks().to_batches(max_chunksize=size)
    together, apart = (run(build(filters, policy, in_one_loop=one), batches) for one in (True, False))
    assert together == apart


def let_pass(least: int) -> Any:
    """Judges rows by their numbers, and has a fault for row 9."""

    def sift(ids: RowIds) -> Judged:
        return Judged(ids >= least, (ids == 9).astype(np.uint8) if 9 in ids else None)

    return sift


def test_a_sieve_is_the_head_of_a_route_that_asks_about_rows_alone() -> None:
    sieves = Sieves({"f": let_pass(1), "g": let_pass(2), "h": let_pass(3)}, lambda: 0.0)
    f, g, h, probe = (Hop(name) for name in ("f", "g", "h", "probe_b"))
    assert len(sieves.find((f, g, probe, h))) == 2
    assert sieves.find((f, probe, g, h)) == sieves.find((probe, f, g)) == sieves.find((h,)) == ()


def test_a_sieve_ends_where_no_row_is_left_or_one_has_a_fault() -> None:
    sifts = {"f": let_pass(3), "g": let_pass(5), "h": let_pass(6)}
    sieves = Sieves(sifts, lambda: 0.0)
    sieve = sieves.find(tuple(map(Hop, sifts)))
    ids, faults, steps, _ = sieves.sift(sieve, np.arange(8))
    assert (ids.tolist(), faults, [step.rows_out for step in steps]) == ([6, 7], None, [5, 3, 2])
    assert [step.rows_in for step in sieves.sift(sieve, np.arange(4)).steps] == [4, 1]
    faulty = sieves.sift(sieve, np.arange(2, 10))
    assert faulty.faults is not None
    assert (faulty.ids.tolist(), faulty.faults.tolist(), len(faulty.steps)) == ([3, 4, 5, 6, 7, 8, 9], [0] * 6 + [1], 1)
