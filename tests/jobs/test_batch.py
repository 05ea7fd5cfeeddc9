"""Jobs over rows that are all there, and what is put aside: each row in its sink, and mistakes told."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy
from eddy.errors import QueryError
from eddy.jobs.commands.explain import text
from eddy.jobs.config.config import Job, load
from eddy.jobs.run import run_job
from eddy.jobs.run.checking import check, find_state
from eddy.jobs.run.one_pass import STOPPED, count_tasks, run_once
from eddy.jobs.run.progress_line import Teller, write_bar
from eddy.jobs.run.stopping import Stop
from eddy.jobs.workloads.web import bad_token, requests
from tests.house import ROOT
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 600

TAKEN: list[tuple[int, int]] = []

JOB = """
[query]
name = "once"
select = ["s.k"]
[streams.s.source]
{source}
[filters.few]
on = "s"
where = "k % 4 <> 3"
[filters.divides]
on = "s"
function = "tests.jobs.test_batch:divides"
rowwise = true
on_error = "reject"
cache = "50 values"
cost = 3
{rest}
"""

FILES = 'format = "parquet"\nmode = "batch"\npath = "in"'
NOOP = '[sink]\nformat = "noop"\n'


def divides(k: int) -> bool:
    return 100 // (k % 5) > 30


EXPECTED = [k for k in range(ROWS) if k % 4 != 3 and 0 < k % 5 < 4]
ASIDE = [k for k in range(ROWS) if k % 4 != 3 and k % 5 == 0]


def take(frame: DataFrame, number: int) -> None:
    """A sink by import path."""
    TAKEN.append((number, frame.count()))


def job(place: Path, rest: str, source: str = FILES) -> Job:
    (place / "job.toml").write_text(JOB.format(source=source, rest=rest))
    if not (place / "in").exists():
        (place / "in").mkdir()
        for part in range(3):
            numbers = pa.table({"k": range(part * ROWS // 3, (part + 1) * ROWS // 3)})
            pq.write_table(numbers, place / "in" / f"{part}.parquet")
    return load(place / "job.toml")


def run(spark: SparkSession, asked: Job, stop: Stop | None = None, *, live: bool = False) -> str:
    out = io.StringIO()
    teller = Teller(quiet=False, live=live, out=out)
    run_once(asked, run_job.answer(asked, spark), stop or Stop(), teller)
    return out.getvalue()


def read(place: Path) -> list[int]:
    numbers: list[int] = pq.read_table(place)["k"].to_pylist()
    return sorted(numbers)


@WITHOUT_STATE
def test_files_are_filtered_in_one_pass(spark: SparkSession, tmp_path: Path) -> None:
    """Rows are in one sink or the other, once."""
    sinks = '[sink]\nformat = "parquet"\npath = "out"\n[rejected]\nformat = "parquet"\npath = "aside"\n'
    asked = job(tmp_path, sinks)
    assert check(asked).warnings == ()
    told = run(spark, asked)
    assert told.endswith(f"finished: 450 rows came to the eddy, {len(EXPECTED)} passed\n")
    assert read(tmp_path / "out") == EXPECTED
    assert read(tmp_path / "aside") == ASIDE
    assert pq.read_table(tmp_path / "aside").column_names == ["k", "rejected_by", "rejected_because"]
    # What is there already may be of an earlier pass: nothing is added to it.
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        run(spark, asked)
    assert read(tmp_path / "out") == EXPECTED


@WITHOUT_STATE
def test_both_sinks_are_served_by_one_pass(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function is asked about a row once, though the row may go to either sink, and nothing stays in memory."""
    folder = tmp_path / "asked"
    folder.mkdir()
    sinks = '[sink]\nformat = "parquet"\npath = "out"\n[rejected]\nformat = "parquet"\npath = "aside"\n'
    asked = job(tmp_path, sinks)
    counted = eddy.Filter("divides", on="s", function=_make_counting(str(folder)), rowwise=True, on_error="reject")
    asked = replace(asked, asked=replace(asked.query, filters=[asked.query.filters[0], counted]))
    run(spark, asked)
    assert read(tmp_path / "out") == EXPECTED
    assert read(tmp_path / "aside") == ASIDE
    once = [k for k in range(ROWS) if k % 4 != 3]
    assert _list_asked(folder) == once
    assert not spark.sparkContext._jsc.getPersistentRDDs()

    # A frame by itself asks each row once more, and not twice.
    assert eddy.rejected(run_job.answer(asked, spark)).count() == len(ASIDE)
    assert _list_asked(folder) == sorted([*once, *once])


def _list_asked(folder: Path) -> list[int]:
    return sorted(int(file.name.partition("-")[0]) for file in folder.iterdir())


def _make_counting(folder: str) -> Callable[[int], bool]:
    def counting(k: int) -> bool:
        (Path(folder) / f"{k}-{uuid4()}").touch()
        return divides(k)

    return counting


def test_rows_that_nobody_gets_are_told_of(tmp_path: Path) -> None:
    (told,) = check(job(tmp_path, NOOP)).warnings
    assert told.startswith('"divides": on_error = "reject" without [rejected]: rows without an answer are dropped')
    assert check(job(tmp_path, f'{NOOP}[rejected]\nformat = "noop"\n')).warnings == ()


def test_only_tasks_of_the_pass_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    """Others have stages of their own in the session; all of them wait here until they have been counted."""
    counted = tmp_path / "counted"

    def wait(_: int) -> None:
        while not counted.exists():
            time.sleep(0.01)

    def run_tasks(name: str, parts: int) -> None:
        spark.sparkContext.setJobGroup(name, name)
        spark.sparkContext.parallelize(range(parts), parts).foreach(wait)

    threads = [threading.Thread(target=run_tasks, args=one, daemon=True) for one in (("one", 3), ("other", 5))]
    for thread in threads:
        thread.start()
    try:
        told: list[tuple[int, int]] = []
        while told != [(0, 3), (0, 5)] and all(thread.is_alive() for thread in threads):
            told = [count_tasks(spark, name) for name in ("one", "other")]
            time.sleep(0.01)
        assert told == [(0, 3), (0, 5)]
        assert count_tasks(spark, "nobody") == (0, 0)
    finally:
        counted.touch()
        for thread in threads:
            thread.join()


@WITHOUT_STATE
def test_every_sink_takes_a_batch(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    memory = '[sink]\nformat = "memory"\n[rejected]\nformat = "memory"\n'
    run(spark, job(tmp_path, memory))
    assert sorted(row["k"] for row in spark.table("once").collect()) == EXPECTED
    assert sorted(row["k"] for row in spark.table("once_rejected").collect()) == ASIDE
    TAKEN.clear()
    run(spark, job(tmp_path, '[sink]\nformat = "foreach_batch"\nfunction = "tests.jobs.test_batch:take"\n'))
    assert [(0, len(EXPECTED))] == TAKEN
    assert "finished: 450 rows" in run(spark, job(tmp_path, '[sink]\nformat = "console"\nrows = 2\n'))
    shown = capfd.readouterr().out
    assert "only showing top 2 rows" in shown
    assert "finished: 450 rows" in run(spark, job(tmp_path, NOOP))


@WITHOUT_STATE
def test_a_stream_puts_aside_beside_its_answer(spark: SparkSession, tmp_path: Path) -> None:
    """Each has a checkpoint of its own, and so has each row exactly once, also over a restart."""
    source = FILES.replace('mode = "batch"', "files_per_trigger = 1")
    sinks = '[sink]\nformat = "parquet"\npath = "out"\n[rejected]\nformat = "parquet"\npath = "aside"\n'
    asked = job(tmp_path, f'{sinks}[trigger]\navailable_now = true\n[checkpoint]\nlocation = "mark"\n', source)
    assert find_state(asked) == "none"
    for more in (0, 5):
        if more:
            pq.write_table(pa.table({"k": range(ROWS, ROWS + more)}), tmp_path / "in" / "more.parquet")
        out = io.StringIO()
        run_job.run_stream(asked, spark, Stop(), Teller(quiet=False, live=False, out=out))
        assert "finished after micro-batch" in out.getvalue()
    assert read(tmp_path / "out") == [*EXPECTED, ROWS + 1, ROWS + 2]
    assert read(tmp_path / "aside") == [*ASIDE, ROWS]
    assert (tmp_path / "mark" / "rejected" / "commits").is_dir()


@pytest.mark.parametrize("more", ["cells = 2", 'cache_state = "keep"'])
def test_a_job_without_state_has_no_cells_and_saves_no_caches(tmp_path: Path, more: str) -> None:
    asked = job(tmp_path, f'{NOOP}[engine]\nstate = "none"\n{more}\n', FILES.replace('mode = "batch"\n', ""))
    with pytest.raises(QueryError, match=r'engine: ".*": expected nothing with state="none"'):
        find_state(asked)


@WITHOUT_STATE
def test_a_failure_of_either_query_ends_both(spark: SparkSession, tmp_path: Path) -> None:
    """The rows that are put aside have nowhere to go."""
    source = FILES.replace('mode = "batch"\n', "")
    rest = f'{NOOP}[rejected]\nformat = "foreach_batch"\nfunction = "tests.jobs.test_batch:fails"\n'
    asked = job(tmp_path, f'{rest}[checkpoint]\nlocation = "mark"\n[engine]\nstate = "none"\n', source)
    with pytest.raises(Exception, match="nowhere to go"):
        run_job.run_stream(asked, spark, Stop(), Teller(quiet=True, live=False))
    assert not spark.streams.active


def fails(frame: DataFrame, number: int) -> None:
    raise OSError("nowhere to go")


@WITHOUT_STATE
def test_a_pass_can_be_stopped(spark: SparkSession, tmp_path: Path) -> None:
    stop = Stop()
    stop.ask()
    asked = job(tmp_path, '[sink]\nformat = "parquet"\npath = "out"\n')
    told = run(spark, asked, stop)
    assert told.endswith(f"{STOPPED}\n")


@WITHOUT_STATE
def test_the_example_prints_what_it_says(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    """conf/batch_filters.toml, with what plain Python makes of the same rows."""
    asked = load(ROOT / "conf" / "batch_filters.toml")
    told = run(spark, asked)
    passed, aside = _filter_requests(20_000)
    assert told.splitlines()[-1].endswith(f"rows came to the eddy, {len(passed)} passed")
    shown = capfd.readouterr().out
    for size in (passed[0]["size"], passed[1]["size"], aside[0]["size"]):
        assert f"|{size}|" in shown.replace(" ", "")
    assert "odd_size" in shown


def _filter_requests(rows: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The requests that pass, and those that are put aside, in their order."""
    signed = [row for row in requests(rows).to_pylist() if row["signed"] and row["size"] > 100]
    left = [row for row in signed if row["agent"].startswith("curl") and bad_token(row["body"])]
    passed = [row for row in left if row["size"] % 100 and int(12.5 / (row["size"] % 100)) % 2 == 1]
    return passed, [row for row in left if not row["size"] % 100]


def test_a_log_tells_of_tasks_and_a_terminal_has_a_bar() -> None:
    told: list[str] = []
    for live in (False, True):
        out = io.StringIO()
        teller = Teller(quiet=False, live=live, out=out)
        for done in (0, 1, 1, 5, 40):
            teller.show_tasks(done, 40)
        teller.show_tasks(0, 0)
        told.append(out.getvalue())
    assert told[0] == "tasks=0/40\ntasks=5/40\ntasks=40/40\n"
    assert told[1].startswith(f"\r{write_bar(0, 40)}\r{write_bar(1, 40)}\r")


WRONG = {
    "every": ('[trigger]\nevery = "1 second"\n', 'trigger.every: a source with mode = "batch" is read in one pass'),
    "checkpoint": ('[checkpoint]\nlocation = "mark"\n', "checkpoint.location: a source with mode"),
    "cells": ("[engine]\ncells = 2\n", "engine.cells: a source with mode"),
    "state": ('[engine]\nstate = "store"\n', 'engine.state: engine: expected no state, since mode = "batch" is for'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_one_pass_has_no_use_for_is_a_mistake(name: str, tmp_path: Path) -> None:
    rest, said = WRONG[name]
    with pytest.raises(QueryError) as error:
        check(job(tmp_path, rest + NOOP))
    assert said in str(error.value)
    assert str(error.value).count("\n") == 1


def test_two_streams_are_no_batch(tmp_path: Path) -> None:
    job(tmp_path, NOOP)
    text = JOB.format(source=FILES, rest=f'{NOOP}[streams.t]\ntime = "timestamp"\nsource = {{ format = "rate" }}\n')
    text = text.replace('select = ["s.k"]', 'select = ["s.k"]\njoins = ["s.k = t.value"]')
    text = text.replace("[streams.s.source]", '[streams.s]\ntime = "k"\n[streams.s.source]')
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(QueryError, match='expected "store", since rows are kept to be joined; got "none"'):
        check(load(tmp_path / "job.toml"))


def test_nothing_to_put_aside_is_a_mistake(tmp_path: Path) -> None:
    text = JOB.format(source=FILES, rest=f'{NOOP}[rejected]\nformat = "noop"\n').replace('"reject"', '"drop"')
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(QueryError, match='rejected: expected a filter with on_error = "reject", got none'):
        load(tmp_path / "job.toml")


def test_a_sink_that_lasts_needs_a_checkpoint_unless_it_is_one_pass(tmp_path: Path) -> None:
    rest = f'{NOOP}[rejected]\nformat = "parquet"\npath = "aside"\n'
    job(tmp_path, rest)
    with pytest.raises(QueryError, match=r"checkpoint\.location: expected a folder"):
        job(tmp_path, rest, FILES.replace('mode = "batch"\n', ""))


def test_explain_knows_that_nothing_is_kept(tmp_path: Path) -> None:
    told = text(check(job(tmp_path, f'{NOOP}[rejected]\nformat = "noop"\n')))
    assert "one pass over the rows that are there, and no checkpoint" in told
    assert "rows that filters have no answer for, to noop" in told
    assert "divides on s, cost 3: a Python function; by the eddy" in told


@pytest.fixture(autouse=True)
def no_table(request: pytest.FixtureRequest) -> Iterator[None]:
    """Names of tables are the session's."""
    yield
    if "spark" in request.fixturenames:
        session = request.getfixturevalue("spark")
        for name in ("once", "once_rejected"):
            session.catalog.dropTempView(name)
