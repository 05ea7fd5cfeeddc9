"""A job on a standalone cluster whose machines have nothing of ours: the zip, --py-files, an installed package."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eddy.jobs import dist
from eddy.jobs.commands.run import spark_submit
from eddy.jobs.workloads.web import bad_token, requests
from tests.eddy.spark import servers
from tests.house import ROOT

ROWS = 2_000

JOB = """
[streams.web]
time = "at"
source = {{ format = "workload", kind = "web", parameters = {{ rows = {rows} }} }}
[filters]
zipped = {{ on = "web", function = "eddy.jobs.workloads.web:bad_token", columns = ["body"], rowwise = true }}
handed = {{ on = "web", function = "handed_over:small", columns = ["size"], setup = "handed_over:load" }}
installed = {{ on = "web", function = "installed_there.signs:signed" }}
[engine]
cells = 2
[trigger]
available_now = true
[checkpoint]
location = "{place}/checkpoint"
[sink]
format = "parquet"
path = "{place}/out"
"""

HANDED = """
import pandas as pd

LIMIT = []

def load():
    import os
    import eddy
    from pyspark import SparkFiles
    root = os.path.abspath(SparkFiles.getRootDirectory())  # an executor calls it "."
    for file in (eddy.__file__, __file__):
        assert os.path.abspath(file).startswith(root + os.sep), (file, root)
    LIMIT.append(5_000)

def small(size: pd.Series) -> pd.Series:
    (most,) = LIMIT
    return size < most
"""

INSTALLED = """
import pandas as pd

def signed(signed: pd.Series) -> pd.Series:
    return signed
"""

LOCAL = ("spark.driver.bindAddress=127.0.0.1", "spark.driver.host=127.0.0.1", "spark.ui.enabled=false")
SMALL = ("spark.driver.memory=512m", "spark.executor.memory=512m")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder on the path of every machine, with a package in it, as if it were installed there."""
    place = tmp_path_factory.mktemp("packages")
    (place / "installed_there").mkdir()
    (place / "installed_there" / "__init__.py").write_text("")
    (place / "installed_there" / "signs.py").write_text(INSTALLED)
    return place


@pytest.fixture(scope="module")
def cluster(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place, prefix = tmp_path_factory.mktemp("cluster"), "org.apache.spark.deploy"
    listens = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with ExitStack() as up:
        says = r"Starting Spark master at (spark://\S+)"
        started = ("spark-class", f"{prefix}.master.Master", *listens)
        url = up.enter_context(servers.server(place / "master.log", says, *started, first=packages))
        says = r"Successfully registered with master (\S+)"
        started = ("spark-class", f"{prefix}.worker.Worker", *listens)
        room = ("--cores", "2", "--memory", "1g", "--work-dir", str(place), url)
        up.enter_context(servers.server(place / "worker.log", says, *started, *room, first=packages))
        yield url


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_module_is_found_on_the_workers(cluster: str, packages: Path, tmp_path: Path) -> None:
    """The job is started from a folder that is no checkout, by a copy of the script that has nothing around it."""
    dist.pack(tmp_path / "eddy.zip")
    shutil.copy(ROOT / "jobs" / "run_stream.py", tmp_path)
    (tmp_path / "handed_over.py").write_text(HANDED)
    (tmp_path / "job.toml").write_text(JOB.format(rows=ROWS, place=tmp_path))
    settings = [word for setting in (*LOCAL, *SMALL) for word in ("--conf", setting)]
    files = f"{tmp_path}/eddy.zip,{tmp_path}/handed_over.py"
    (tmp_path / "elsewhere").mkdir()
    done = subprocess.run(
        [
            spark_submit(),
            "--master",
            cluster,
            *settings,
            "--py-files",
            files,
            f"{tmp_path}/run_stream.py",
            "../job.toml",
        ],
        cwd=tmp_path / "elsewhere",
        env=servers.environment(packages),
        capture_output=True,
        text=True,
        timeout=servers.JOB,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    data = requests(ROWS).to_pylist()
    expected = [row["body"] for row in data if row["signed"] and row["size"] < 5_000 and bad_token(row["body"])]
    assert sorted(pq.read_table(tmp_path / "out")["web_body"].to_pylist()) == sorted(expected)
