"""An experiment, from its file to rows and a table."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from eddy.comparison.compare import run_comparison
from eddy.comparison.result import Comparison
from eddy.comparison.runner import Local
from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.experiments.experiment import parse

TINY = """
name = "tiny"
seeds = 2
repeats = 2
batch_rows = 500
policies = [
    {name = "fixed", role = "baseline"},
    "random",
    {name = "fixed", order = ["op3"], label = "op3 first"},
    {name = "knows", truth = "$truth", costs = "unit", role = "bound"},
]

[workload]
kind = "stream_star"
operators = [2, 3]
rows = 2_000
selectivities = {table = "skew", A = 0.05}

[[paper]]
where = {operators = 3}
calls = 12.5
"""

COLUMNS = """experiment workload policy seed tuples results routing_calls seconds operator_seconds routing_seconds
    learning_seconds operators skew A B aggregate cost_us""".split()


@pytest.fixture(scope="module")
def conf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("conf") / "tiny.toml"
    path.write_text(TINY, "utf-8")
    return path


class Ran(NamedTuple):
    """What an experiment wrote, and what it printed."""

    rows: list[dict[str, Any]]
    printed: str


def run(conf: Path, *more: str) -> Ran:
    out = conf.with_suffix(".json")
    with redirect_stdout(io.StringIO()) as printed:
        assert cli.main(["compare", str(conf), "--out", str(out), *more]) == 0
    return Ran(json.loads(out.read_text("utf-8")), printed.getvalue())


@pytest.fixture(scope="module")
def ran(conf: Path) -> Ran:
    """The whole of it, once."""
    return run(conf)


def test_an_experiment_from_end_to_end(ran: Ran) -> None:
    rows, printed = ran
    assert len(rows) == 2 * 2 * (4 + 5)
    assert all(set(COLUMNS) <= set(row) for row in rows)
    assert all(not isinstance(value, dict | list) for row in rows for value in row.values())
    assert {row["tuples"] for row in rows} == {2_000}
    assert 'skipped: op3 first on stream_star operators=2: policy "fixed": order: unknown operator "op3"' in printed
    assert "of bound %" in printed


def test_rows_of_one_workload_and_seed_have_one_answer(ran: Ran) -> None:
    answers = {(row["workload"], row["seed"], row["results"]) for row in ran.rows}
    assert len(answers) == 4


def test_the_bound_needs_the_calls_that_the_table_promises(ran: Ran) -> None:
    knows = [row for row in ran.rows if row["policy"] == "knows"]
    for row in knows:
        assert row["routing_calls"] / row["tuples"] == pytest.approx(row["best_calls"], rel=0.05)


def test_the_paper_stands_beside_the_rows_it_speaks_of(ran: Ran) -> None:
    assert {(row["operators"], row.get("paper_calls")) for row in ran.rows} == {(2, None), (3, 12.5)}


def test_quick_is_less_of_the_same(conf: Path) -> None:
    assert {row["seed"] for row in run(conf, "--quick").rows} == {0}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"random"', '"randm"', 'policy: unknown policy "randm"; did you mean "random"?'),
        ('order = ["op3"]', 'ordr = ["op3"]', 'policy "fixed": unknown parameter "ordr"; did you mean "order"?'),
        ("rows = 2_000", "row = 2_000", 'workload stream_star: unknown parameter "row"; did you mean "rows"?'),
        ("seeds = 2", "seed = 2", 'experiment: unknown parameter "seed"; did you mean "seeds"?'),
    ],
)
def test_a_mistake_is_one_line_and_nothing_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, says: str
) -> None:
    conf = tmp_path / "wrong.toml"
    conf.write_text(TINY.replace(old, new), "utf-8")
    assert cli.main(["compare", str(conf), "--quiet"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_place_that_cannot_be_written_is_found_before_the_runs(
    conf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compare", str(conf), "--out", str(conf.parent / "nowhere" / "out.json")]) == 2
    assert f'there is no such folder as "{conf.parent / "nowhere"}"; make it first' in capsys.readouterr().err


def lab_only(policies: list[Any]) -> Comparison:
    workload = {"kind": "lab", "rows": 500}
    experiment = parse({"name": "lab", "workload": workload, "policies": policies})
    return run_comparison(experiment, Local(), command="", quiet=True)


def test_a_policy_that_asks_for_what_nobody_knows_is_skipped() -> None:
    found = lab_only([{"name": "fixed", "role": "baseline"}, {"name": "knows", "truth": "$truth"}])
    assert {row["policy"] for row in found.runs} == {"fixed", "fixed (again)"}
    assert found.skipped == ['skipped: knows on lab: truth = "$truth" is not known of this workload']


def test_a_policy_that_can_run_nowhere_is_a_mistake() -> None:
    with pytest.raises(QueryError, match='unknown operator "op9"'):
        lab_only([{"name": "fixed", "role": "baseline"}, {"name": "fixed", "order": ["op9"]}])
