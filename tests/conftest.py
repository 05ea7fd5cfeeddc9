"""What every test may use: one Spark session per run, how hard hypothesis tries, and which tier a test is of."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.clock import Clock
from tests.processes import watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROFILE = "EDDY_HYPOTHESIS_PROFILE"

# The same examples in every run: a red test is red for everybody. `soak` goes looking for new ones.
# No deadlines: the first example of a Spark or pandas test pays for imports that the others do not.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=100)
settings.register_profile(
    "soak",
    derandomize=False,
    deadline=None,
    max_examples=5_000,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For bugs that are put in on purpose: that one is found is enough, the smallest example of it is not needed.
settings.register_profile(
    "bugs", derandomize=True, deadline=None, max_examples=100, phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get(PROFILE, "default"))

# Spark reads these when it starts: its workers must run in the environment of the tests, and nothing of it may
# wait for a name server or a network.
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

# A JVM of the tests lives for minutes: to compile what is hot a second time, and better, takes longer than it saves.
os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


CODEGEN = "spark.sql.codegen.wholeStage"
"""Whether Spark compiles whole stages: as for users in `tests/eddy/sql`, and where a process has its own session."""

# Spark 4.1 moved its classes of checkpoints.
FOLDER = "" if version("pyspark").startswith("4.0.") else ".checkpointing"
FILES = f"org.apache.spark.sql.execution.streaming{FOLDER}.FileSystemBasedCheckpointFileManager"

FEW_FILES = {
    # Else Hadoop starts a process, such as chmod or readlink, several times for each file of a checkpoint.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.sql.streaming.checkpointFileManagerClass": FILES,
}
"""Files without checksums: Spark's store in RocksDB, which long tests have, does not run with them."""

FEW_ROWS = {
    **FEW_FILES,
    # Compiling Java takes longer than all else in a micro-batch of a few rows.
    CODEGEN: "false",
}
"""With these, micro-batches of a few rows take less; users have Spark as it is, and so do tests in other processes."""


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        clock = Clock(terminal)
        config.pluginmanager.register(clock)
        clock.watch()
    watch(config)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", metavar="I/N", help="of the tests that are left, every N-th, beginning with the I-th")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark what runs on Spark, by the session that it asks for: no list of such tests has to be kept.

    What is left when pytest has looked at the marks is divided, if a part of it is asked for. Neighbours are mostly
    alike, so the parts take about as long.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    yield
    if config.getoption("part"):
        part, parts = map(int, config.getoption("part").split("/"))
        config.hook.pytest_deselected(items=[item for i, item in enumerate(items) if i % parts != part - 1])
        items[:] = items[part - 1 :: parts]


def pytest_collection_finish() -> None:
    """Leave what has been imported and collected out of every later search for garbage: it stays to the end.

    A comparison collects garbage before each of its runs, and thousands of collected tests take long to look through.
    """
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let the interpreter clear up as usual: some libraries complain of what is left."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A small local session; the only one of the run, since starting one takes seconds."""
    from pyspark.sql import SparkSession  # here, so that a run without Spark does not pay for the import

    place = tmp_path_factory.mktemp("spark")
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **FEW_ROWS,
        "spark.python.daemon.module": "tests.eddy.spark.daemon",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.checkpointLocation": str(place / "checkpoints"),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("eddy-tests")
    has_long = any(item.get_closest_marker("long") for item in request.session.items)
    for key in options.keys() - (FEW_FILES.keys() if has_long else {}):
        builder = builder.config(key, options[key])
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
