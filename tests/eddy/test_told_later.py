"""Answers that are told later, DSTREAM and RSTREAM .. EVERY: what the reference says, wherever a run is stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from eddy.engine import Engine
from tests import joins, reference
from tests.eddy.test_joins import NAMES, Found, answered, batches, engine, restarted
from tests.joins import Case
from tests.tries import fewer

LATER = (
    joins.cases(alone_by_rows=True, faults=True)
    | joins.cases(alone_by_rows=True, crowded=True)
    | joins.cases(alone_by_rows=True, crowded=True, faults=True)
).flatmap(joins.told_later)


def in_ticks(results: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterable[pa.RecordBatch]:
    """The same results with their own time as a number."""
    for batch in results:
        own = batch.column(len(schema) - 1)
        number = own.cast(pa.int64()) if pa.types.is_timestamp(own.type) else own
        yield batch.set_column(len(schema) - 1, schema.names[-1], number)


def told(results: Iterable[pa.RecordBatch], running: Engine) -> Found:
    """What comes out, as the reference writes it."""
    schema = running.schema
    kind = schema.field(len(schema) - 1)
    if pa.types.is_timestamp(kind.type):
        schema = schema.set(len(schema) - 1, pa.field(kind.name, pa.int64()))
    return answered(in_ticks(results, running.schema), schema)


def run(running: Engine, case: Case) -> Iterable[pa.RecordBatch]:
    for batch in batches(case):
        yield from running.run(batch)


@fewer(2)
@given(case=LATER, policy=st.sampled_from(NAMES))
def test_any_routing_tells_what_the_reference_tells(case: Case, policy: str) -> None:
    running = engine(case, policy)
    assert told(run(running, case), running) == reference.answer(case.question(), case.batches())


@fewer(2)
@given(case=LATER, stops=st.dictionaries(st.integers(0, 20), st.sampled_from(NAMES), max_size=3))
def test_a_run_that_is_stopped_anywhere_tells_the_same(case: Case, stops: Mapping[int, str]) -> None:
    running = engine(case, "fixed")
    expected = reference.answer(case.question(), case.batches())
    assert told(restarted(case, stops), running) == expected
