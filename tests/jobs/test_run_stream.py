"""A job as spark-submit runs it: it is stopped between micro-batches, and goes on as if it never had been."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eddy.jobs.commands.run import submission
from eddy.jobs.workloads.web import requests
from tests.house import ROOT

PATIENCE = 120
"""Seconds to wait for a line of a job: it is not what is tested, and a machine may be busy."""

ROWS = 6_000

JOB = """
[query]
name = "stopped"
select = ["web.size", "web.body"]
[streams.web]
time = "at"
delay = "10 seconds"
[streams.web.source]
format = "workload"
kind = "web"
parameters = {{ rows = {rows} }}
per_trigger = 500
[filters.scripted]
on = "web"
function = "my_filters:from_scripts"
columns = ["agent"]
[engine]
cells = 2
[trigger]
every = "1 second"
[checkpoint]
location = "{place}/checkpoint"
[sink]
format = "parquet"
path = "{place}/out"
"""

FILTERS = """
import pandas as pd

def from_scripts(agent: pd.Series) -> pd.Series:
    return agent.str.startswith("curl")
"""

SETTINGS = ("spark.ui.enabled=false", "spark.driver.bindAddress=127.0.0.1", "spark.eddy.policy.name=fixed")


def started(place: Path, *sets: str) -> subprocess.Popen[str]:
    """spark-submit, in a folder that has the user's module and nothing of ours."""
    given = [word for setting in SETTINGS for word in ("--conf", setting)]
    command = submission(str(place / "job.toml"), sets, ["--master", "local[2]", *given], quiet=False)
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    return subprocess.Popen(
        command, cwd=place, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def wait_for(job: subprocess.Popen[str], text: str) -> str:
    """What the job prints, up to a line that begins with a text."""
    assert job.stdout is not None
    told, end = "", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        line = job.stdout.readline()
        told += line
        if line.startswith(text) or not line:
            return told
    return told


def ended(job: subprocess.Popen[str], seconds: int) -> str:
    """What a job prints up to its end, which must be a good one."""
    try:
        told, _ = job.communicate(timeout=seconds)
    finally:
        job.kill()
    assert job.returncode == 0, told
    return told


@pytest.mark.long
@pytest.mark.timeout(5 * PATIENCE)
def test_a_stopped_job_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.format(rows=ROWS, place=tmp_path))
    (tmp_path / "my_filters.py").write_text(FILTERS)
    first = started(tmp_path)
    told = wait_for(first, "batch=1")
    first.send_signal(signal.SIGTERM)
    told += ended(first, PATIENCE)
    assert "batch=1 rows=500" in told, told
    assert "stopped after micro-batch" in told
    assert "the same command goes on from the checkpoint" in told
    assert "Traceback" not in told
    some = pq.read_table(tmp_path / "out").num_rows
    ended(started(tmp_path, "trigger.every=", "trigger.available_now=true"), 2 * PATIENCE)
    agents, bodies = (requests(ROWS)[name].to_pylist() for name in ("agent", "body"))
    expected = [body for agent, body in zip(agents, bodies, strict=True) if agent.startswith("curl")]
    found = pq.read_table(tmp_path / "out")["body"].to_pylist()
    assert 0 < some < len(found)
    assert sorted(found) == sorted(expected)
    inspected = [sys.executable, "-m", "eddy.jobs.cli", "inspect", str(tmp_path / "checkpoint")]
    told = subprocess.check_output(inspected, cwd=ROOT, text=True)
    assert "cells: 2, of which 2 have had rows" in told
    assert 'policy of cells 0, 1: {"name": "fixed"}' in told
    assert "all alike 100% scripted 100%" in " ".join(told.split())


@pytest.mark.long
@pytest.mark.timeout(5 * PATIENCE)
def test_ctrl_c_ends_a_job_between_micro_batches(tmp_path: Path) -> None:
    """As a terminal does it: every process of the job gets the signal, the JVM and the workers too."""
    (tmp_path / "job.toml").write_text(JOB.format(rows=ROWS, place=tmp_path))
    (tmp_path / "my_filters.py").write_text(FILTERS)
    job = started(tmp_path)
    told = wait_for(job, "batch=1")
    os.killpg(job.pid, signal.SIGINT)
    told += ended(job, PATIENCE)
    assert "stopped after micro-batch" in told
    assert "the same command goes on from the checkpoint" in told
    assert "Traceback" not in told
    done = max(int(file.name) for file in (tmp_path / "checkpoint" / "commits").glob("[0-9]*"))
    assert f"stopped after micro-batch {done};" in told


@pytest.mark.process
@pytest.mark.timeout(3 * PATIENCE)
def test_ctrl_c_is_quiet_before_there_is_anything_to_finish(tmp_path: Path) -> None:
    """What the file says is told before Spark is started, which takes seconds."""
    (tmp_path / "job.toml").write_text(JOB.format(rows=ROWS, place=tmp_path))
    (tmp_path / "my_filters.py").write_text(FILTERS)
    job = started(tmp_path)
    told = wait_for(job, "config sink.path")
    os.killpg(job.pid, signal.SIGINT)
    try:
        told += job.communicate(timeout=PATIENCE)[0]
    finally:
        job.kill()
    assert "stopped before the first micro-batch" in told
    assert "Traceback" not in told
    assert job.returncode == 130
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.long
@pytest.mark.timeout(5 * PATIENCE)
def test_the_first_job_of_the_readme_does_what_it_says(tmp_path: Path) -> None:
    """Word for word, and its answer on the console; not a line of Spark's in between when asked to be quiet."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "job.toml").write_text(text, "utf-8")
    command = [sys.executable, "-m", "eddy.jobs.cli", "run", "job.toml"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert 'config policy.name="content" from="line 11"' in done.stdout
    assert [line.split()[0] for line in done.stdout.splitlines() if line.startswith("batch=")] == [
        f"batch={number}" for number in range(10)
    ]
    assert "finished after micro-batch 9" in done.stdout
    assert [f"Batch: {number}" in done.stdout for number in (0, 9)] == [True, True]
    (head,) = re.findall(r"^\|\s*at\|.*\|$", readme, re.MULTILINE)
    assert head in done.stdout


@pytest.mark.process
def test_a_mistake_in_the_file_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text("[streams.a]\ntime = 3\n")
    command = [sys.executable, str(ROOT / "jobs" / "run_stream.py"), "job.toml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith('error: config "job.toml": 2 mistakes')
    assert "Traceback" not in done.stderr
