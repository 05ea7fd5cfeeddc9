"""Rows are written down once, a page at a time, and every state has exactly those that are stored and alive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.operators.shared import SharedRows
from eddy.operators.stem import Stem
from eddy.operators.stored import pages
from eddy.operators.stored.pages import make_page, read_pages
from eddy.predicates.judge import Judged
from eddy.tuples.packed import Packed, pack_rows
from eddy.tuples.tuples import Appearance
from tests.operators.stored.test_columns import VALUES
from tests.tries import fewer

SCHEMA = pa.schema([("ts", pa.int64()), ("v", pa.string())])

WINDOWS = (eddy.Range(10), eddy.Rows(7), eddy.Unbounded())


class Modelled:
    """A STeM, and a list of the rows that it must have."""

    def __init__(self, window: Any) -> None:
        self.window, self.stem = window, make_stem(window)
        self.now, self.came = 0, 0

    def arrive(self, texts: list[str]) -> None:
        ticks = np.arange(self.now, self.now + len(texts))
        rows = pa.RecordBatch.from_arrays([pa.array(ticks), pa.array(texts, pa.string())], schema=SCHEMA)
        self.stem.rows.append(rows, ticks, [Appearance(np.arange(len(texts)))])
        self.now += len(texts)

    def judge(self, share: int) -> None:
        """Let a filter judge some of the rows: it drops every third time."""
        ids = np.arange(len(self.stem))[::share]
        self.stem.verdicts("f", ids, lambda ids: Judged(self._times(ids) % 3 != 0, None), repeated=False)

    def _times(self, ids: Any) -> Any:
        return self.stem.column("ts").take(ids).to_numpy()

    def living(self) -> list[Any]:
        """What must come out of a state: times, texts and verdicts of the rows that are alive."""
        return living(self.stem)

    def restart(self) -> None:
        numbers, packed = self.stem.rows.snapshot()
        again = make_stem(self.window)
        again.rows.restore(numbers, packed)
        assert numbers["alive"] == len(self.living())
        # Rows whose time is over may go at once: those that are left are the newest.
        kept = living(again)
        assert kept == self.living()[len(self.living()) - len(kept) :]
        self.stem = again


def make_stem(window: Any) -> Stem:
    return Stem(SharedRows(SCHEMA, time="ts"), window=window, delay=0, filters=["f"])


def living(stem: Stem) -> list[Any]:
    ids = np.flatnonzero(stem.alive)
    verdicts = stem._verdicts["f"].values.take(ids)
    return list(
        zip(
            stem.column("ts").take(ids).to_pylist(),
            stem.column("v").take(ids).to_pylist(),
            verdicts.tolist(),
            strict=True,
        )
    )


STEPS = st.lists(
    st.tuples(st.just("arrive"), st.lists(st.sampled_from(["", "a", "bc" * 20]), max_size=12))
    | st.tuples(st.just("judge"), st.integers(1, 3))
    | st.tuples(st.just("settle"), st.just(0))
    | st.tuples(st.just("save"), st.just(0))
    | st.tuples(st.just("restart"), st.just(0)),
    max_size=24,
)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@given(steps=STEPS, page=st.sampled_from([1, 40, 300, 1 << 20]))
def test_every_state_has_the_rows_that_are_alive(window: Any, steps: list[tuple[str, Any]], page: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "PAGE_BYTES", page)
        model = Modelled(window)
        for step, what in steps:
            if step == "settle":
                model.stem.rows.settle([model.now - 1 if model.now else None])
            elif step == "save":
                model.stem.rows.snapshot()
            elif step == "restart":
                model.stem.rows.settle(None)
                model.restart()
            else:
                getattr(model, step)(what)
        model.stem.rows.settle(None)
        model.restart()


def written(stem: Stem) -> list[Packed]:
    return list(stem.rows.snapshot()[1][:-1])


def test_what_is_written_once_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 2_000)
    model = Modelled(eddy.Range(10_000))
    model.arrive(["text"] * 1_000)
    model.stem.rows.settle(None)
    before = written(model.stem)
    assert len(before) > 5
    model.arrive(["text"] * 10)
    model.stem.rows.settle(None)
    after = written(model.stem)
    # Only the last page was not full: it is the one that is written again.
    assert all(one is other for one, other in zip(before[:-1], after, strict=False))
    model.restart()
    restored = written(model.stem)
    assert restored[:-1] == after[:-1]
    assert all(one is other for one, other in zip(restored[:-1], written(model.stem), strict=False))


def test_old_rows_that_go_leave_their_page_until_it_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 20_000)
    model = Modelled(eddy.Range(4_000))
    for _ in range(40):
        model.arrive(["x"] * 500)
        model.stem.rows.settle([model.now - 1])
        numbers, packed = model.stem.rows.snapshot()
        held = sum(one.read().num_rows for one in packed[:-1])
        assert held == len(model.stem) + numbers["gone"]
        assert held < len(model.stem) + 20_000 // 8
    assert model.stem.rows.snapshot()[0]["gone"] > 0
    model.restart()


def test_dead_rows_are_written_again_once_they_are_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "PAGE_BYTES", 2_000)
    model = Modelled(eddy.Unbounded())
    model.arrive(["text"] * 900)
    model.stem.rows.settle(None)
    model.stem.rows.snapshot()
    model.judge(1)
    assert len(model.living()) == 600
    # The dead still stand on their pages, and are marked.
    numbers, packed = model.stem.rows.snapshot()
    assert (sum(one.read().num_rows for one in packed[:-1]), numbers["alive"]) == (900, 600)
    model.stem.rows.settle(None)
    numbers, packed = model.stem.rows.snapshot()
    assert (sum(one.read().num_rows for one in packed[:-1]), numbers["alive"]) == (600, 600)
    model.restart()


@pytest.mark.parametrize("data_type", VALUES, ids=str)
@fewer(2)
@given(data=st.data())
def test_values_of_a_page_come_out_as_they_were(data_type: pa.DataType, data: st.DataObject) -> None:
    some = st.lists(st.sampled_from(VALUES[data_type]), max_size=9)
    parts = [pa.array(values, data_type) for values in data.draw(st.lists(some, max_size=3))]
    if data.draw(st.booleans()):
        parts = [part.drop_null() for part in parts]
    made = [make_page([("x", part)]) for part in parts]
    found = read_pages(made, pa.schema([("x", data_type)]), 0)
    assert found.schema.field("x").type == data_type
    assert found.column("x").to_pylist() == [value for part in parts for value in part.to_pylist()]


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9), unsigned=st.booleans())
def test_steps_of_any_size_come_out_as_they_were(values: list[int], *, unsigned: bool) -> None:
    kind = pa.uint64() if unsigned else pa.int64()
    for given_values in (values, sorted(values)):
        array = pa.array([value % 2**64 if unsigned else value for value in given_values], kind)
        assert read_pages([make_page([("x", array)])], pa.schema([("x", kind)]), 0).column("x").equals(array)


@pytest.mark.parametrize("gone", [-1, 901, 2**40])
def test_rows_that_cannot_be_gone_are_refused(gone: int) -> None:
    model = Modelled(eddy.Unbounded())
    model.arrive(["text"] * 900)
    numbers, packed = model.stem.rows.snapshot()
    with pytest.raises(ValueError, match="expected up to 900 rows to be gone from the first page"):
        make_stem(eddy.Unbounded()).rows.restore({**numbers, "gone": gone}, packed)
    with pytest.raises(ValueError, match="expected marks of 899 rows, got 900"):
        make_stem(eddy.Unbounded()).rows.restore({**numbers, "gone": 1}, packed)


def test_all_rows_of_the_first_page_may_be_gone() -> None:
    """No state is written so, but one may say so."""
    first, second, last = (pack_rows(make_page([("v", pa.array(values))])) for values in ([1, 2], [3, 4], [5]))
    held, asked = pages.Pages(), list[int]()

    def gather(ids: Any) -> pa.RecordBatch:
        asked.extend(ids)
        return make_page([("v", pa.array(ids + 3))])

    held.adopt(2, [first, second, last], [2, 2, 1])
    gone, packed = held.write(4, 32, gather)
    # The last page may not have been full; those before it stay as they are.
    assert asked == [2, 3]
    read = read_pages([one.read() for one in packed], pa.schema([("v", pa.int64())]), gone)
    assert read.column("v").to_pylist() == [3, 4, 5, 6]
