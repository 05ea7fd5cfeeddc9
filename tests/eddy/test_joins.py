"""Any join, any window, any routing, stopped and restored anywhere: the naive answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy import wiring
from eddy.engine import Engine
from eddy.wiring import PolicyChoice
from policies.registry import POLICIES
from tests import joins, reference
from tests.joins import Case
from tests.policies.choices import chosen
from tests.policies.wild import Wild

Found = Counter[tuple[Any, ...]]


def found_in(results: pa.Table) -> Found:
    """A result as the reference writes it."""
    return Counter(tuple(map(reference.plain, row.values())) for row in results.to_pylist())


NAMES = [*sorted(POLICIES), "wild"]
"""Every registered policy, and one that does whatever is allowed."""


def choice(policy: str, case: Case) -> PolicyChoice:
    """A policy for a case."""
    operators = [f.name for f in case.query().filters] + [f"probe_{name}" for name in case.inputs]
    return Wild if policy == "wild" else chosen(policy, operators, "a.k")


@pytest.mark.parametrize("policy", NAMES)
@given(case=joins.cases(), seed=st.integers(0, 2**32))
def test_any_routing_gives_the_naive_answer(policy: str, case: Case, seed: int) -> None:
    run = eddy.run_local(case.query(), case.data(), policy=choice(policy, case), batch_rows=case.batch_rows, seed=seed)
    assert found_in(run.results) == reference.answer(case.question(), case.batches())
    assert run.report.batches()["late"].sum() == reference.late_rows(case.question(), case.batches())


@given(case=joins.cases(late=False, by_rows=False), policy=st.sampled_from(NAMES))
def test_duckdb_gives_the_same_answer(case: Case, policy: str) -> None:
    data = case.data()
    run = eddy.run_local(case.query(), data, policy=choice(policy, case), batch_rows=case.batch_rows)
    with duckdb.connect() as connection:
        for name, table in data.items():
            connection.register(name, table)
        rows = connection.sql(case.sql()).fetchall()
    assert found_in(run.results) == Counter(tuple(map(reference.plain, row)) for row in rows)


@given(
    case=joins.cases(),
    stops=st.lists(st.tuples(st.integers(0, 20), st.sampled_from(NAMES)), max_size=4),
)
def test_a_run_that_is_stopped_anywhere_goes_on_as_it_was(case: Case, stops: list[tuple[int, str]]) -> None:
    data, query = case.data(), case.query()
    tables = {name: data[name].combine_chunks().to_batches() for name in case.tables}
    lookup = {name: parts[0] if parts else _none(data[name]) for name, parts in tables.items()}
    schemas = {name: data[name].schema for name in case.streams}

    def engine(policy: str) -> Engine:
        return wiring.engine(query, schemas, choice(policy, case), tables=lookup, clock=time.perf_counter, seed=0)

    running, restarts = engine("fixed"), dict(stops)
    results: list[pa.RecordBatch] = []
    for number, batch in enumerate(case.batches()):
        if number in restarts:
            snapshot = running.snapshot()
            running = engine(restarts[number])
            running.restore(snapshot)
        results.extend(running.run(_batch(batch, schemas)))
    answer = found_in(pa.Table.from_batches(results, schema=running.schema))
    assert answer == reference.answer(case.question(), case.batches())


def _batch(rows: Mapping[str, list[dict[str, Any]]], schemas: Mapping[str, pa.Schema]) -> dict[str, pa.RecordBatch]:
    return {name: pa.RecordBatch.from_pylist(rows[name], schema=schema) for name, schema in schemas.items()}


def _none(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=table.schema)
