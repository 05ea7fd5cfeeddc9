"""A short session of Spark, for commands.

What Spark says of itself goes to a file.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eddy.errors import EddyError, QueryError, need_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINES_SHOWN = 5
"""Lines of what Spark said that are shown when it does not start."""


@contextmanager
def own_session(cores: int, **more: str) -> Iterator[SparkSession]:
    """Start a session on this machine, and stop it afterwards.

    An error in Spark is raised as one of ours.
    """
    need_package("pyspark", "spark", "a session of Spark")
    from eddy.jobs.run import error_text  # noqa: PLC0415  which imports Spark, and other commands do without

    with tempfile.TemporaryDirectory(prefix="eddy-") as place:
        spark, begun = _start(Path(place), cores, more)
        try:
            yield spark
        except EddyError:
            raise
        except error_text.EXPECTED as error:
            raise QueryError(error_text.explain_error(error).removeprefix("error: ")) from error
        finally:
            if begun:
                spark.stop()


def _start(place: Path, cores: int, more: Mapping[str, str]) -> tuple[SparkSession, bool]:
    """The session there is, or a new one; says whether it is new."""
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    known = SparkSession.getActiveSession()
    if known is not None:
        return known, False
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        _launch(place / "spark.log")
        return SparkSession.builder.config(map=_settings(place, cores, more)).getOrCreate(), True
    except PySparkException as error:
        said = (place / "spark.log").read_text("utf-8", errors="replace").splitlines()[-LINES_SHOWN:]
        raise QueryError(
            "\n  ".join([f'Spark does not start, {error}; "eddy doctor" says what to do', *said])
        ) from error


def _launch(log: Path) -> None:
    """Start Spark's JVM, with its log where nobody has to read it."""
    from pyspark import SparkContext  # noqa: PLC0415
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    if SparkContext._gateway is None:
        launch: Any = launch_gateway
        with log.open("wb") as file:
            SparkContext._ensure_initialized(gateway=launch(None, {"stderr": file}))


def _settings(place: Path, cores: int, more: Mapping[str, str]) -> dict[str, bool | float | int | str | None]:
    """It listens on this machine alone, and leaves nothing behind."""
    return {
        "spark.master": f"local[{cores}]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.warehouse.dir": str(place / "warehouse"),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        **more,
    }
