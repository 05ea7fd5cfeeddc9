"""Any join, any window, any routing, stopped and restored anywhere: the naive answer."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine, rounds
from eddy.local import Running
from eddy.operators import matching
from eddy.policies.registry import POLICIES
from eddy.routing import side_by_side
from eddy.tuples.arrow import one_batch
from eddy.wiring import PolicyChoice
from tests import joins, reference, tiny
from tests.filters import SeenTooEarly
from tests.indexes import UNTIL_NOW
from tests.joins import Case
from tests.policies.checks import steady_clock
from tests.policies.choices import chosen
from tests.policies.wild import Wild
from tests.tries import fewer

Found = Counter[tuple[Any, ...]]


def found_in(results: pa.Table) -> Found:
    """A result as the reference writes it."""
    return Counter(tuple(map(reference.plain, row.values())) for row in results.to_pylist())


def answered(results: Iterable[pa.RecordBatch], schema: pa.Schema) -> Found:
    """What comes out, or that it is an error: a predicate has no answer, and everything else passes."""
    try:
        return found_in(pa.Table.from_batches(results, schema=schema))
    except SeenTooEarly as error:
        raise AssertionError(str(error)) from None
    except eddy.QueryError as error:
        if "Everything else lets it pass" not in str(error):
            raise
        return reference.FAILS


NAMES = [*sorted(POLICIES), "wild"]
"""Every registered policy, and one that does whatever is allowed."""

ANY = joins.cases(faults=True) | joins.cases(crowded=True) | joins.cases(crowded=True, faults=True)


def choice(policy: str, case: Case) -> PolicyChoice:
    """A policy for a case."""
    asked = case.query()
    operators = [f.name for f in asked.filters] + [one.name for one in asked.existence]
    operators += [f"probe_{name}" for name in case.inputs]
    return Wild if policy == "wild" else chosen(policy, operators, "a.k")


@pytest.mark.parametrize("policy", ["fixed", "wild"])
@fewer(2)
@given(case=ANY, seed=st.integers(0, 2**32))
def test_any_routing_gives_the_naive_answer(policy: str, case: Case, seed: int) -> None:
    """The order of the query, and whatever is allowed, which has every policy in it."""
    check_answer(policy, case, seed)


@pytest.mark.parametrize("policy", sorted(POLICIES.keys() - {"fixed"}))
@fewer(8)
@given(case=ANY, seed=st.integers(0, 2**32))
def test_every_policy_gives_the_naive_answer(policy: str, case: Case, seed: int) -> None:
    check_answer(policy, case, seed)


def start(case: Case, policy: str, seed: int) -> Running:
    """Begin to answer a case with the index that was drawn for it."""
    return eddy.iter_local(
        case.query(),
        case.data(),
        policy=choice(policy, case),
        index=case.index,
        batch_rows=case.batch_rows,
        seed=seed,
    )


def check_answer(policy: str, case: Case, seed: int) -> None:
    """A run finds what the reference finds, and counts as late what is."""
    run = start(case, policy, seed)
    found = answered(run, run.schema)
    assert found == reference.answer(case.question(), case.batches())
    if found != reference.FAILS:
        told = (case.question(), case.batches())
        counted = run.report.batches()[["late", "ahead"]].sum().tolist()
        assert counted == [reference.late_rows(*told), reference.ahead_rows(*told)]


@fewer(4)
@given(
    case=ANY,
    policy=st.sampled_from(NAMES),
    merged=st.sampled_from([1, 3, 6, 1 << 16]),
    room=st.sampled_from([0, 20, 1 << 16]),
    seed=st.integers(0, 2**32),
)
def test_rows_in_many_parts_give_the_naive_answer(case: Case, policy: str, merged: int, room: int, seed: int) -> None:
    """A segment has a row or two, so that every probe leaves out the parts that it cannot find anything in."""
    with pytest.MonkeyPatch.context() as patch:
        tiny.parts_of(patch, 2, merged=merged, room=room)
        run = start(case, policy, seed)
        assert answered(run, run.schema) == reference.answer(case.question(), case.batches())


@pytest.mark.long
@given(
    case=ANY,
    policy=st.sampled_from(NAMES),
    sizes=st.tuples(st.sampled_from([1, 6, 1 << 16]), st.sampled_from([1, 4, 64]), st.sampled_from([1, 5, 1 << 15])),
    seed=st.integers(0, 2**32),
)
def test_any_key_maps_give_the_naive_answer(case: Case, policy: str, sizes: tuple[int, int, int], seed: int) -> None:
    """Parts are searched by whatever maps they were given, which are others in every micro-batch."""
    merged, runs, tuples = sizes
    with pytest.MonkeyPatch.context() as patch:
        tiny.parts_of(patch, 2, merged=merged)
        tiny.other_maps(patch, random.Random(seed), runs)
        patch.setattr(matching, "MOST_TUPLES", tuples)
        run = eddy.iter_local(
            case.query(), case.data(), policy=choice(policy, case), batch_rows=case.batch_rows, seed=seed
        )
        assert answered(run, run.schema) == reference.answer(case.question(), case.batches())


@fewer(4)
@given(
    case=ANY,
    policy=st.sampled_from(NAMES),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 12)),
    seed=st.integers(0, 2**32),
)
def test_micro_batches_cut_into_rounds_anywhere_give_the_naive_answer(
    case: Case, policy: str, sizes: tuple[int, int], seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, size in zip(("FIRST_ROUND", "LARGEST_ROUND"), sizes, strict=True):
            patch.setattr(rounds, name, size)
        patch.setattr(rounds, "CALLS_SHARE", 1.0)
        check_answer(policy, case, seed)


@fewer(4)
@given(
    case=ANY,
    policy=st.sampled_from(["wild", "knows"]),
    most=st.tuples(st.integers(1, 8), st.integers(1, 4), st.integers(0, 12)),
    seed=st.integers(0, 2**32),
)
def test_steps_that_legs_take_together_in_parts_of_any_size_give_the_naive_answer(
    case: Case, policy: str, most: tuple[int, int, int], seed: int
) -> None:
    """A probe stops after a few candidates or tuples, and what it has made goes before the others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "MOST_CANDIDATES", most[0])
        patch.setattr(matching, "MOST_TUPLES", most[1])
        patch.setattr(side_by_side, "MOST_TOGETHER", most[2])
        check_answer(policy, case, seed)


@fewer(4)
@given(case=joins.cases(late=False, by_rows=False, clocks=False), policy=st.sampled_from(NAMES))
def test_duckdb_gives_the_same_answer(case: Case, policy: str) -> None:
    check_duckdb(case, policy)


def check_duckdb(case: Case, policy: str) -> None:
    """A run finds what DuckDB does."""
    data = case.data()
    run = eddy.run_local(case.query(), data, policy=choice(policy, case), index=case.index, batch_rows=case.batch_rows)
    with duckdb.connect() as connection:
        for name, table in data.items():
            connection.register(name, table)
        rows = connection.sql(case.sql()).fetchall()
    assert found_in(run.results) == Counter(tuple(map(reference.plain, row)) for row in rows)


@fewer(3)
@given(
    case=joins.cases(faults=True),
    stops=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(NAMES)), max_size=4),
)
def test_a_run_that_is_stopped_anywhere_goes_on_as_it_was(case: Case, stops: list[tuple[int, str]]) -> None:
    check_stops(case, stops)


def check_stops(case: Case, stops: Sequence[tuple[int, str]]) -> None:
    """A run that is stopped before some micro-batches finds what the reference finds."""
    found = answered(restarted(case, dict(stops)), engine(case, "fixed").schema)
    assert found == reference.answer(case.question(), case.batches())


def restarted(case: Case, restarts: Mapping[int, str], policy: str = "fixed") -> Iterator[pa.RecordBatch]:
    """A run that is stopped before some micro-batches, and goes on with other policies, and half of them as it was."""
    running = engine(case, policy)
    for number, batch in enumerate(batches(case)):
        if number in restarts:
            snapshot = running.snapshot()
            running = engine(replace(case, index=UNTIL_NOW) if number % 2 and case.joins else case, restarts[number])
            running.restore(snapshot)
        yield from running.run(batch)


@fewer(3)
@given(case=joins.cases(faults=True), policy=st.sampled_from(NAMES))
def test_a_run_that_is_stopped_everywhere_goes_on_as_it_was(case: Case, policy: str) -> None:
    # Tables are not in a snapshot, nor are the verdicts of their rows: after a restart these are found and asked again.
    forgets = any(f.on == (table,) for f in case.filters for table in case.tables)
    steady, stopped = engine(case, policy), engine(case, policy)
    for batch in batches(case):
        snapshot = stopped.snapshot()
        stopped = engine(case, policy)
        stopped.restore(snapshot)
        found, expected = (answered(e.run(batch), e.schema) for e in (stopped, steady))
        assert found == expected
        if found == reference.FAILS:
            break
        assert forgets or _what_happened(stopped) == _what_happened(steady)


def _what_happened(running: Engine) -> dict[str, Any]:
    """Rows that came, were dropped and were routed; not seconds, nor what is stored of rows that are dead."""
    counted = running.read_counters()
    streams = {name: (s.rows, s.untimed, s.late, s.ahead) for name, s in counted.streams.items()}
    calls = {hop: (s.rows_in, s.rows_out) for hop, s in counted.operators.items()}
    return {"batch": counted.batch, "streams": streams, "calls": calls, "routes": counted.routes}


def engine(case: Case, policy: str) -> Engine:
    """An engine for a case, with a clock that is steady."""
    tables = {name: one_batch(name, table) for name, table in case.data().items() if name not in case.streams}
    schemas = {name: case.schema(name) for name in case.streams}
    asked, chosen = case.query(), choice(policy, case)
    return wiring.engine(asked, schemas, chosen, tables=tables, clock=steady_clock(), seed=0, index=case.index)


def batches(case: Case) -> Iterator[dict[str, pa.RecordBatch]]:
    """The micro-batches of a case, as an engine takes them."""
    for batch in case.batches():
        yield case.by_source(
            {name: pa.RecordBatch.from_pylist(rows, schema=case.schema(name)) for name, rows in batch.items()}
        )
