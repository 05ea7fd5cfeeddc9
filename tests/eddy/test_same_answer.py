"""Any policy, any batch size, any seed: the naive answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import eddy
from policies.registry import POLICIES
from tests import reference, strategies
from tests.strategies import CONDITIONS, Condition


def rows_of(results: pa.Table) -> Counter[tuple[Any, ...]]:
    """A result as the reference writes it."""
    return Counter(tuple(map(reference.plain, row.values())) for row in results.to_pylist())


def _asked(condition: Condition) -> reference.Condition:
    return lambda found: condition.truth(found["a"])


@pytest.mark.parametrize("policy", sorted(POLICIES))
@given(
    records=strategies.rows(),
    conditions=st.lists(CONDITIONS, max_size=4),
    batch_rows=st.integers(1, 50),
    seed=st.integers(0, 2**63),
)
@example(records=[], conditions=[], batch_rows=1, seed=0)
def test_any_routing_gives_the_naive_answer(
    policy: str, records: list[dict[str, Any]], conditions: list[Condition], batch_rows: int, seed: int
) -> None:
    query = eddy.Query(
        streams=[eddy.Stream("a", time="ts")],
        filters=[eddy.Filter(f"f{n}", on="a", **condition.engine) for n, condition in enumerate(conditions)],
    )
    names = ["ts", *strategies.KINDS]
    question = reference.Question(
        streams={"a": reference.Source(time="ts")},
        conditions=[_asked(condition) for condition in conditions],
        select=[("a", name) for name in names],
    )
    run = eddy.run_local(query, {"a": strategies.table(records)}, policy=policy, batch_rows=batch_rows, seed=seed)
    assert rows_of(run.results) == reference.answer(question, [{"a": records}])
    assert run.results.schema.names == [f"a_{name}" for name in names]
