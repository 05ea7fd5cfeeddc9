"""kill -9 of the driver, five times in one query's life: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.eddy.spark import feeds
from tests.eddy.spark.killed import POINTS
from tests.eddy.spark.test_attach import local, query, rows
from tests.eddy.test_same_answer import rows_of
from tests.house import ROOT

BATCHES = 2 * len(POINTS)


def start(place: Path, point: str) -> int:
    """Run the job until it ends, one way or the other."""
    command = [sys.executable, "-m", "tests.eddy.spark.killed", str(place), point]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (place / f"{point}.log").open("w") as log:
        return subprocess.run(
            command, cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True, check=False
        ).returncode


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_driver_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    data = {name: rows(seed, batches=BATCHES) for seed, name in enumerate("ab")}
    for name, tables in data.items():
        feeds.write(tmp_path / "in" / name, tables)
    (tmp_path / "out").mkdir()
    ends = {point: start(tmp_path, point) for point in POINTS}
    assert ends == {point: 0 if point == "never" else -signal.SIGKILL for point in POINTS}
    found = [pq.read_table(file) for file in sorted((tmp_path / "out").glob("*.parquet"))]
    assert len(found) == BATCHES
    assert rows_of(pa.concat_tables(found)) == local(query(), data)
