"""The example with Delta, word for word as the page has it; skipped where no Delta fits this Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

from tests.eddy.spark import servers
from tests.house import ROOT
from tests.jobs.kafka.jars import Missing, delta

VERSIONS = {"4.1": "4.3.1"}
"""Versions of Delta that fit and can be had, by Spark's."""

SPARK = ".".join(pyspark.__version__.split(".")[:2])
PAGE = (ROOT / "docs" / "connectors.md").read_text("utf-8").partition("## Delta, with a merge")[2]
(MERGE,), (JOB,) = (re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL) for kind in ("python", "toml"))

COPY = """
[query]
name = "copy"
select = ["s.sensor", "s.at", "s.v"]
[streams.s.source]
format = "spark"
mode = "batch"
name = "{read}"
path = "{source}"
[filters.any]
on = "s"
where = "v is not null"
[sink]
format = "spark"
name = "{write}"
path = "{sink}"
existing = "append"
"""

ROWS = [[(1, 10, 5.0), (2, 10, 6.0)], [(1, 12, 7.0), (1, 11, 9.0), (2, 13, 900.0)], [(3, 1, 1.5), (2, 9, 8.0)]]
EXPECTED = [(1, 12, 7.0), (2, 10, 6.0), (3, 1, 1.5)]


@pytest.fixture(scope="module")
def jars() -> Sequence[Path]:
    if SPARK not in VERSIONS:
        pytest.skip(f"no Delta for Spark {pyspark.__version__}: there is one for {', '.join(VERSIONS)}")
    try:
        return delta(SPARK, VERSIONS[SPARK])
    except Missing as error:
        pytest.skip(f"no Delta to test with: {error}")


def run(place: Path, name: str, text: str, jars: Sequence[Path]) -> None:
    (place / name).write_text(text)
    command = [
        sys.executable,
        "-m",
        "eddy.jobs.cli",
        "run",
        str(place / name),
        "--",
        "--jars",
        ",".join(map(str, jars)),
    ]
    done = subprocess.run(
        command, env=servers.environment(ROOT), capture_output=True, text=True, timeout=servers.JOB, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.spark
@pytest.mark.timeout(600)
def test_results_are_merged_into_a_table(jars: Sequence[Path], tmp_path: Path) -> None:
    """Rows are of three files, read one by one; the table has the newest of each sensor that a filter lets pass."""
    settings = JOB[JOB.index("[spark]") :]
    for number, rows in enumerate(ROWS):
        columns = zip(*rows, strict=True)
        table = pa.table(dict(zip(("sensor", "at", "v"), map(list, columns), strict=True)))
        (tmp_path / f"in{number}").mkdir()
        pq.write_table(table, tmp_path / f"in{number}" / "rows.parquet")
        copy = COPY.format(read="parquet", source=f"in{number}", write="delta", sink="readings")
        run(tmp_path, "copy.toml", copy + settings, jars)
    (tmp_path / "merge.py").write_text(MERGE)
    run(tmp_path, "job.toml", JOB, jars)
    run(tmp_path, "out.toml", COPY.format(read="delta", source="latest", write="parquet", sink="out") + settings, jars)
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert sorted((row["sensor"], row["at"], row["v"]) for row in found) == EXPECTED
