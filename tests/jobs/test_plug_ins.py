"""Sources and sinks of another package: registered by entry points, and then as ours are."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config.config import load
from eddy.jobs.config.connectors import SINK_GROUP, SOURCE_GROUP
from eddy.jobs.config.schema import COUNT, ConfigKey, Section
from eddy.jobs.run import run_job
from eddy.jobs.run.progress_line import Teller
from eddy.jobs.run.stopping import Stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TAKEN: list[int] = []


class Numbers:
    """A source: the numbers below a limit."""

    section: ClassVar = Section(text="Numbers.", keys={"below": ConfigKey(text="the limit", kind=COUNT, required=True)})

    def __init__(self, name: str, values: dict[str, Any]) -> None:
        self._rows = pa.table({"k": list(range(values["below"]))})

    def schema(self) -> pa.Schema:
        return self._rows.schema

    def sample(self, rows: int) -> pa.Table:
        return self._rows.slice(0, rows)

    def stream(self, spark: SparkSession) -> DataFrame:
        place = Path(FOLDER[0], "numbers")
        place.mkdir(exist_ok=True)
        pq.write_table(self._rows, place / "all.parquet")
        return spark.readStream.schema("k bigint").parquet(str(place))


class Taker:
    """A sink: a list in the driver."""

    section: ClassVar = Section(text="A list.", keys={"twice": ConfigKey(text="take all twice", default="no")})
    lasting = True

    @staticmethod
    def stream(frame: DataFrame, values: dict[str, Any]) -> Any:
        return frame.writeStream.foreachBatch(lambda part, _: TAKEN.extend(row["s_k"] for row in part.collect()))


class Bare:
    """It does not say what its keys are."""


FOLDER: list[str] = []

POINTS = f"""
[{SOURCE_GROUP}]
numbers = tests.jobs.test_plug_ins:Numbers
bare = tests.jobs.test_plug_ins:Bare
gone = tests.jobs.nobody:Nothing
parquet = tests.jobs.test_plug_ins:Bare
[{SINK_GROUP}]
taker = tests.jobs.test_plug_ins:Taker
"""

JOB = """
[query]
name = "plugged"
[streams.s]
source = { format = "numbers", below = 20 }
[filters.even]
on = "s"
where = "k % 2 = 0"
[trigger]
available_now = true
[checkpoint]
location = "mark"
[sink]
format = "taker"
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As pip leaves a package: its metadata are on the path."""
    info = tmp_path / "site" / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(POINTS, "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path / "site")])
    importlib.invalidate_caches()
    FOLDER[:] = [str(tmp_path)]
    yield
    TAKEN.clear()


def written(place: Path, text: str = JOB) -> str:
    (place / "job.toml").write_text(text, "utf-8")
    return str(place / "job.toml")


def test_validate_knows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["validate", written(tmp_path), "--resolved", "--sample", "10"]) == 0
    told = capsys.readouterr().out
    assert "sink.twice" in told
    assert "5 results" in told


WRONG = {
    "its key": ("below = 20", "belw = 20", 'streams.s.source.belw: unknown key "belw"; did you mean "below"?'),
    "its value": ("below = 20", "below = 0", "streams.s.source.below: expected a whole number of 1 or more"),
    "its name": ('"numbers"', '"numbrs"', 'unknown format "numbrs"; did you mean "numbers"?'),
    "no keys": ('"numbers"', '"bare"', 'source "bare": .* expected a class with its keys as section'),
    "not there": ('"numbers"', '"gone"', 'source "gone": the package that offers it .* cannot be loaded'),
    "no checkpoint": ('[checkpoint]\nlocation = "mark"', "", 'the sink "taker" lasts'),
}


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_told_as_of_ours(case: str, tmp_path: Path) -> None:
    before, after, told = WRONG[case]
    with pytest.raises(QueryError, match=told.replace("?", "[?]")):
        load(written(tmp_path, JOB.replace(before, after)))


def test_none_takes_the_name_of_one_of_ours(tmp_path: Path) -> None:
    text = JOB.replace('"numbers", below = 20', '"parquet", path = "none"')
    with pytest.raises(QueryError, match="no such file"):
        load(written(tmp_path, text))


def test_a_job_runs_with_them(spark: SparkSession, tmp_path: Path) -> None:
    job = load(written(tmp_path))
    run_job.run_stream(job, spark, Stop(), Teller(quiet=True, live=False))
    assert sorted(TAKEN) == list(range(0, 20, 2))
