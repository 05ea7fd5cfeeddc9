"""The command line: what is forwarded, what is shown, what is packed."""

from __future__ import annotations

import configparser
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import eddy
from eddy.jobs import cli, dist
from eddy.jobs.commands import run
from eddy.requirements import OF_SPARK, PYTHON, REQUIRED
from tests.house import ROOT


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_run_forwards_to_spark_submit() -> None:
    command = run.submission("job.toml", ["a.b=c"], ["--master", "local[3]"], quiet=True)
    assert Path(command[0]).name == "spark-submit"
    assert Path(command[0]).exists()
    job = command.index(str(ROOT / "jobs" / "run_stream.py"))
    assert command[1:job] == ["--conf", "spark.log.level=ERROR", "--master", "local[3]"]
    assert command[job + 1 :] == ["job.toml", "--set", "a.b=c", "--quiet"]
    assert run.submission("job.toml", [], [], quiet=False, live=True)[-2:] == ["job.toml", "--live"]


def test_eddy_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert not ended.value.code
    assert capsys.readouterr().out == f"eddy {eddy.__version__}\n"


def test_eddy_alone_lists_its_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == cli.FAILED
    told = capsys.readouterr()
    assert not told.out
    for name, text in cli.COMMANDS.items():
        assert re.search(rf"\n    {name}\s", told.err)  # a long name has a line of its own
        assert text.split()[0] in told.err


def test_what_the_user_says_of_logs_and_python_wins() -> None:
    assert "spark.log.level=WARN" not in run.submission("j", [], ["--conf", "spark.log.level=INFO"], quiet=False)
    assert run.environment({"PYSPARK_PYTHON": "mine"})["PYSPARK_PYTHON"] == "mine"
    assert run.environment({})["PYSPARK_PYTHON"] == sys.executable
    assert run.environment({})["COLUMNS"].isdecimal()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["nowhere.toml"], 'config "nowhere.toml": cannot be read'),
        (["conf/quickstart.toml", "--set", "policy.name"], "expected section.key=value"),
        (["conf/quickstart.toml", "--set", "policy.name=fixd"], 'did you mean "fixed"?'),
        (["conf/quickstart.toml", "--set", "filters.signed.where=sined"], 'did you mean "signed"?'),
        (["nowhere.toml", "--", "--conf", "spark.eddy.engine.seed=3"], "cannot be read"),
        (["conf/quickstart.toml", "--set", "policy", "--", "--master", "local"], "expected section.key=value"),
    ],
)
def test_run_tells_what_is_wrong_before_it_starts_spark(
    given: list[str], expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", *given]) == cli.FAILED
    out, err = capfd.readouterr()
    assert (out, err.startswith("error: "), expected in err) == ("", True, True)


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["policy.name=fixed"], "to leave its parameters out, write --set 'policy={name=\"fixed\"}'\n"),
        (["policy.name=fixed", "policy.attributes=3"], 'unknown parameter "attributes"; known: "name", "order"\n'),
        (["policy.attributs=3"], 'did you mean "attributes"?'),
    ],
)
def test_a_policy_that_is_set_is_told_from_its_parameters_in_the_file(
    sets: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [word for one in sets for word in ("--set", one)]
    assert cli.main(["validate", "conf/three_way.toml", *given]) == 2
    assert told in capsys.readouterr().err
    assert cli.main(["validate", "conf/three_way.toml", "--set", 'policy={name="fixed"}']) == 0


def test_only_run_takes_arguments_for_spark() -> None:
    with pytest.raises(SystemExit):
        cli.main(["validate", "conf/quickstart.toml", "--", "--master", "local"])


@pytest.mark.process
def test_validate_starts_no_spark() -> None:
    asked = "cli.main(['validate', 'conf/three_way.toml'])"
    code = f"import sys; from eddy.jobs import cli; {asked}; assert 'pyspark' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "is right: 3 streams, 2 tables, 2 filters" in done.stdout


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_the_first_rows_of_files_are_tried(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    table = pa.table({"at": pa.array(range(10), pa.int64()), "v": pa.array(range(10), pa.int64())})
    for name, rows in (("a", table.slice(0, 4)), ("b", table.slice(4))):
        file = tmp_path / "in" / f"{name}.{kind}"
        if kind == "parquet":
            pq.write_table(rows, file, row_group_size=1)
        elif kind == "csv":
            pa.csv.write_csv(rows, file)
        else:
            file.write_text("".join(f'{{"at": {n}, "v": {n}}}\n' for n in rows["v"].to_pylist()))
    schema = "" if kind == "parquet" else ', schema = { at = "bigint", v = "bigint" }'
    text = f"""
[streams.s]
time = "at"
source = {{ format = "{kind}", path = "{tmp_path}/in"{schema} }}
[filters.odd]
on = "s"
where = "v % 2 = 1"
"""
    (tmp_path / "job.toml").write_text(text)
    assert cli.main(["validate", str(tmp_path / "job.toml"), "--sample", "6"]) == 0
    assert "sample: 6 of s; 3 results" in capsys.readouterr().out
    assert cli.main(["validate", str(tmp_path / "job.toml"), "--sample", "60"]) == 0
    assert "sample: 10 of s; 5 results" in capsys.readouterr().out


TIMES = "at;v\n2026-01-01 00:00:00;1\n2026-01-01 00:00:01;2\n"

SAID = """
[streams.s]
time = "at"
source = {{ format = "{kind}", path = "{place}"{more} }}
[filters.even]
on = "s"
where = "{where}"
"""


def written(place: Path, text: str) -> str:
    (place / "job.toml").write_text(text)
    return str(place / "job.toml")


def test_values_with_another_mark_between_and_times_without_a_zone_are_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part-0").write_text(TIMES)
    (tmp_path / "in" / "_SUCCESS").write_text("")
    more = ', schema = { at = "timestamp", v = "bigint" }, options = { sep = ";" }'
    job = written(tmp_path, SAID.format(kind="csv", place=tmp_path / "in", more=more, where="v = 2"))
    assert cli.main(["validate", job, "--sample", "6"]) == 0
    assert "sample: 2 of s; 1 result" in capsys.readouterr().out


def test_a_file_without_rows_can_be_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"at": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    job = written(tmp_path, SAID.format(kind="parquet", place=tmp_path / "a.parquet", more="", where="at = 2"))
    assert cli.main(["validate", job, "--sample", "6"]) == 0
    assert "sample: 0 of s; 0 results" in capsys.readouterr().out


def test_columns_that_are_folders_are_known_to_spark_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in" / "country=at").mkdir(parents=True)
    pq.write_table(pa.table({"at": [1]}), tmp_path / "in" / "country=at" / "a.parquet")
    job = written(tmp_path, SAID.format(kind="parquet", place=tmp_path / "in", more="", where="country = 'at'"))
    assert cli.main(["validate", job]) == 0
    assert 'the columns of "s" are known only when Spark reads it' in capsys.readouterr().out
    assert cli.main(["validate", job, "--sample", "6"]) == cli.FAILED
    assert 'only Spark can read the rows of "s"' in capsys.readouterr().err


@pytest.mark.process
def test_nobody_has_to_read_to_the_end() -> None:
    command = f"{sys.executable} -m eddy.jobs.cli validate conf/quickstart.toml --resolved | head -n 1"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["query.name", '"suspicious_requests"', "line", "8"]
    assert done.stderr == ""


def test_explain_shows_what_will_happen(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "conf/three_way.toml"]) == 0
    told = capsys.readouterr().out
    for part in (
        "orders: orders.click (from clicks), orders.id (from payments), orders.user (from users)",
        "payments: 4 copies of each row",
        'clicks: by "at", window "3 minutes", rows up to "1 minute" late',
        "paid_well on payments: paid >= 20; by Spark",
        "euro on countries: currency = 'EUR'; by the eddy",
    ):
        assert part in told


def test_explain_knows_what_pushdown_is_set_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "conf/three_way.toml", "--set", "engine.pushdown=false"]) == 0
    assert "by Spark" not in capsys.readouterr().out


def test_explain_tells_who_waits_for_whom(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "conf/three_way.toml", "--set", "filters.paid_well.after=euro"]) == 0
    told = capsys.readouterr().out
    assert "paid_well on payments, after euro: paid >= 20; by the eddy" in told
    assert "by Spark" not in told


@pytest.mark.process
def test_what_is_interrupted_ends_without_a_traceback(tmp_path: Path) -> None:
    """A module of the user's that takes for ever to import."""
    (tmp_path / "slow.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(300)")
    text = (
        (ROOT / "conf" / "quickstart.toml")
        .read_text("utf-8")
        .replace("eddy.jobs.workloads.web:bad_token", "slow:bad_token")
    )
    (tmp_path / "job.toml").write_text(text)
    command, env = (
        [sys.executable, "-m", "eddy.jobs.cli", "validate", "job.toml"],
        {**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with subprocess.Popen(
        command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as done:
        assert done.stdout is not None
        assert done.stdout.readline() == "here\n"
        done.send_signal(signal.SIGINT)
        _, told = done.communicate()
    assert (done.returncode, told) == (cli.INTERRUPTED, "\nstopped\n")


@pytest.mark.process
@pytest.mark.parametrize(
    ("sets", "told"),
    [
        (["spark.master=local[2]"], "ok     cells and partitions: 2 cells in 2 partitions, on 2 cores"),
        (["spark.master=local[5]"], "3 cores will have no cell to work for: set engine.cells to 5"),
        (["spark.sql.shuffle.partitions=9"], "7 partitions will be empty"),
        (["spark.sql.shuffle.partitions=1", "spark.master=local[2]"], "cells of one partition wait for each other"),
        (["spark.sql.shuffle.partitions=many"], "set it to a whole number, or leave it out"),
    ],
)
def test_doctor_holds_a_job_against_the_cores(sets: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor", "conf/quickstart.toml", *(word for one in sets for word in ("--set", one))])
    assert told in capsys.readouterr().out


@pytest.mark.process
@pytest.mark.parametrize(("cores", "told"), [(2, "ok     cores: 2;"), (4, "ok     cores: 4;"), (6, "odd    cores: 6;")])
def test_doctor_agrees_with_the_default(
    cores: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    cli.main(["doctor", "conf/quickstart.toml", "--set", "engine.cells="])
    said = capsys.readouterr().out
    assert told in said
    assert ("set engine.cells to 6" in said) == (cores == 6)
    assert f"4 cells in 4 partitions, on {cores} cores" in said


@pytest.mark.process
def test_doctor_finds_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "python-that-is-not-there")
    monkeypatch.setenv("JAVA_HOME", "nowhere")
    assert cli.main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert f"set PYSPARK_PYTHON to {sys.executable}" in told
    assert "install Java 17 or newer" in told


def test_doctor_knows_what_setup_asks_for() -> None:
    parser = configparser.RawConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    asked = [*parser["options"]["install_requires"].split("\n"), *parser["options.extras_require"]["spark"].split("\n")]
    told = [f"{name} >={low},<{high}" for name, low, high in (*REQUIRED, *OF_SPARK)]
    assert sorted(told) == sorted(filter(None, asked))
    assert parser["options"]["python_requires"] == f">={PYTHON}"


@pytest.mark.process
def test_the_zip_has_our_modules_and_nothing_compiled(tmp_path: Path) -> None:
    count = dist.pack(tmp_path / "eddy.zip")
    names = zipfile.ZipFile(tmp_path / "eddy.zip").namelist()
    assert len(names) == count
    assert {"eddy/__init__.py", "eddy/policies/fixed.py", "eddy/operators/stem.py", "eddy/jobs/run_stream.py"} <= set(
        names
    )
    assert {Path(name).suffix for name in names} == {".py"}
    code = "import eddy, eddy.jobs.run.checking, eddy.jobs.sources.registry; print(eddy.__file__)"
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "eddy.zip")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    assert "eddy.zip" in done.stdout


def test_the_zip_is_the_same_every_time(tmp_path: Path) -> None:
    dist.pack(tmp_path / "a.zip")
    dist.pack(tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.process
def test_modules_beside_a_job_are_sent_as_they_are_imported(tmp_path: Path) -> None:
    (tmp_path / "beside").mkdir()
    for name in ("__init__", "inner"):
        (tmp_path / "beside" / f"{name}.py").write_text("VALUE = 3")
    (tmp_path / "beside" / "words.txt").write_text("some")
    (tmp_path / "alone_there.py").write_text("import beside.inner")
    (tmp_path / "unread.py").write_text("")
    code = f"""
import sys
sys.path.append({str(tmp_path)!r})
import alone_there, eddy.jobs
from pathlib import Path
from eddy.jobs.run import run_job
print(*run_job.modules_in({str(tmp_path)!r}, dict(sys.modules)), sep="|")
print(run_job.modules_in({str(ROOT)!r}, dict(sys.modules)))
print(run_job._pack(Path({str(tmp_path)!r}, "beside"), Path({str(tmp_path)!r})))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found, ours, packed = done.stdout.splitlines()
    assert found.split("|") == [str(tmp_path / "alone_there.py"), str(tmp_path / "beside")]
    assert ours == "[]"
    names = {"beside/__init__.py", "beside/inner.py", "beside/words.txt"}
    assert set(zipfile.ZipFile(packed).namelist()) == names


def test_times_that_spark_does_not_read_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine, place = pa.table({"at": pa.array([1], pa.timestamp("ns", tz="UTC"))}), tmp_path / "a.parquet"
    job = written(tmp_path, SAID.format(kind="parquet", place=place, more="", where="at > timestamp'2026-01-01'"))
    pq.write_table(fine, place)
    assert cli.main(["validate", job]) == cli.FAILED
    assert 'a.parquet" has times in nanoseconds in "at", which Spark does not read' in capsys.readouterr().err
    pq.write_table(fine, place, use_deprecated_int96_timestamps=True)  # as Spark itself writes them
    assert cli.main(["validate", job]) == 0
