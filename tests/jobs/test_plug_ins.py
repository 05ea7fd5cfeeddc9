"""Sources and sinks of another package: registered by entry points, and then as ours are."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy
from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config import json_schema
from eddy.jobs.config.config import load
from eddy.jobs.config.connectors import SINK_GROUP, SOURCE_GROUP
from eddy.jobs.config.schema import COUNT, ConfigKey, Section
from eddy.jobs.config.sections import INDEXES
from eddy.jobs.run import run_job
from eddy.jobs.run.progress_line import Teller
from eddy.jobs.run.stopping import Stop
from eddy.operators.index.structures.key_map import KeyMap
from eddy.operators.tuning.select.hash import Hash
from eddy.operators.tuning.settings import INDEX_GROUP, LAYOUT, TUNING, IndexSettings, Kind
from eddy.operators.tuning.workload import Workload

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


class First:
    """A kind of indexes: one for the pattern that is searched by most."""

    does: ClassVar = Kind(keys=(*LAYOUT, *TUNING))

    def __init__(self, settings: IndexSettings) -> None:
        self.frequent = Hash(settings)

    def select(self, workload: Workload) -> Sequence[KeyMap]:
        CHOSEN.append(len(workload.searches))
        return self.frequent.select(workload)[:1]


CHOSEN: list[int] = []


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
[{INDEX_GROUP}]
first = tests.jobs.test_plug_ins:First
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


INDEXED = """
[query]
joins = ["a.k = b.k", "a.l = b.l"]
[streams.a]
time = "ts"
window = "1 minute"
source = { format = "json", path = "in", schema = { ts = "timestamp", k = "bigint", l = "bigint" } }
[streams.b]
time = "ts"
window = "1 minute"
source = { format = "json", path = "in", schema = { ts = "timestamp", k = "bigint", l = "bigint" } }
[index]
kind = "first"
period = 100
schedule = "periodic"
"""


def test_a_kind_of_indexes_is_one_of_ours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "none.json").touch()
    assert cli.main(["validate", written(tmp_path, INDEXED), "--resolved"]) == 0
    assert "index.kind " in capsys.readouterr().out
    wrong = INDEXED.replace("period = 100", "bits = 3")
    assert cli.main(["validate", written(tmp_path, wrong)]) == cli.FAILED
    assert 'index.bits: the kind "first" does not use it' in capsys.readouterr().err
    assert cli.main(["validate", written(tmp_path, INDEXED.replace('"first"', '"frist"'))]) == cli.FAILED
    assert 'did you mean "first"?' in capsys.readouterr().err
    CHOSEN.clear()
    index = {"kind": "first", "period": 100, "schedule": "periodic"}
    streams = [eddy.Stream(name, time="ts", window=eddy.Range(50), delay=0) for name in "ab"]
    query = eddy.Query(streams=streams, joins=["a.k = b.k", "a.l = b.l"])
    rows = pa.table({"ts": range(500), "k": [n % 7 for n in range(500)], "l": [n % 3 for n in range(500)]})
    runs = [eddy.run_local(query, {"a": rows, "b": rows}, batch_rows=50, index=one) for one in (index, None)]
    found, known = (run.results.sort_by([(name, "ascending") for name in run.results.column_names]) for run in runs)
    assert found.equals(known)
    assert found.num_rows
    assert CHOSEN
    assert json_schema.describe_part(INDEXES)["properties"]["kind"]["anyOf"][0]["enum"][-1] == "first"


def test_a_job_runs_with_them(spark: SparkSession, tmp_path: Path) -> None:
    job = load(written(tmp_path))
    run_job.run_stream(job, spark, Stop(), Teller(quiet=True, live=False))
    assert sorted(TAKEN) == list(range(0, 20, 2))
