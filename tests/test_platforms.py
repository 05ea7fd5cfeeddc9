"""The pages about platforms: what they show is parsed, what can run here runs, and what it names is there."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from eddy.jobs import cli
from tests.eddy.spark.test_attach import local, query
from tests.eddy.spark.test_restart import WHOLE, add, attached
from tests.eddy.test_same_answer import rows_of
from tests.house import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = sorted((ROOT / "docs" / "platforms").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)

OF_DOCKER = {"FROM", "USER", "RUN", "ENV", "COPY"}

OF_SUBMIT_OPERATOR = {
    "application",
    "application_args",
    "conf",
    "conn_id",
    "env_vars",
    "files",
    "py_files",
    "task_id",
    "retries",
}
"""Arguments of Airflow's operator, as its page has them, and of every task."""


def blocks(page: str, kind: str) -> list[str]:
    """The programs of a page in one language."""
    text = (ROOT / "docs" / "platforms" / f"{page}.md").read_text("utf-8")
    return [body for language, body in BLOCK.findall(text) if language == kind]


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_what_is_shown_can_be_parsed(page: str) -> None:
    found = BLOCK.findall((ROOT / "docs" / "platforms" / f"{page}.md").read_text("utf-8"))
    assert found
    for language, body in found:
        if language == "python":
            ast.parse(body)
        elif language == "json":
            assert json.loads(body)
        elif language == "yaml":
            assert all(yaml.safe_load_all(body))
        else:
            assert language in ("sh", "dockerfile")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "docs" / "when_not.md"], ids=lambda page: page.stem)
def test_commands_are_those_that_there_are(page: Path) -> None:
    text = page.read_text("utf-8")
    shown = [*re.findall(r"`([^`\n]+)`", BLOCK.sub("", text)), *(body for _, body in BLOCK.findall(text))]
    named = [name for part in shown for name in re.findall(r"(?:^|\"|&& )eddy ([a-z]+)", part, re.MULTILINE)]
    assert [name for name in named if name not in cli.COMMANDS] == []


def test_the_image_is_made_of_known_steps_and_files() -> None:
    (image,) = blocks("kubernetes", "dockerfile")
    steps = [line for line in image.replace("\\\n", " ").splitlines() if line]
    assert {step.split()[0] for step in steps} <= OF_DOCKER
    assert steps[0].startswith("FROM ")
    (manifest,) = (next(iter(yaml.safe_load_all(text))) for text in blocks("kubernetes", "yaml"))
    spec = manifest["spec"]
    program = spec["mainApplicationFile"].partition("site-packages/")[2]
    assert (ROOT / program).is_file()
    assert "eddy-spark cloudpickle" in image
    assert "pyspark" not in image.replace("PYSPARK", "")
    # The job of the image is the one that the manifest starts.
    assert spec["arguments"][0] == "/opt/job/job.toml"
    assert "job.toml my_filters.py /opt/job/" in image


def test_the_task_has_arguments_of_the_operator() -> None:
    (program,) = blocks("airflow", "python")
    calls = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Call)]
    (task,) = (call for call in calls if getattr(call.func, "id", "") == "SparkSubmitOperator")
    assert {str(keyword.arg) for keyword in task.keywords} <= OF_SUBMIT_OPERATOR
    assert "jobs/run_stream.py" in program


def test_the_job_of_emr_is_for_spark_submit() -> None:
    submit, glue = (json.loads(text) for text in blocks("emr_glue", "json"))
    parameters = submit["sparkSubmit"]["sparkSubmitParameters"].split()
    assert parameters[::2] == ["--archives", "--files", *["--conf"] * 3]
    assert "pyspark" not in glue["DefaultArguments"]["--additional-python-modules"]


def write_tables(place: Path) -> None:
    """Orders and clicks of three users, in folders."""
    at = pa.array([1_767_268_800_000_000 + minute * 60_000_000 for minute in range(5)], pa.timestamp("us", "UTC"))
    rows = pa.table({"at": at, "user": [1, 2, 3, 1, 2], "value": [5, 200, 300, 400, 500]})
    for name in ("orders", "clicks"):
        (place / name).mkdir(parents=True)
        pq.write_table(rows, place / name / "0.parquet")


EXPECTED = [(200, 200), (200, 500), (300, 300), (400, 5), (400, 400), (500, 200), (500, 500)]


def test_the_program_for_databricks_runs_with_tables(spark: SparkSession, tmp_path: Path) -> None:
    (program,) = blocks("databricks", "python")
    write_tables(tmp_path)
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path}/shop'")
    try:
        for name in ("orders", "clicks"):
            spark.read.parquet(str(tmp_path / name)).write.saveAsTable(f"shop.{name}")
        program = program.replace('"main.shop"', '"shop"').replace("/Volumes/main/shop/eddy", str(tmp_path))
        exec(compile(program, "databricks.md", "exec"), {"__name__": "__main__", "spark": spark})
        assert sorted((row.price, row.page) for row in spark.table("shop.bought").collect()) == EXPECTED
    finally:
        spark.sql("DROP DATABASE shop CASCADE")


def test_an_answer_is_appended_to_a_table(spark: SparkSession, tmp_path: Path) -> None:
    known: dict[str, Any] = {}
    exec(compile(blocks("delta_iceberg", "python")[0], "delta_iceberg.md", "exec"), known)
    add(tmp_path, 0, 1)
    spark.sql(f"CREATE DATABASE appended LOCATION '{tmp_path}/appended'")
    try:
        frame = attached(spark, tmp_path, query(), cells=2)
        known["append_to"](frame, "appended.answer", str(tmp_path / "checkpoint")).awaitTermination()
        found = spark.table("appended.answer").toArrow()
        assert rows_of(found) == local(query(), {name: tables[:1] for name, tables in WHOLE.items()})
    finally:
        spark.sql("DROP DATABASE appended CASCADE")


@pytest.mark.long
@pytest.mark.process
def test_the_pipeline_runs(tmp_path: Path) -> None:
    pyspark = pytest.importorskip("pyspark")
    home = Path(pyspark.__file__).parent
    if not (home / "bin" / "spark-pipelines").exists():
        pytest.skip("this Spark has no pipelines; they need 4.1")
    write_tables(tmp_path / "in")
    (tmp_path / "transformations").mkdir()
    (definition,) = blocks("declarative_pipelines", "yaml")
    (program,) = blocks("declarative_pipelines", "python")
    (tmp_path / "spark-pipeline.yml").write_text(definition.replace("/data/shop", str(tmp_path)))
    (tmp_path / "transformations" / "bought.py").write_text(program.replace("/data/shop", str(tmp_path)))
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    command = [str(home / "bin" / "spark-pipelines"), "run"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=280
    )
    assert "Run is COMPLETED" in done.stdout + done.stderr
    rows = pq.read_table(tmp_path / "spark-warehouse" / "bought").to_pylist()
    assert sorted((row["price"], row["page"]) for row in rows) == EXPECTED
