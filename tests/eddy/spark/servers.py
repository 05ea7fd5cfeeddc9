"""Spark's servers as processes of a test: they listen on this machine alone, and end with the test."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from tests.house import ROOT

HOME = Path(pyspark.__file__).parent

PATIENCE = 120
"""Seconds that a server may take to come up, or to end: much more than it needs, so that a hang is an error."""

JOB = 500
"""Seconds that a job may take, likewise."""


QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a JVM that lives for seconds: compiling thoroughly and collecting in threads cannot pay off."""


def environment(first: Path = ROOT) -> dict[str, str]:
    """For a process that runs the code in a folder, and Spark's, with the Python of the tests."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    path = os.pathsep.join([str(first), str(HOME.parent)])
    python = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
    daemons = {"SPARK_DAEMON_JAVA_OPTS": QUICK, "SPARK_DAEMON_MEMORY": "512m"}
    spark = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**ours, **python, **daemons, **spark, "PYTHONPATH": path}


@contextmanager
def server(log: Path, says: str, program: str, *arguments: str, first: Path = ROOT) -> Iterator[str]:
    """A program of Spark's; gives the part of its log by which it says that it is up."""
    command = [str(HOME / "bin" / program), *arguments]
    with log.open("w") as file:
        process = subprocess.Popen(command, env=environment(first), cwd=log.parent, stdout=file, stderr=file)
    try:
        yield _said(process, log, says)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)


def _said(process: subprocess.Popen[bytes], log: Path, says: str) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = re.search(says, log.read_text("utf-8"))
        if found is not None:
            return found[1]
        assert process.poll() is None, log.read_text("utf-8")
        time.sleep(0.1)
    raise TimeoutError(log.read_text("utf-8"))


@contextmanager
def cluster(place: Path) -> Iterator[str]:
    """Two workers of one core each; to Spark they are two machines, so a task can be copied to the other one."""
    prefix = "org.apache.spark.deploy"
    listens = ("--port", "0", "--webui-port", "0")
    with ExitStack() as up:
        master = server(
            place / "master.log",
            r"Starting Spark master at (spark://\S+)",
            "spark-class",
            f"{prefix}.master.Master",
            *("--host", "127.0.0.1", *listens),
        )
        url = up.enter_context(master)
        for host in ("127.0.0.1", "localhost"):
            worker = server(
                place / f"{host}.log",
                r"Successfully registered with master (\S+)",
                "spark-class",
                f"{prefix}.worker.Worker",
                *("--host", host, *listens, "--cores", "1", "--memory", "1g", "--work-dir", str(place), url),
            )
            up.enter_context(worker)
        yield url


def session(place: Path, master: str = "local[2]", more: Mapping[str, str] | None = None) -> SparkSession:
    """A session whose driver is reached from this machine alone, and whose tables are below a folder."""
    options: dict[str, Any] = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.ui.enabled": "false",
        **(more or {}),
    }
    return SparkSession.builder.master(master).config(map=options).getOrCreate()


def joined(place: Path, url: str, more: Mapping[str, str]) -> SparkSession:
    """A session on a cluster that speculates: a task that takes long is begun a second time beside itself."""
    options = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.shuffle.partitions": "4",
        # A copy of a task that takes long, as soon as one of the others has ended.
        "spark.speculation": "true",
        "spark.speculation.quantile": "0.25",
        **more,
    }
    return session(place, url, options)


def job(log: Path, module: str, *arguments: str, seconds: float = JOB) -> int:
    """Run a module of ours as a driver, to its end."""
    with log.open("w") as file:
        return subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=environment(),
            stdout=file,
            stderr=file,
            timeout=seconds,
            check=False,
        ).returncode
