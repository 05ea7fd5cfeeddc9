"""The benchmarks beside other tools run, on little data, and all contenders find the same."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import joins, peer_engines, peer_filters, peer_joins, peers, polars_filters
from benchmarks.__main__ import tell, write
from benchmarks.engines import run_flink
from benchmarks.growth import Case, Growth, growth
from benchmarks.measure import Ratio

FILTERS = {
    "cheap": lambda: peer_filters.cheap(3, 200, counted=2),
    "costly": lambda: peer_filters.costly(3, 200, cost_us=0, counted=2),
}
JOINS = {count: lambda count=count: peer_joins.case(50, 120, count, counted=4) for count in (2, 3, 5)}


@pytest.mark.parametrize("made", FILTERS.values(), ids=FILTERS)
def test_all_filters_pass_the_same_rows(made: Any) -> None:
    case, found = made(), 0
    assert "polars" in case.contenders
    for batch in case.batches:
        answers = {name: contender(batch) for name, contender in case.contenders.items()}
        case.agree(answers)
        found += len(answers[peer_filters.OURS])
    assert 0 < found < sum(batch.num_rows for batch in case.batches)


@pytest.mark.parametrize("made", JOINS.values(), ids=JOINS)
def test_all_joins_find_the_same_results(made: Any) -> None:
    case, found = made(), 0
    assert peer_joins.POLARS in case.contenders
    for batch in case.batches:
        answers = {name: contender(batch) for name, contender in case.contenders.items()}
        case.agree(answers)
        found += len(joins.rows_of(answers[peer_joins.OURS]))
    assert found > 0


def test_filters_that_pass_other_rows_are_found() -> None:
    one = np.array([1, 2])
    peer_filters.agree({peer_filters.OURS: one, "other": one[::-1]})
    with pytest.raises(AssertionError, match="do not agree: \\['other'\\]"):
        peer_filters.agree({peer_filters.OURS: one, "other": np.array([1, 3])})


@pytest.mark.parametrize("other", [[[1, 2]], [[1, 2], [3, 5]], []])
def test_engines_that_find_something_else_are_found(other: list[list[int]]) -> None:
    one = np.array([[1, 2], [3, 4]])
    peer_engines.agree({"one": one, "other": one.copy()})
    with pytest.raises(AssertionError, match="do not agree"):
        peer_engines.agree({"one": one, "other": np.array(other).reshape(-1, 2)})


def test_engines_that_find_nothing_are_no_proof() -> None:
    with pytest.raises(AssertionError, match=r"rows: \{'one': 0, 'other': 0\}"):
        peer_engines.agree(dict.fromkeys(("one", "other"), np.zeros((0, 3), np.int64)))


def test_polars_hands_a_function_what_the_one_before_has_passed() -> None:
    seen: list[int] = []

    def judge(keys: Any) -> Any:
        seen.append(len(keys))
        return np.arange(len(keys)) % 2 == 0

    case = peer_filters.costly(2, 200, cost_us=0, counted=1)
    columns = [name for name in case.batches[0].schema.names if name.startswith("fkd")]
    polars_filters.functions([(column, judge) for column in columns])(case.batches[0])
    assert seen == [200, 100]


def test_growth_is_told_and_drawn(tmp_path: Path) -> None:
    def case(size: int) -> Case:
        return peer_joins.case(size, 120, 2, counted=3)

    *lines, found = growth("rows", (40, 60), case, rows=int, folder=tmp_path, file="rows.svg")
    assert isinstance(found, Growth)
    assert [line.partition(";")[0] for line in lines if isinstance(line, str)] == ["rows: 40", "rows: 60"]
    names = [line.name for line in lines if isinstance(line, Ratio)]
    assert names == 2 * [*found.curves()]
    assert found.points[40][0].median == 1.0
    assert (tmp_path / "rows.svg").read_text().count("<svg") == 1


def test_a_curve_is_the_baseline_times_the_ratios() -> None:
    base = Ratio(name="a", median=1.0, low=1.0, high=1.0, seconds=9, each=0.002)
    other = replace(base, name="b", median=3.0, low=2.0, high=4.0)
    assert Growth(grows="rows", points={1: [base, other]}).curves()["b"] == [(4.0, 6.0, 8.0)]


@pytest.mark.parametrize(
    "benchmark",
    [*peer_filters.BENCHMARKS, *peer_joins.BENCHMARKS],
)
def test_every_growth_has_a_figure_of_its_own(benchmark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((peer_filters, "CHEAP_ROWS"), (peer_joins, "ROWS"), (peer_joins, "WINDOW")):
        monkeypatch.setattr(module, name, 40)
    rows = {"rows": 40} if benchmark is peer_filters.costly_operators else {}
    *_, found = benchmark(sizes=(2,), folder=tmp_path, **rows)
    assert [*found.points] == [2]
    assert len(list(tmp_path.iterdir())) == 1


def test_what_was_printed_is_written_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ratio = Ratio(name="ours", median=1.5, low=1.25, high=1.75, seconds=3.0, each=0.1, goal=("at most", 2.0))

    def small() -> Any:
        yield "a title"
        yield ratio
        yield Growth(grows="rows", points={5: [ratio]})

    write(tmp_path / "out.json", [tell("filters", small)])
    found = json.loads((tmp_path / "out.json").read_text())
    assert capsys.readouterr().out.startswith("\na title\nours ")
    assert found["of"]["numpy"] == np.__version__
    assert found["skipped"] == peers.absent()
    assert found["found"][0]["seconds"] >= 0
    said = found["found"][0]["said"]
    assert said[0] == "a title"
    assert (said[1]["kind"], said[1]["median"], said[1]["goal"]) == ("ratio", 1.5, ["at most", 2.0])
    assert said[2]["points"]["5"][0]["each"] == 0.1


def test_a_tool_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDDY_FLINK_PYTHON", str(tmp_path / "python"))
    monkeypatch.setenv("EDDY_PATHWAY_PYTHON", sys.executable)
    skipped = peers.absent()
    assert skipped["flink"].startswith("flink has no environment: make peers")
    assert ("pathway" in skipped) == (find_spec("pathway") is None)
    assert peer_engines.FLINK not in peer_engines.contenders()


@pytest.mark.process
def test_ours_answers_the_task_of_the_engines(tmp_path: Path) -> None:
    lines = list(peer_engines.join((400, 600), repeats=1, window=50, only=(peer_engines.OURS,)))
    assert [line.name for line in lines if isinstance(line, Ratio)] == 3 * [peer_engines.OURS]
    seconds, rows = peer_engines.Task(tmp_path / "task", 400, 50).run(peer_engines.OURS, 0)
    assert seconds > 0
    assert rows.shape[1] == len(peer_engines.STREAMS)
    assert (np.ptp(rows, axis=1) <= 50).all()


@pytest.mark.process
def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    task = peer_engines.Task(tmp_path / "task", 400, 50)
    for file in tmp_path.glob("task/a.csv"):
        file.unlink()
    with pytest.raises(RuntimeError, match=r"\"eddy, content\" failed: (?s:.*)a\.csv"):
        task.run(peer_engines.OURS, 0)


@pytest.mark.long
@pytest.mark.parametrize("name", peer_engines.ENGINES)
def test_an_engine_finds_what_we_find(name: str) -> None:
    reason = peers.without_engine(peer_engines.ENGINES[name])
    if reason:
        pytest.skip(reason)
    assert list(peer_engines.join((400,), repeats=1, window=50, only=(peer_engines.OURS, name)))


def test_an_answer_may_be_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a,b,c\n3,4,5\n1,2,3\n")
    (tmp_path / "many").mkdir()
    for name, text in (("part-1", "3,4,5\n"), ("part-2", "1,2,3\n"), ("part-3", "")):
        (tmp_path / "many" / name).write_text(text)
    one, many = (peer_engines.rows_of(tmp_path / place).tolist() for place in ("one.csv", "many"))
    assert one == many == [[1, 2, 3], [3, 4, 5]]


@pytest.mark.parametrize(("streams", "pairs"), [(["a", "b"], 1), (["a", "b", "c", "d"], 6)])
def test_every_two_streams_are_within_the_window(streams: Sequence[str], pairs: int) -> None:
    text = run_flink.query(list(streams), 70_500)
    assert text.count("between") == pairs
    assert text.count("interval '1:10.500' minute to second(3)") == 2 * (len(streams) - 1)
