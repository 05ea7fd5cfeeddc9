"""Any policy, any batch size, any seed: the naive answer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.wiring import PolicyChoice
from policies.registry import POLICIES
from tests import reference, strategies
from tests.policies.choices import chosen
from tests.policies.wild import Wild
from tests.strategies import CONDITIONS, Condition


def rows_of(results: pa.Table) -> Counter[tuple[Any, ...]]:
    """A result as the reference writes it."""
    return Counter(tuple(map(reference.plain, row.values())) for row in results.to_pylist())


def _asked(condition: Condition) -> reference.Condition:
    return lambda found: condition.truth(found["a"])


def choices(operators: int) -> st.SearchStrategy[PolicyChoice]:
    """Every registered policy, any fixed order, and a policy that does whatever is allowed."""
    filters = [f"f{n}" for n in range(operators)]
    names: list[PolicyChoice] = [*(chosen(name, filters, "a.i") for name in sorted(POLICIES)), Wild]
    return st.sampled_from(names) | st.permutations(filters).map(_in_order)


def _in_order(order: list[str]) -> PolicyChoice:
    return {"name": "fixed", "order": order}


@st.composite
def questions(draw: st.DrawFn) -> tuple[list[Condition], PolicyChoice]:
    conditions = draw(st.lists(CONDITIONS, max_size=4))
    return conditions, draw(choices(len(conditions)))


@settings(max_examples=300)
@given(
    clock=st.sampled_from(sorted(strategies.CLOCKS)),
    data=st.data(),
    question=questions(),
    delay=st.sampled_from([None, 0, 20]),
    batch_rows=st.integers(1, 50),
    seed=st.integers(0, 2**63),
)
def test_any_routing_gives_the_naive_answer(
    clock: str,
    data: st.DataObject,
    question: tuple[list[Condition], PolicyChoice],
    delay: int | None,
    batch_rows: int,
    seed: int,
) -> None:
    conditions, policy = question
    records = data.draw(strategies.rows(clock))
    batches = [{"a": records[i : i + batch_rows]} for i in range(0, len(records), batch_rows)]
    stream = eddy.Stream("a", time="ts", delay=strategies.CLOCKS[clock].delay(delay))
    query = eddy.Query(
        streams=[stream],
        filters=[eddy.Filter(f"f{n}", on="a", **condition.engine) for n, condition in enumerate(conditions)],
    )
    names = ["ts", *strategies.KINDS]
    asked = reference.Question(
        streams={"a": reference.Source(time="ts", delay=strategies.CLOCKS[clock].ticks(delay))},
        conditions=[_asked(condition) for condition in conditions],
        select=[("a", name) for name in names],
    )
    table = strategies.table(records, clock)
    run = eddy.run_local(query, {"a": table}, policy=policy, batch_rows=batch_rows, seed=seed)
    assert rows_of(run.results) == reference.answer(asked, batches)
    assert run.report.batches()["late"].sum() == reference.late_rows(asked, batches)
    assert run.results.schema.names == [f"a_{name}" for name in names]
