"""eddy repartition: the state moves to other partitions of Spark, and the answer goes on as if nothing had happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import eddy
from eddy.jobs import cli
from eddy.jobs.run import repartitioning
from tests.eddy.spark import feeds
from tests.eddy.spark.test_attach import query
from tests.eddy.spark.test_restart import add, attached
from tests.house import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_manager = pytest.mark.skipif(repartitioning.is_missing(), reason="this Spark divides no state anew; it needs 4.2")


@pytest.mark.long
@pytest.mark.process
@needs_manager
def test_the_answer_goes_on_with_more_partitions_and_fewer(tmp_path: Path) -> None:
    """In a process of its own: the store that Spark divides wants another file system than the session of the tests."""
    command = [sys.executable, "-m", "tests.jobs.repartitioned", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "2 partitions, now 3 (micro-batch 1). 3 cells as before" in done.stdout
    assert "3 partitions, now 1 (micro-batch 3). 3 cells as before" in done.stdout
    assert "the same answer" in done.stdout
    assert "it has 1 partitions already" in done.stderr


@needs_manager
def test_what_spark_would_break_is_refused_before(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add(tmp_path, 0, 1)
    checkpoint = tmp_path / "checkpoint"
    feeds.answer(attached(spark, tmp_path, query(), cells=2), checkpoint)
    assert cli.main(["repartition", str(checkpoint), "7"]) == cli.FAILED
    assert 'its state is in "HDFSBackedStateStoreProvider"; Spark divides only that of' in capsys.readouterr().err
    assert cli.main(["repartition", str(tmp_path / "none"), "7"]) == cli.FAILED
    assert "expected a folder with the state of a query in it" in capsys.readouterr().err


def test_an_older_spark_says_what_it_needs(spark: SparkSession, tmp_path: Path) -> None:
    if not repartitioning.is_missing():
        pytest.skip("this Spark can do it")
    with pytest.raises(eddy.QueryError, match=r"Spark 4\.[01]\.\d+ cannot do it; expected 4\.2 or newer"):
        repartitioning.repartition(spark, str(tmp_path), 2, None)
