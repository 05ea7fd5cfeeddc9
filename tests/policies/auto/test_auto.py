"""Whatever `auto` tries, on whatever rows, by whatever clock: the naive answer, and on as it was after a restart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy.engine import Engine
from eddy.engine.snapshot import unpack
from tests import joins, reference
from tests.eddy.test_joins import answered, batches, found_in
from tests.joins import Case
from tests.policies.auto.eager import CHOICES, TICK, Hasty, Time, engine, hurry, long_cases
from tests.tries import fewer

ANY = long_cases() | long_cases() | joins.cases(faults=True) | joins.cases(crowded=True, faults=True)

CLOCKS: tuple[Sequence[float], ...] = (
    (TICK,),
    (0.0,),
    (-1.0,),
    (2.0**-10,),
    (TICK, 1e6, -1e6),
    (0.0, 0.0, 1e-9, 3600.0),
    (1.0, -0.5, 0.25),
)
"""Clocks that go on, stand still, go back, and jump."""


@pytest.fixture(scope="module", autouse=True)
def hurried() -> Iterator[None]:
    with hurry():
        yield


def told(running: Engine) -> Any:
    """What a micro-batch has come to, by the clock too."""
    counted = running.read_counters()
    calls = {hop: (s.rows_in, s.rows_out) for hop, s in counted.operators.items()}
    return calls, counted.routes, counted.insight


def written(running: Engine) -> dict[str, Any]:
    """A snapshot, so that one can see where two differ."""
    meta, tables = unpack(running.snapshot())
    return {
        **meta["state"].get("streams", {}),
        "meta": meta,
        "tables": {name: [str(part.read().to_pydict()) for part in parts] for name, parts in tables.items()},
    }


def known(running: Engine) -> Any:
    """All plain numbers of all streams' courses and of their parts, whether they are in a snapshot or not."""
    policy: Any = running.lanes[""]._policy
    return [
        {name: value for name, value in vars(part).items() if isinstance(value, int | float | str | None)}
        for course in policy._courses.values()
        for part in (course, course.dealer, course.ledger, course.prospect, course.guard)
    ]


Ticks = Sequence[float]


def run(running: Engine, case: Case) -> Iterator[Any]:
    for batch in batches(case):
        yield from running.run(batch)


@fewer(2)
@given(case=ANY, choice=CHOICES, ticks=st.sampled_from(CLOCKS))
def test_whatever_it_tries_the_answer_is_the_naive_one(case: Case, choice: Hasty, ticks: Sequence[float]) -> None:
    running = engine(case, choice, Time(ticks))
    found = answered(run(running, case), running.schema)
    assert found == reference.answer(case.question(), case.batches())


@fewer(5)
@given(case=long_cases(), choice=CHOICES, ticks=st.sampled_from(CLOCKS))
def test_a_run_that_is_stopped_everywhere_goes_on_as_it_was(case: Case, choice: Hasty, ticks: Ticks) -> None:
    """In the middle of a sample, of a duel, or while it saves up."""
    # Rows that a filter has dropped are not in a snapshot: after a restart probes have fewer candidates.
    forgets = len(case.inputs) > 1 and any(len(f.on) == 1 for f in case.filters)
    time = Time(ticks)
    steady, stopped = engine(case, choice, Time(ticks)), engine(case, choice, time)
    for batch in batches(case):
        before = stopped.snapshot()
        stopped = engine(case, choice, time)
        stopped.restore(before)
        found = [part.to_pydict() for part in stopped.run(batch)]
        assert found == [part.to_pydict() for part in steady.run(batch)]
        if forgets:
            continue
        assert told(stopped) == told(steady)
        # Whoever takes a snapshot lets prices catch up, so both have to.
        assert written(stopped) == written(steady)
        assert known(stopped) == known(steady)


@fewer(5)
@given(case=long_cases(), choice=CHOICES, ticks=st.tuples(st.sampled_from(CLOCKS), st.sampled_from(CLOCKS)))
def test_a_retry_gives_the_same_rows_by_any_clock(case: Case, choice: Hasty, ticks: Any) -> None:
    running, retried = (engine(case, choice, Time(one)) for one in ticks)
    for batch in batches(case):
        before = running.snapshot()
        retried = engine(case, choice, Time(ticks[1]))
        retried.restore(before)
        found = [found_in(pa.Table.from_batches(one.run(batch), one.schema)) for one in (running, retried)]
        assert found[0] == found[1]
