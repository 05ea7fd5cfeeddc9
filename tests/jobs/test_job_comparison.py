"""Policies side by side on a job: its rows, its query, its policy; nothing of it is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy
from eddy.jobs import cli
from eddy.jobs.comparison import job_comparison
from eddy.jobs.comparison.sampling import sample
from eddy.jobs.config.config import load
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import check
from eddy.jobs.sources.kafka import Kafka
from eddy.jobs.sources.rate import Rate
from tests.house import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICKSTART = str(ROOT / "conf" / "quickstart.toml")

TWO = """
[query]
joins = ["a.k = b.k"]
[streams.a]
time = "at"
window = 50
delay = 5
source = {{ format = "parquet", path = "{place}/a" }}
[streams.b]
time = "at"
window = 50
delay = 5
source = {{ format = "parquet", path = "{place}/b" }}
[tables.names]
source = {{ format = "csv", path = "{place}/names.csv", schema = {{ k = "bigint", name = "string" }} }}
[filters.even]
on = "a"
where = "v % 2 = 0"
[filters.odd]
on = "b"
function = "tests.jobs.test_job_comparison:odd"
columns = ["v"]
[checkpoint]
location = "{place}/checkpoint"
[sink]
format = "parquet"
path = "{place}/out"
"""


def odd(v: Any) -> Any:
    """A filter by import path."""
    return v % 2 == 1


def no_spark() -> SparkSession:
    raise AssertionError("nothing of this needs Spark")


def rows(first: int, count: int, step: int = 1) -> pa.Table:
    """Rows of a stream, the last first: files need not be in the order of time."""
    at = list(range(first, first + count * step, step))[::-1]
    return pa.table({"at": at, "k": [n % 7 for n in at], "v": at})


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A join of files: "b" begins later, and has fewer rows in the same time."""
    for name, table in (("a", rows(0, 400)), ("b", rows(100, 300, step=3))):
        (tmp_path / name).mkdir()
        for part in range(2):
            pq.write_table(table.slice(part * 200, 200), tmp_path / name / f"{part}.parquet")
    (tmp_path / "names.csv").write_text("k,name\n1,one\n2,two\n", "utf-8")
    text = TWO.replace('joins = ["a.k = b.k"]', 'joins = ["a.k = b.k", "a.k = names.k"]')
    (tmp_path / "job.toml").write_text(text.format(place=tmp_path), "utf-8")
    return tmp_path


def test_a_job_is_compared_on_its_own_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, page = tmp_path / "rows.json", tmp_path / "page.html"
    small = ["--rows", "1500", "--repeats", "1", "--quiet"]
    small += ["--set", "policy.regret=0.05", "--set", "spark.ssl.password=hush"]
    assert cli.main(["compare", QUICKSTART, *small, "--out", str(out), "--report", str(page)]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.startswith("sample: 1,500 rows of web\n")
    assert "says nothing about time" in told.out
    found = json.loads(out.read_text("utf-8"))
    assert {row["policy"] for row in found} == {
        *("fixed", "fixed (again)", "auto(regret=0.05)", "source", "content", "query_mesh")
    }
    assert {row["tuples"] for row in found} == {1_500}
    text = page.read_text("utf-8")
    assert "--set policy.regret=0.05 --set &#x27;spark.ssl.password=(hidden)&#x27; --rows 1500 --repeats 1" in text
    assert "hush" not in text


def test_its_own_policy_is_among_them_once_and_with_its_parameters() -> None:
    job = load(QUICKSTART)
    assert [c.label for c in job_comparison.contenders(job, ())] == ["fixed", "auto", "source", "content", "query_mesh"]
    assert [c.label for c in job_comparison.contenders(job, ["lottery"])] == ["fixed", "auto", "lottery"]
    own, *others = job_comparison.contenders(
        load(QUICKSTART, map(from_command, ["policy.name=fixed", 'policy.order=["signed"]'])), ()
    )
    assert (own.label, own.role) == ("fixed(order=['signed'])", "baseline")
    assert "fixed" not in [c.label for c in others]
    tuned = load(QUICKSTART, map(from_command, ["policy.name=a_greedy", "policy.p=0.05"]))
    asked = job_comparison.contenders(tuned, ["a_greedy", "fixed", "sweep"])
    assert [c.label for c in asked] == ["fixed", "a_greedy(p=0.05)", "a_greedy", "sweep"]


def test_what_spark_evaluates_before_the_eddy_is_done_before(capsys: pytest.CaptureFixture[str]) -> None:
    made, told = job_comparison.experiment(QUICKSTART, ["engine.pushdown=true"], rows=800)
    left, whole = (one.points[0].workload(0) for one in (made, job_comparison.experiment(QUICKSTART, [], rows=800)[0]))
    assert [f.name for f in left.query.filters] == ["scripted", "bad_token"]
    assert 'Spark evaluates "signed" before the eddy' in told
    assert 0 < left.tuples < whole.tuples == 800
    answers = [eddy.run_local(one.query, one.data).results for one in (left, whole)]
    assert answers[0].equals(answers[1])


def test_streams_that_are_joined_have_the_same_time_and_nothing_is_written(two: Path, spark: SparkSession) -> None:
    job = load(two / "job.toml")
    found = sample(job, check(job).sources, 150, lambda: spark)
    assert (found["a"]["at"][0].as_py(), found["a"]["at"][-1].as_py()) == (100, 249)
    assert (found["b"]["at"][0].as_py(), found["b"]["at"][-1].as_py()) == (100, 247)
    assert found["a"]["at"].to_pylist() == sorted(found["a"]["at"].to_pylist())
    assert found["names"].num_rows == 2
    made, told = job_comparison.experiment(str(two / "job.toml"), [], rows=150, policies=["source"], repeats=1)
    assert told.startswith("sample: 150 rows of a, 50 rows of b, 2 rows of names; Spark evaluates")
    workload = made.points[0].workload(0)
    assert eddy.run_local(workload.query, workload.data).results.num_rows > 0
    assert sorted(path.name for path in two.iterdir()) == ["a", "b", "job.toml", "names.csv"]


def test_streams_that_never_meet_are_an_error(two: Path, spark: SparkSession, capsys: Any) -> None:
    pq.write_table(rows(9_000, 10), two / "b" / "0.parquet")
    pq.write_table(rows(9_010, 10), two / "b" / "1.parquet")
    assert cli.main(["compare", str(two / "job.toml")]) == cli.FAILED
    assert 'no rows with a time in the source of "a" from where all streams have begun' in capsys.readouterr().err


def test_rows_at_a_rate_are_made_as_spark_makes_them() -> None:
    source = Rate("s", {"per_second": 4, "partitions": None, "options": {}})
    found = source.read(5, no_spark)
    assert isinstance(found, pa.Table)
    assert found.schema == source.schema()
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [0, 250_000, 500_000, 750_000, 1_000_000]
    assert found["value"].to_pylist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("starting", "begins"), [("latest", "earliest"), ("earliest", "earliest"), ('{"t": {"0": 5}}', '{"t": {"0": 5}}')]
)
def test_a_topic_is_read_as_far_as_it_goes(starting: str, begins: str) -> None:
    values = {"servers": "h:9", "topic": "t", "starting": starting, "per_trigger": 10, "options": {}, "add": []}
    options = Kafka("s", values).options_now()
    assert (options["startingOffsets"], options["endingOffsets"]) == (begins, "latest")


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        ("[sink]\nformat = 'noop'\n", [], "neither a job nor an experiment: expected [streams.NAME], as a job has"),
        ("", [], "got nothing"),
        ("x =", [], "not TOML"),
        ("[streams.s]\ntme = 'at'\n", [], 'did you mean "time"?'),
        ("workload = 1\npolicies = []\n", ["--rows", "5"], "--rows: expected with a job only"),
        ("workload = 1\npolicies = []\nname = 'x'\n", [], 'experiment "'),
        (None, [], "cannot be read: No such file or directory"),
        (Path(QUICKSTART).read_text("utf-8"), ["--rows", "0"], "--rows: expected a whole number of 1 or more, got 0"),
        (Path(QUICKSTART).read_text("utf-8"), ["--policy", "sorce"], 'unknown policy "sorce"; did you mean "source"'),
        (
            "[streams.s]\ntime='timestamp'\nsource={format='rate'}\n[filters.f]\non='s'\nwhere='value > 3'\n",
            [],
            "nothing is left to compare",
        ),
    ],
)
def test_a_mistake_is_one_error(
    text: str | None, more: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "some.toml"
    if text is not None:
        conf.write_text(text, "utf-8")
    assert cli.main(["compare", str(conf), "--quiet", *more]) == cli.FAILED
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("time", ['time = "AT"\n', ""], ids=["in another case", "no time"])
def test_a_job_is_compared_whatever_case_its_names_are_in(time: str, tmp_path: Path) -> None:
    source = 'source = { format = "workload", kind = "web", parameters = { rows = 900 } }'
    function = 'function = "eddy.jobs.workloads.web:has_session", columns = ["COOKIE"]'
    filters = f'[filters]\nsession = {{ on = "web", {function} }}\nbig = {{ on = "web", where = "SIZE > 4000" }}\n'
    (tmp_path / "job.toml").write_text(f"[streams.web]\n{time}{source}\n{filters}", "utf-8")
    made, told = job_comparison.experiment(str(tmp_path / "job.toml"), [], rows=600, policies=["source"], repeats=1)
    assert (
        told == 'sample: 600 rows of web; Spark evaluates "big" before the eddy, so that is done before the comparison'
    )
    left = made.points[0].workload(0)
    assert 0 < left.tuples < 600
    assert min(left.data["web"]["size"].to_pylist()) > 4000
    assert eddy.run_local(left.query, left.data).results.num_rows > 0
