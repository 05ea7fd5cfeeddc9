"""Any policy, any batch size, any seed: the naive answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.local import Run
from eddy.policies.registry import POLICIES
from eddy.wiring import PolicyChoice
from tests import reference, strategies
from tests.filters import waits
from tests.policies.choices import chosen
from tests.policies.wild import Wild
from tests.strategies import CONDITIONS, Condition


def rows_of(results: pa.Table) -> Counter[tuple[Any, ...]]:
    """A result as the reference writes it."""
    return Counter(tuple(map(reference.plain, row.values())) for row in results.to_pylist())


def _asked(condition: Condition, without: frozenset[int]) -> reference.Condition:
    def ask(found: reference.Combination) -> bool | None:
        if found["a"]["i"] in without:
            raise reference.NoAnswer
        return condition.truth(found["a"])

    return ask


def _fallible(condition: Condition, without: frozenset[int]) -> dict[str, Any]:
    """The same as a function, which raises for some values of a column."""
    names = ["i", "f", "s", "d", "t", "b"]

    def ask(*values: pa.Array) -> list[bool | None]:
        if without & set(values[0].to_pylist()):
            raise ValueError("no answer")
        columns = [column.to_pylist() for column in values]
        return [condition.truth(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]

    ask.__annotations__ = {"values": pa.Array}
    return {"function": ask, "columns": names} if without else condition.engine


WITHOUT = st.just(frozenset[int]()) | st.sampled_from([frozenset({1}), frozenset({0, 2**53}), frozenset({-1, 2})])
"""Values of a column for which a filter has no answer."""


def choices(operators: int) -> st.SearchStrategy[PolicyChoice]:
    """Every registered policy, any fixed order, and a policy that does whatever is allowed."""
    filters = [f"f{n}" for n in range(operators)]
    names: list[PolicyChoice] = [*(chosen(name, filters, "a.i") for name in sorted(POLICIES)), Wild]
    return st.sampled_from(names) | st.permutations(filters).map(_in_order)


def _in_order(order: list[str]) -> PolicyChoice:
    return {"name": "fixed", "order": order}


Judged = tuple[Condition, frozenset[int], str]
"""A condition, the values for which it has no answer, and what is done then."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """Filters over the rows of one stream."""

    clock: str
    records: list[dict[str, Any]]
    conditions: list[Judged]
    delay: int | None
    batch_rows: int
    seed: int
    after: Mapping[int, Sequence[int]]

    def check(self, policy: PolicyChoice) -> Counter[tuple[Any, ...]]:
        """Hold the answer against the naive one, and give that."""
        batches = [{"a": self.records[i : i + self.batch_rows]} for i in range(0, len(self.records), self.batch_rows)]
        question = self._question()
        expected = reference.answer(question, batches)
        if expected == reference.FAILS:
            with pytest.raises(eddy.QueryError, match="raised ValueError: no answer"):
                self._run(policy)
            return expected
        run = self._run(policy)
        assert rows_of(run.results) == expected
        assert run.report.batches()["late"].sum() == reference.late_rows(question, batches)
        assert run.results.schema.names == [f"a_{name}" for _, name in question.select]
        return expected

    def _run(self, policy: PolicyChoice) -> Run:
        stream = eddy.Stream("a", time="ts", delay=strategies.CLOCKS[self.clock].delay(self.delay))
        filters = [
            eddy.Filter(f"f{n}", on="a", on_error=on_error, after=self._after(n), **_fallible(condition, without))
            for n, (condition, without, on_error) in enumerate(self.conditions)
        ]
        query = eddy.Query(streams=[stream], filters=filters)
        data = {"a": strategies.table(self.records, self.clock)}
        return eddy.run_local(query, data, policy=policy, batch_rows=self.batch_rows, seed=self.seed)

    def _after(self, number: int) -> list[str] | None:
        return [f"f{n}" for n in self.after.get(number, ())] or None

    def _question(self) -> reference.Question:
        return reference.Question(
            streams={"a": reference.Source(time="ts", delay=strategies.CLOCKS[self.clock].ticks(self.delay))},
            conditions=[_asked(condition, without) for condition, without, _ in self.conditions],
            on_error={n: on_error for n, (_, _, on_error) in enumerate(self.conditions)},
            select=[("a", name) for name in ("ts", *strategies.KINDS)],
        )


@st.composite
def asked(draw: st.DrawFn) -> Asked:
    clock = draw(st.sampled_from(sorted(strategies.CLOCKS)))
    treated = st.sampled_from(["fail", "fail", "drop", "keep"])
    conditions = draw(st.lists(st.tuples(CONDITIONS, WITHOUT, treated), max_size=4))
    return Asked(
        clock=clock,
        records=draw(strategies.rows(clock)),
        conditions=conditions,
        delay=draw(st.sampled_from([None, 0, 20])),
        batch_rows=draw(st.integers(1, 50)),
        seed=draw(st.integers(0, 2**63)),
        after=draw(waits(len(conditions))),
    )


@settings(max_examples=300)
@given(question=asked(), data=st.data())
def test_any_routing_gives_the_naive_answer(question: Asked, data: st.DataObject) -> None:
    question.check(data.draw(choices(len(question.conditions))))
