"""Contenders that differ in their indexes: the same routes, told what is to come, and no mix of their runs."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.comparison.compare import run_comparison
from eddy.comparison.runner import Local, tell_coming
from eddy.comparison.workload import Workload
from eddy.contracts import Setting
from eddy.errors import EngineError, QueryError
from eddy.policies.fixed import Fixed
from eddy.policies.registry import POLICIES
from eddy.wiring import depends_on_time, read_index
from tests.eddy.comparison.worlds import experiment

ROWS = 300


def join() -> eddy.Query:
    return eddy.Query(
        name="pairs",
        streams=[eddy.Stream(name, time="ts", window=eddy.Range(40), delay=0) for name in "abc"],
        joins=["a.k = b.k", "b.v = c.v"],
        select=["a.ts"],
    )


def rows() -> dict[str, pa.Table]:
    chance = np.random.default_rng(0)
    return {
        name: pa.table({"ts": np.arange(ROWS), "k": chance.integers(0, 9, ROWS), "v": chance.integers(0, 9, ROWS)})
        for name in "abc"
    }


def compare(*policies: Any, **changes: Any) -> eddy.Comparison:
    return eddy.compare(join(), rows(), list(policies), **{"repeats": 1, "batch_rows": 50, "quiet": True, **changes})


BITS = {"kind": "bits", "bits": 4}


def test_policies_may_differ_in_their_index_only() -> None:
    found = compare("random", {"name": "random", "index": BITS}, {"name": "random", "index": "told"})
    assert {row["policy"] for row in found.rows.to_pylist()} == {
        *("random", "random (again)", "random by bits(bits=4)", "random by told"),
    }
    assert found.settings["policies"]["random by bits(bits=4)"]["index"] == "bits(bits=4)"
    assert '{"name": "random", "index": {"kind": "bits", "bits": 4}}' in found.command


def test_an_experiment_may_say_how_rows_are_found() -> None:
    policies = [{"name": "fixed", "role": "baseline"}, {"name": "fixed", "index": BITS, "label": "bits"}]
    made = experiment(policies=policies)
    assert [contender.index for contender in made.contenders] == [None, BITS]
    assert [contender.label for contender in made.contenders] == ["fixed", "bits"]
    assert [contender.describe() for contender in made.contenders] == [
        {"policy": '{"name": "fixed"}', "again": False},
        {"policy": '{"name": "fixed"}', "index": "bits(bits=4)", "again": False},
    ]


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ({"kind": "bits", "bits": 99}, 'policy "mine": index: bits: expected a whole number from 1 to 32, got 99'),
        ("bitts", 'policy "mine": index: unknown kind "bitts"; did you mean "bits"'),
        ([], 'policy "mine": index: expected a kind'),
    ],
)
def test_a_wrong_index_is_told_with_its_policy(index: Any, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        eddy.compare(join(), rows(), {"mine": {"name": "fixed", "index": index}}, quiet=True)
    with pytest.raises(QueryError, match=says):
        experiment(policies=[{"name": "fixed", "index": index, "label": "mine", "role": "baseline"}])


class Turning(Fixed):
    """Every engine that is made of it has another order, whatever it is asked."""

    made = itertools.count()

    def __init__(self, setting: Setting) -> None:
        probes = [name for name in setting.operators if name.startswith("probe_")]
        turn = next(self.made) % len(probes)
        super().__init__(setting, order=[*probes[turn:], *probes[:turn]])


def test_other_routes_are_an_error_where_only_the_index_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(POLICIES, "turning", Turning)
    with pytest.raises(EngineError, match=r'"turning.*" and "turning.*" differ in their index only, and have taken'):
        compare("turning", {"name": "turning", "index": BITS}, {"name": "turning", "index": "chosen"})
    assert compare("turning", {"name": "fixed", "index": BITS}).runs


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fixed", False),
        ({"name": "content", "costs": "unit"}, False),
        ("content", True),
        ("query_mesh", True),
        ({"name": "query_mesh", "costs": "unit"}, True),
        ({"name": "auto", "costs": "unit"}, True),
        (Fixed, True),
    ],
)
def test_policies_that_go_by_the_clock_may_go_other_ways(policy: Any, expected: bool) -> None:
    assert depends_on_time(policy) == expected


def test_told_indexes_know_the_probes_to_come() -> None:
    workload = Workload(name="pairs", query=join(), data=rows())
    settings = read_index(tell_coming(workload, "random", 50, 3, "told"))
    assert len(settings.coming) == ROWS // 50
    recorded = eddy.run_local(join(), rows(), policy="random", index="patterns", batch_rows=50, seed=3).report.indexes()
    assert (
        sum(sum(known["b"].values()) for known in settings.coming)
        == recorded.loc[recorded["input"] == "b", "probes"].sum()
    )
    assert set(settings.coming[0]["b"]) <= {"b.k", "b.v", "b.k, b.v"}
    assert tell_coming(workload, "random", 50, 3, "bits") == "bits"


def test_another_index_is_another_setting(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"
    for index, lines in ((BITS, 3), (BITS, 3), ({**BITS, "bits": 5}, 4)):
        compare("fixed", {"name": "fixed", "index": index}, resume=journal)
        assert len(journal.read_text("utf-8").splitlines()) == lines


def test_the_regret_of_designs_is_told_where_the_workload_changes() -> None:
    route = {"kind": "multi_route", "streams": 3, "paths": 1, "rows": 1_200, "window": 100, "phase": 100}
    policies: list[Any] = [
        {"name": "source", "costs": "unit", "role": "baseline", "label": "patterns"},
        {"name": "source", "costs": "unit", "role": "bound", "label": "told", "index": "told"},
    ]
    made = experiment(policies=policies, workload=route | {"change": {"at": 200}}, repeats=1, batch_rows=100)
    found = run_comparison(made, Local(), command="", quiet=True)
    rows = found.rows.to_pylist()
    assert {row["policy"]: row["regret_candidates"] for row in rows}["told"] == 1.0
    assert all(row["regret_candidates"] > 0 and row["regret_rows"] <= 600 for row in rows)
    # Pattern by pattern: all that are searched by, with the same tuples whatever the indexes are.
    by_pattern = found.by_pattern.to_pylist()
    told = [row for row in by_pattern if row["policy"] == "told"]
    assert {row["pattern"] for row in told} >= {"a.ab", "a.ab, a.ac", "c.ac, c.bc"}
    assert {row["regret_candidates"] for row in told} == {row["regret_seconds"] for row in told} == {1.0}
    assert sum(row["share"] for row in told) == pytest.approx(1)
    assert {row["policy"] for row in by_pattern} == {"patterns", "patterns (again)", "told"}
    ours = next(row for row in rows if row["policy"] == "patterns")
    worst = max(row["regret_candidates"] for row in by_pattern if row["policy"] == "patterns")
    assert ours["regret_candidates_worst"] == worst
