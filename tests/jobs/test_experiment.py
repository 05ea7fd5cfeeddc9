"""Experiments as files: what a grid is, and what every mistake is answered with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eddy.comparison.contender import Contender
from eddy.comparison.experiment import QUICK_ROWS
from eddy.errors import QueryError
from eddy.jobs.experiments.experiment import load, parse
from tests.house import ROOT

POLICIES = [{"name": "fixed", "role": "baseline"}, "random"]
STAR = {"kind": "stream_star", "operators": 2, "rows": 100, "selectivities": {"table": "skew", "A": 0.1}}


def values(**changes: Any) -> dict[str, Any]:
    return {"name": "tiny", "workload": STAR, "policies": POLICIES} | changes


def test_a_list_of_plain_values_is_several_workloads() -> None:
    grid = {**STAR, "operators": [2, 3], "selectivities": {"table": "skew", "A": [0.1, 0.5]}}
    points = parse(values(workload=grid)).points
    assert [point.label for point in points] == [f"stream_star operators={n} A={a}" for n in (2, 3) for a in (0.1, 0.5)]
    assert [point.workload(0).facts["operators"] for point in points] == [2, 2, 3, 3]


def test_a_list_of_lists_is_one_value() -> None:
    (point,) = parse(values(workload={**STAR, "selectivities": [[0.1, 0.9], [0.9, 0.1]]})).points
    assert point.workload(0).facts["classes"] == 2


def test_several_workloads_have_their_labels() -> None:
    points = parse(values(workload=[{**STAR, "label": "first"}, {"kind": "lab", "query": ["q1", "q2"]}])).points
    assert [point.label for point in points] == ["first", "lab query=q1", "lab query=q2"]


def test_seeds_are_a_number_or_a_list() -> None:
    assert parse(values(seeds=3)).seeds == [0, 1, 2]
    assert parse(values(seeds=[7, 5])).seeds == [7, 5]


def test_a_policy_is_called_by_its_label_or_its_parameters() -> None:
    policies = [
        *POLICIES,
        {"name": "fixed", "order": ["op2"]},
        {"name": "knows", "truth": "$truth"},
        {"name": "random", "label": "any"},
    ]
    labels = [contender.label for contender in parse(values(policies=policies)).contenders]
    assert labels == ["fixed", "random", "fixed(order=['op2'])", "knows", "any"]


def test_what_a_workload_knows_is_handed_to_the_policy_that_asks() -> None:
    experiment = parse(values(policies=[*POLICIES, {"name": "knows", "truth": "$truth"}]))
    workload, knows = experiment.points[0].workload(0), experiment.contenders[2]
    assert knows.find_missing(workload) is None
    assert knows.choice(workload) == {"name": "knows", "truth": workload.truth}
    (lab,) = parse(values(workload={"kind": "lab", "rows": 5})).points
    wide = Contender(label="wide", policy={"name": "auto", "attributes": "$columns"})
    columns = [f"sensors.{name}" for name in lab.workload(0).data["sensors"].schema.names]
    assert wide.choice(lab.workload(0)) == {"name": "auto", "attributes": columns}
    assert knows.find_missing(lab.workload(0)) == 'truth = "$truth" is not known of this workload'


def test_a_policy_may_have_micro_batches_of_its_own() -> None:
    policies = [*POLICIES, {"name": "source", "batch_rows": 10}]
    last = parse(values(policies=policies)).contenders[-1]
    assert (last.batch_rows, last.label, last.policy) == (10, "source", {"name": "source"})


def test_several_sizes_are_several_setups_of_each_workload() -> None:
    sized = parse(values(batch_rows=[10, 20], windows=["1 minute", 5, {"rows": 7}]))
    assert [setup.label.partition(" ")[2] for setup in sized.setups][:2] == [
        "batch_rows=10 window=Range('1 minute')",
        "batch_rows=10 window=Range(5)",
    ]
    assert [setup.varied.get("window_unit") for setup in sized.setups][:3] == [None] * 3
    assert [setup.sizes["window_size"] for setup in sized.setups] == [60.0, 5.0, 7.0] * 2
    (plain,) = parse(values(batch_rows=10)).setups
    assert (plain.label, plain.varied, plain.sizes) == ("stream_star", {}, {"batch_rows": 10})


def test_quick_leaves_little() -> None:
    grid = {**STAR, "rows": 50_000, "operators": list(range(2, 22))}
    quick = parse(values(workload=grid, seeds=9, repeats=3)).shrink()
    assert (len(quick.points), len(quick.seeds), quick.repeats, quick.rows) == (4, 1, 1, QUICK_ROWS)
    assert quick.points[0].workload(0, rows=quick.rows).tuples == QUICK_ROWS


def test_quick_tells_a_slip_in_what_it_leaves_out() -> None:
    shares = [number / 20 for number in range(12)]
    left_out = parse(values(workload={**STAR, "correlation": shares})).shrink().points
    assert [point.label.endswith(f"={share}") for point, share in zip(left_out, shares[::3], strict=True)] == [True] * 4
    with pytest.raises(QueryError, match="correlation: expected a share from 0 to 1, got 2"):
        parse(values(workload={**STAR, "correlation": [*shares[:-1], 2.0]})).shrink()


@pytest.mark.parametrize("path", sorted((ROOT / "conf" / "experiments").glob("*.toml")), ids=lambda path: path.stem)
def test_published_experiments_can_be_read_and_their_workloads_built(path: Path) -> None:
    experiment = load(path)
    assert experiment.name == path.stem
    workloads = [point.workload(experiment.seeds[0], rows=1) for point in experiment.points]
    assert [w.tuples for w in workloads] == [len(w.query.streams) for w in workloads]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"polices": []}, 'experiment: unknown parameter "polices"; did you mean "policies"?'),
        ({"name": 3}, "name: expected a text, got 3"),
        ({"seeds": 0}, "seeds: expected a whole number of 1 or more, got 0"),
        ({"seeds": [1, "2"]}, "seeds: expected a whole number of 0 or more, got '2'"),
        ({"batch_rows": 0}, "batch_rows: expected a whole number of 1 or more, got 0"),
        ({"batch_rows": [10, 0]}, "batch_rows: expected a whole number of 1 or more, got 0"),
        ({"windows": ["soon"]}, 'windows: window Range: expected a duration such as "30 seconds"'),
        ({"windows": [{"rows": 0}]}, "windows: window Rows: expected a whole number of 1 or more, got 0"),
        ({"windows": [{"row": 1}]}, 'windows: expected a duration such as "30 seconds", a number, or {rows = 100}'),
        ({"totals": 1}, "totals: expected true or false, got 1"),
        ({"repeats": True}, "repeats: expected a whole number of 1 or more, got True"),
        ({"policies": []}, "policies: expected a list of one or more, got []"),
        ({"policies": [{"label": "x"}]}, 'policies: expected a name, or {name = "...", parameter = value}'),
        (
            {"policies": [{"name": "fixed", "cache_memory": -1}]},
            'policy "fixed": cache_memory: expected a whole number of 0 or more, got -1',
        ),
        ({"policies": ["fixed"]}, 'policies: expected role = "baseline" of one at least'),
        (
            {"policies": [{"name": "fixed", "role": "base"}]},
            'policy "fixed": unknown role "base"; did you mean "baseline"?',
        ),
        (
            {"policies": [*POLICIES, {"name": "source", "batch_rows": 0}]},
            'policy "source": batch_rows: expected a whole number of 1 or more, got 0',
        ),
        ({"policies": [*POLICIES, "random"]}, "two of them are called the same"),
        ({"workload": "lab"}, "workload: expected a table of parameters, got 'lab'"),
        ({"workload": {**STAR, "kind": "stream_start"}}, 'unknown kind "stream_start"; did you mean "stream_star"?'),
        ({"workload": {**STAR, "operators": []}}, "workload: a list of no values leaves nothing to run"),
        ({"paper": [{"calls": 3}]}, 'paper: expected the parameter "where", got none'),
    ],
)
def test_a_mistake_is_one_clear_error(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(values(**changes))
    assert says in str(raised.value)


def test_a_missing_key_is_named() -> None:
    with pytest.raises(QueryError, match='experiment: expected the parameter "workload", got none'):
        parse({"name": "tiny", "policies": POLICIES})


@pytest.mark.parametrize(("parameter", "says"), [("row", 'did you mean "rows"'), ("cost", 'did you mean "cost_us"')])
def test_an_unknown_parameter_of_a_workload_is_named(parameter: str, says: str) -> None:
    (point,) = parse(values(workload={**STAR, parameter: 1})).points
    with pytest.raises(QueryError, match=says):
        point.workload(0)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r'experiment ".*nowhere.toml": cannot be read'):
        load(tmp_path / "nowhere.toml")


def test_a_file_that_is_not_toml_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("name = ", "utf-8")
    with pytest.raises(QueryError, match=r'experiment ".*bad.toml": not TOML'):
        load(path)
