"""The first phase of a join in two: it drops nothing that would have joined, and changes no answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.contracts import Leg, Observation, Policy, Setting, Task
from eddy.engine import rounds
from eddy.operators import matching, meets
from eddy.policies.registry import POLICIES
from eddy.tuples import Hop
from tests import reference, tiny
from tests.eddy.test_joins import ANY, answered
from tests.joins import Case
from tests.policies.choices import chosen
from tests.tries import fewer


class Phases(Policy):
    """Asks about some inputs before it joins, now and then about all, to hold that against the probes."""

    def __init__(self, setting: Setting) -> None:
        pass

    def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
        probes = tuple(hop for hop in ready if hop.operator.startswith("probe_"))
        asked = tuple(hop for hop in task.options(()) if hop.operator.startswith("meets_"))
        chance = task.chance()
        if probes and asked and chance.random() < 0.4:
            return [Leg(route=(*asked, *probes), exhaustive=True)]
        halves = np.arange(task.rows) < chance.integers(task.rows + 1)
        return [Leg(route=self._route(task), rows=np.flatnonzero(half)) for half in (halves, ~halves)]

    def _route(self, task: Task) -> tuple[Hop, ...]:
        route: list[Hop] = []
        while task.after(route):
            hops = task.options(route) if task.chance().random() < 0.6 else ()
            hops = hops or task.after(route)
            route.append(hops[task.chance().integers(len(hops))])
        return tuple(route)

    def observe(self, observation: Observation) -> None:
        said = {hop.operator: counts for hop, counts in zip(observation.hops, observation.outcomes, strict=True)}
        for name, counts in said.items():
            if observation.legs[0].exhaustive and name.startswith("probe_"):
                joined, passed = counts > 0, said[name.replace("probe_", "meets_")]
                assert passed.dtype == np.bool_
                assert passed[joined].all()
                assert meets.STRENGTH == "near" or (passed == joined).all()


@pytest.mark.parametrize("strength", ["near", "verified"])
@fewer(8)
@given(
    case=ANY,
    sizes=st.tuples(st.sampled_from([2, 1000]), st.integers(1, 6), st.integers(1, 12)),
    seed=st.integers(0, 2**32),
)
def test_meets_says_what_a_probe_would_and_changes_no_answer(
    strength: str, case: Case, sizes: tuple[int, int, int], seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meets, "STRENGTH", strength)
        tiny.parts_of(patch, sizes[0])
        for name, size in zip(("MOST_CANDIDATES", "MOST_TUPLES"), sizes[1:], strict=True):
            patch.setattr(matching, name, size)
        patch.setattr(rounds, "FIRST_ROUND", sizes[1])
        run = eddy.iter_local(case.query(), case.data(), policy=Phases, batch_rows=case.batch_rows, seed=seed)
        assert answered(run, run.schema) == reference.answer(case.question(), case.batches())


STAR = eddy.Query(
    streams=[eddy.Stream("a", time="ts")],
    tables=[eddy.Table("b"), eddy.Table("c")],
    joins=["a.k = b.k", "a.k = c.k"],
    filters=[eddy.Filter("few", on="a", where="k < 8")],
    select=["a.ts"],
)
DATA = {
    "a": pa.table({"ts": range(100), "k": [n % 10 for n in range(100)]}),
    "b": pa.table({"k": [1, 1, 2]}),
    "c": pa.table({"k": [2, 2, 9]}),
}


ASKED_FOR = {"a_caching": ("cached_b_c",)}


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_no_policy_comes_to_see_an_option_that_it_did_not_ask_for(policy: str) -> None:
    names = ["few", "probe_b", "probe_c"]
    run = eddy.run_local(STAR, DATA, policy=chosen(policy, names, "a.k"), batch_rows=10)
    assert run.results.num_rows == 20
    assert set(run.report.operators()["operator"]) <= {*names, *ASKED_FOR.get(policy, ())}


def test_a_policy_that_asks_is_told_and_reported() -> None:
    class Asking(Policy):
        def __init__(self, setting: Setting) -> None:
            assert setting.operators == ("few", "probe_a", "probe_b", "probe_c")

        def plan(self, task: Task, ready: tuple[Hop, ...]) -> Sequence[Leg]:
            options = task.options(())
            assert not set(options).intersection(ready)
            assert [hop.operator for hop in options] == ["meets_b", "meets_c", "cached_b_c", "whole_b_c"]
            route = options[:2]
            while following := task.after(route):
                route = (*route, following[-1])
            return [Leg(route=route)]

    run = eddy.run_local(STAR, DATA, policy=Asking, batch_rows=10)
    assert run.results.num_rows == 20
    told = run.report.operators()[["operator", "rows_in", "rows_out", "evaluated"]].to_numpy().tolist()
    assert told[:2] == [["meets_b", 100, 20, 100], ["meets_c", 20, 10, 20]]
    assert ["probe_c", 10, 20, 20] in told


def test_a_filter_may_not_have_the_name_of_an_option() -> None:
    with pytest.raises(eddy.QueryError, match='filter "meets_b": an operator that looks up "b" has this name'):
        eddy.Query(
            streams=[eddy.Stream("a", time="ts"), eddy.Stream("b", time="ts")],
            joins=["a.k = b.k"],
            filters=[eddy.Filter("meets_b", on="a", where="k < 8")],
        )


@pytest.mark.parametrize("name", ["meets_quota", "cached_x", "whole_days"])
def test_filters_of_a_join_have_no_names_of_operators(name: str) -> None:
    """Of one stream they may: there are no such operators."""
    filters = [eddy.Filter(name, on="a", where="k < 8")]
    streams = [eddy.Stream("a", time="ts"), eddy.Stream("b", time="ts")]
    expected = f'filter "{name}": operators of joins have names that begin with "meets_" or "cached_" or "whole_"'
    with pytest.raises(eddy.QueryError, match=expected):
        eddy.Query(streams=streams, joins=["a.k = b.k"], filters=filters)
    assert eddy.Query(streams=streams[:1], filters=filters).filters[0].name == name
