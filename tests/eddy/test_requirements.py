"""What is too old, missing or there twice is told in one line, with what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from eddy import requirements
from eddy.errors import QueryError, need_package
from eddy.jobs import cli
from eddy.requirements import find_imported_spark, find_rivals, find_strange_home
from tests.house import ROOT


def pretend(folder: Path, **versions: str) -> str:
    """A folder for Python's path, by which these versions are installed."""
    for name, version in versions.items():
        info = folder / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n")
    return str(folder)


def started(place: str, *command: str) -> subprocess.CompletedProcess[str]:
    """A process that finds these versions first."""
    env = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
    return subprocess.run([sys.executable, *command], env=env, cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.process
def test_what_is_too_old_is_told_by_every_command(tmp_path: Path) -> None:
    place = pretend(tmp_path, pyarrow="20.0.0", pandas="2.2.1")
    told = started(place, "-m", "eddy.jobs.cli", "doctor")
    assert told.returncode == 2
    assert told.stderr == (
        'error: pyarrow: expected a version from 21 to below 27, got 20.0.0; pip install "pyarrow>=21,<27"; '
        'pandas: expected a version from 2.2.2 to below 3, got 2.2.1; pip install "pandas>=2.2.2,<3"\n'
    )
    assert started(place, "-c", "import eddy").stderr.endswith(f"ImportError: {told.stderr.replace('error', 'eddy')}")


@pytest.mark.process
def test_what_is_too_new_may_run_and_the_doctor_tells(tmp_path: Path) -> None:
    told = started(pretend(tmp_path, pyarrow="99.0.0"), "-m", "eddy.jobs.cli", "doctor")
    assert told.returncode == 1
    assert (
        'WRONG  pyarrow: 99.0.0\n       expected one from 21 to below 27: pip install "pyarrow>=21,<27"' in told.stdout
    )


def test_an_old_python_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13))
    assert list(requirements.find_old()) == [
        f"Python: expected 3.11 or newer, got 3.10.13 at {sys.executable}; install a newer one"
    ]


def test_two_sparks_are_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_rivals() == ""
    monkeypatch.syspath_prepend(pretend(tmp_path, databricks_connect="17.0.1"))
    told = find_rivals()
    assert "and databricks-connect 17.0.1, which overwrite each other's files; pip uninstall pyspark " in told
    with pytest.raises(QueryError, match="attach: Spark: expected one of pyspark, pyspark-client, databricks-connect"):
        need_package("pyspark", "spark", "attach")


@pytest.mark.process
def test_another_spark_at_home_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-3.5.1.jar").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    told = find_strange_home()
    assert told.startswith(
        f"Spark: expected one version, got pyspark {find_imported_spark()} and Spark 3.5.1 at SPARK_HOME"
    )
    assert told.endswith('unset SPARK_HOME, or pip install "pyspark==3.5.1"')
    assert cli.main(["doctor"]) == 1
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(("version", "wrong"), [("3.5.1", True), ("5.0.0", True), ("4.0.0.dev0", False)])
def test_a_spark_that_nobody_has_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, wrong: bool
) -> None:
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "version.py").write_text(f'__version__: str = "{version}"\n')
    (tmp_path / "pyspark" / "__init__.py").touch()
    # The package itself is long imported: only where it would be looked for is another place.
    found = PathFinder.find_spec("pyspark", [str(tmp_path)])
    monkeypatch.setattr(requirements, "find_spec", lambda _: found)
    expected = f'pyspark: expected a version from 4.0 to below 5, got {version}; pip install "pyspark>=4.0,<5"'
    assert requirements.judge_spark() == (expected if wrong else "")
