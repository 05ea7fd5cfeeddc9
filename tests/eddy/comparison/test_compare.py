"""compare: rows, answers, what resumes, and what every mistake is answered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import eddy
from eddy.comparison.compare import run_comparison
from eddy.comparison.runner import Local
from eddy.contracts import Setting
from eddy.errors import EngineError, QueryError
from eddy.policies.fixed import Fixed
from tests.eddy.comparison.worlds import comparison, data, experiment, query

COLUMNS = """experiment workload policy role runner seed repeat batch_rows tuples results routing_calls seconds
    operator_seconds routing_seconds learning_seconds wall_seconds quiet_seconds cpu_seconds""".split()

Rows = np.ndarray[Any, np.dtype[np.bool_]]


def compare(**changes: Any) -> eddy.Comparison:
    given = {"policies": ["fixed", "random"], "repeats": 2, "quiet": True, **changes}
    return eddy.compare(given.pop("query", query()), given.pop("data", data()), given.pop("policies"), **given)


@pytest.fixture(scope="module")
def once() -> eddy.Comparison:
    """A comparison as it is without a word."""
    return compare()


@pytest.fixture(scope="module")
def thrice() -> eddy.Comparison:
    return compare(repeats=3)


def test_a_row_for_each_run_and_the_baseline_once_more() -> None:
    found = compare(seeds=2, batch_rows=[50, 100])
    rows = found.rows.to_pylist()
    assert set(COLUMNS) <= set(found.rows.schema.names)
    assert len(rows) == 3 * 2 * 2 * 2
    assert {(row["policy"], row["role"]) for row in rows} == {
        ("fixed", "baseline"),
        ("random", ""),
        ("fixed (again)", "control"),
    }
    assert {row["workload"] for row in rows} == {"orders batch_rows=50", "orders batch_rows=100"}
    assert {(row["tuples"], row["results"]) for row in rows} == {(200, rows[0]["results"])}
    assert all(row["operator_seconds"] <= row["seconds"] <= row["wall_seconds"] for row in rows)
    assert all(row["cpu_seconds"] > 0 for row in rows)


def test_calls_are_those_that_run_local_counts() -> None:
    run = eddy.run_local(query(), data(), policy="fixed", batch_rows=50)
    rows = compare(batch_rows=50, repeats=1).rows.to_pylist()
    calls = run.report.batches()["routing_calls"].sum()
    assert {row["routing_calls"] for row in rows if row["policy"] != "random"} == {calls}


def test_a_window_is_that_of_all_streams() -> None:
    rows = compare(windows=[eddy.Range(10), eddy.Range(20)], repeats=1).rows.to_pylist()
    assert {(row["window"], row["window_size"], row["window_unit"]) for row in rows} == {
        ("Range(10)", 10, "units of the event time"),
        ("Range(20)", 20, "units of the event time"),
    }


def test_policies_may_be_named_and_another_one_be_the_baseline() -> None:
    policies = {"as written": "fixed", "even first": {"name": "fixed", "order": ["even"]}}
    found = compare(policies=policies, baseline="even first", repeats=1)
    roles = {row["policy"]: row["role"] for row in found.runs}
    assert roles == {"as written": "", "even first": "baseline", "even first (again)": "control"}


def test_the_summary_is_read_at_a_glance_and_loses_no_digit(thrice: eddy.Comparison) -> None:
    summary, all_digits = thrice.summary(), thrice.statistics().to_pandas().set_index("policy")
    assert list(summary.index) == list(all_digits.index)
    assert summary.shape[1] <= 10
    assert all("_" not in title for title in summary.columns)
    assert summary["µs a tuple"].tolist() == pytest.approx(all_digits["us_per_tuple"].tolist(), rel=0.006)
    assert summary["time saved %"].drop("fixed").tolist() == pytest.approx(
        all_digits["time_saved_percent"].drop("fixed").tolist(), abs=0.051
    )
    assert summary["time saved %"].isna().tolist() == [name == "fixed" for name in summary.index]
    assert max(map(len, thrice.table().splitlines())) <= 110


def test_the_statistics_have_a_row_for_each_policy(thrice: eddy.Comparison) -> None:
    summary = thrice.statistics().to_pylist()
    assert sorted(row["policy"] for row in summary) == ["fixed", "fixed (again)", "random"]
    again = next(row for row in summary if row["role"] == "control")
    assert (again["calls_saved_percent"], again["calls_saved_percent_low"]) == (0, 0)
    assert len({row["noise_percent"] for row in summary}) == 1
    for row in summary:
        assert row["us_per_tuple_low"] <= row["us_per_tuple"] <= row["us_per_tuple_high"]


def test_pandas_frames_and_record_batches_will_do() -> None:
    table = data()["s"]
    for given in (table.to_pandas(), table.to_batches()[0]):
        assert compare(data={"s": given}, repeats=1).rows.num_rows == 3


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".json"])
def test_rows_are_saved_by_suffix(suffix: str, tmp_path: Path, once: eddy.Comparison) -> None:
    place = tmp_path / f"rows{suffix}"
    once.save(place)
    read: dict[str, Callable[[Path], pa.Table]] = {".parquet": pq.read_table, ".csv": csv.read_csv}
    rows = json.loads(place.read_text("utf-8")) if suffix == ".json" else read[suffix](place).to_pylist()
    assert [row["routing_calls"] for row in rows] == once.rows["routing_calls"].to_pylist()
    assert [row["policy"] for row in rows] == once.rows["policy"].to_pylist()


def test_the_command_runs_it_again() -> None:
    given = {"policies": {"one": "fixed", "two": {"name": "content", "costs": "unit", "P": 0.1}}, "baseline": "two"}
    changes = {"batch_rows": [50, 100], "windows": [eddy.Range(10)], "seeds": [1], "drift_points": [100], "repeats": 1}
    found = compare(**given, **changes)
    again = eval(found.command, {"eddy": eddy, "query": query(), "data": data()})
    assert again.settings == found.settings
    assert again.command == found.command
    counted = ("policy", "role", "seed", "batch_rows", "window", "routing_calls", "results")
    assert again.rows.select(counted).to_pylist() == found.rows.select(counted).to_pylist()
    assert [one.drift_points for one in again.traced] == [one.drift_points for one in found.traced]


def test_a_policy_that_asks_for_what_nobody_knows_is_skipped_and_the_others_run() -> None:
    found = compare(policies=["fixed", {"name": "knows", "truth": "$truth"}], repeats=1)
    assert found.skipped == ['skipped: knows on orders: truth = "$truth" is not known of this workload']
    assert {row["policy"] for row in found.runs} == {"fixed", "fixed (again)"}


def test_it_shows_itself() -> None:
    found = compare(query=query("a_query"))
    assert found.verdict in repr(found)
    html = found._repr_html_()
    assert "<table" in html
    assert "<script" not in html


def unsteady(v: np.ndarray[Any, Any]) -> Rows:
    """A function that judges a row by its company: which rows come together depends on the routing."""
    return np.asarray(v == v.max(), np.bool_)


def test_answers_that_differ_are_an_error() -> None:
    filters = [*query().filters, eddy.Filter("largest", on="s", function=unsteady)]
    wrong = eddy.Query(name="wrong", streams=query().streams, filters=filters)
    policies = {"one": {"name": "fixed", "order": ["largest"]}, "two": {"name": "fixed", "order": ["big"]}}
    with pytest.raises(EngineError, match=r'wrong: the policies "(one|two).*" and ".*" give different answers'):
        compare(query=wrong, data=data(rows=40), policies=policies)


# --- resuming


class Counted(Local):
    """Counts the runs, and stops when there were enough."""

    def __init__(self, most: int = 1_000) -> None:
        self.runs = 0
        self._most = most

    def prepare(self, workload: Any) -> Any:
        inner = super().prepare(workload)
        return _Counting(self, inner)

    def count(self) -> None:
        if self.runs == self._most:
            raise KeyboardInterrupt
        self.runs += 1


class _Counting:
    def __init__(self, counted: Counted, inner: Any) -> None:
        self._counted = counted
        self._inner = inner

    def __enter__(self) -> Any:
        run = self._inner.__enter__()

        def counting(*arguments: Any) -> Any:
            self._counted.count()
            return run(*arguments)

        return counting

    def __exit__(self, *error: object) -> None:
        self._inner.__exit__(*error)


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


@pytest.fixture(scope="module")
def lines_of_runs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the journal of a comparison holds: each test that goes on from there has a copy."""
    journal = tmp_path_factory.mktemp("ran") / "runs.jsonl"
    assert resumed(journal)[0] == 6
    return journal.read_text("utf-8")


def resumed(journal: Path, most: int = 1_000, **changes: Any) -> tuple[int, list[Any]]:
    counted = Counted(most)
    found = run_comparison(experiment(**changes), counted, command="", resume=journal, quiet=True)
    return counted.runs, list(found.runs)


def test_an_interrupted_comparison_goes_on(journal: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        resumed(journal, most=4)
    before = journal.read_text("utf-8").splitlines()
    assert len(before) == 4
    runs, rows = resumed(journal)
    assert (runs, len(rows)) == (2, 6)
    kept = {json.loads(line)["figures"]["seconds"] for line in before}
    assert kept <= {row["seconds"] for row in rows}
    assert resumed(journal) == (0, rows)


@pytest.mark.parametrize(
    ("changes", "runs"),
    [
        ({}, 0),
        ({"repeats": 3}, 3),
        ({"batch_rows": 100}, 6),
        ({"seeds": [0, 1]}, 6),
        ({"policies": [{"name": "fixed", "role": "baseline"}, {"name": "content", "costs": "unit", "P": 0.1}]}, 2),
    ],
)
def test_a_changed_setting_is_not_mixed_in(
    journal: Path, lines_of_runs: str, changes: dict[str, Any], runs: int
) -> None:
    journal.write_text(lines_of_runs, "utf-8")
    assert resumed(journal, **changes)[0] == runs


def test_changed_data_and_changed_code_are_another_setting(tmp_path: Path) -> None:
    journal = tmp_path / "runs.jsonl"

    def lines(**changes: Any) -> int:
        compare(resume=journal, repeats=1, **changes)
        return len(journal.read_text("utf-8").splitlines())

    def with_limit(limit: int) -> eddy.Query:
        filters = [eddy.Filter("f", on="s", function=lambda v: v > limit, columns=["v"])]
        return eddy.Query(name="q", streams=query().streams, filters=filters)

    assert [lines(), lines(), lines(data=data(seed=1))] == [3, 3, 6]
    assert [lines(query=with_limit(n)) for n in (3, 3, 4)] == [9, 9, 12]


def test_the_changed_code_of_a_policy_is_another_setting(tmp_path: Path) -> None:
    """In a notebook a policy that is being written is handed over as it is."""
    journal = tmp_path / "runs.jsonl"

    def mine(reverse: bool) -> type[Fixed]:
        class Mine(Fixed):
            def __init__(self, setting: Setting) -> None:
                super().__init__(setting, order=sorted(setting.operators, reverse=reverse))

        return Mine

    counts = []
    for reverse in (True, True, False):
        compare(policies={"fixed": "fixed", "mine": mine(reverse)}, resume=journal, repeats=1)
        counts.append(len(journal.read_text("utf-8").splitlines()))
    assert counts == [3, 3, 4]


def test_a_line_that_was_cut_off_is_run_again(journal: Path, lines_of_runs: str) -> None:
    journal.write_text(lines_of_runs[:-20], "utf-8")
    assert resumed(journal)[0] == 1
    assert resumed(journal)[0] == 0


def test_a_file_of_something_else_is_an_error(journal: Path) -> None:
    journal.write_text("name = 3\n", "utf-8")
    with pytest.raises(QueryError, match="line 1: expected a run as a comparison writes it"):
        resumed(journal)
    with pytest.raises(QueryError, match="there is no such folder"):
        resumed(journal.parent / "nowhere" / "runs.jsonl")


# --- mistakes


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"query": "q"}, "compare: expected a Query"),
        ({"data": {}}, 'compare: expected data for "s", got only'),
        ({"data": {"s": iter([])}}, 'data "s": expected a pyarrow Table or RecordBatch'),
        ({"policies": []}, "expected one policy or more, got none"),
        ({"policies": "fixed"}, "expected policies as a list"),
        ({"policies": ["fixed", "fixed"]}, "two policies are called the same"),
        ({"policies": ["fixed", "randm"]}, 'unknown policy "randm"; did you mean "random"?'),
        ({"baseline": "source"}, 'compare: baseline: unknown policy "source"'),
        ({"repeats": 0}, "compare: repeats: expected a whole number of 1 or more, got 0"),
        ({"seeds": []}, "compare: seeds: expected one or more, got none"),
        ({"batch_rows": [10, "x"]}, "compare: batch_rows: expected a whole number of 1 or more, got 'x'"),
        ({"runner": "flink"}, 'unknown runner "flink"'),
        ({"cells": 2}, 'expected them with runner="spark" only'),
    ],
)
def test_a_mistake_is_one_clear_error(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryError) as raised:
        compare(**changes)
    assert says in str(raised.value)


def test_an_unknown_plot_is_named() -> None:
    with pytest.raises(QueryError, match=r'unknown plot "tim"; did you mean "time"\?'):
        comparison(repeats=1).plot("tim")


def test_a_frame_with_nothing_in_it() -> None:
    assert compare(data={"s": pd.DataFrame({"ts": pa.array([], pa.int64()), "v": pa.array([], pa.int64())})}).rows
