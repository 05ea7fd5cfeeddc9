"""A user's own folders may be called `jobs`, `policies` and `operators`, as ours are in the repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eddy.jobs import dist
from eddy.jobs.commands.run import submission
from eddy.jobs.config.places import Mistakes
from eddy.jobs.config.references import import_function
from eddy.jobs.workloads.web import requests
from tests.house import LINKED, ROOT
from tests.test_readme import blocks

JOB = """
[query]
name = "own"
[streams.web]
time = "at"
delay = "10 seconds"
[streams.web.source]
format = "workload"
kind = "web"
parameters = { rows = 200 }
[filters.large]
on = "web"
function = "jobs.my_filters:is_large"
columns = ["size"]
[filters.even]
on = "web"
function = "operators.more.filters:is_even"
columns = ["size"]
[engine]
cells = 1
[trigger]
available_now = true
[sink]
format = "parquet"
path = "out"
[checkpoint]
location = "checkpoint"
[spark]
"spark.ui.enabled" = "false"
"spark.driver.bindAddress" = "127.0.0.1"
"""

# `jobs` has no __init__.py, as many a folder beside a script has none; `policies` is known to a worker alone.
FILES = {
    "job.toml": JOB,
    "jobs/my_filters.py": "def is_large(size):\n    from policies import LEAST\n    return size >= LEAST\n",
    "policies/__init__.py": "LEAST = 500\n",
    "operators/__init__.py": "",
    "operators/more/__init__.py": "",
    "operators/more/filters.py": "def is_even(size):\n    return size % 2 == 0\n",
    "local.py": """
import pyarrow as pa
import eddy
from jobs.my_filters import is_large
from operators.more.filters import is_even

query = eddy.Query(
    name="own",
    streams=[eddy.Stream(name="web", time="at")],
    filters=[
        eddy.Filter(name="large", on="web", function=is_large, columns=["size"]),
        eddy.Filter(name="even", on="web", function=is_even, columns=["size"]),
    ],
)
sizes = [100, 500, 501, 502]
result = eddy.run_local(query, {"web": pa.table({"at": [0, 1, 2, 3], "size": sizes})})
print(sorted(result.results["web_size"].to_pylist()))
""",
}

SHIPPED = ("eddy", *LINKED)
EXPERIMENT = str(ROOT / "conf" / "experiments" / "quick.toml")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder of a user's project."""
    for name, text in FILES.items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text(text)
    return tmp_path / "own"


def python_without_eddy(place: Path) -> Path:
    """A Python of its own that has what the tests' Python has, and no eddy."""
    venv.create(place, symlinks=True)
    inside = sysconfig.get_path("purelib", vars={"base": str(place), "platbase": str(place)})
    Path(inside, "tests.pth").write_text(sysconfig.get_path("purelib"))
    return place / "bin" / "python"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    return python_without_eddy(tmp_path / "bare")


def ended(*command: str | Path, cwd: Path, **more: str) -> str:
    """What a command prints, which must end well; nothing of the environment says where eddy is."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    done = subprocess.run(command, cwd=cwd, env={**env, **more}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def expected() -> list[int]:
    sizes = requests(200)["size"].to_pylist()
    return sorted(size for size in sizes if size >= 500 and size % 2 == 0)


def found(own: Path) -> list[int]:
    return sorted(pq.read_table(own / "out")["web_size"].to_pylist())


@pytest.mark.process
def test_a_local_run_beside_them(own: Path) -> None:
    assert ended(sys.executable, "local.py", cwd=own) == "[500, 502]\n"


@pytest.mark.process
def test_a_job_of_a_checkout_that_nobody_has_installed(own: Path, bare: Path) -> None:
    """Started in the checkout, where Spark's workers would find its folders first: they begin in the same folder."""
    command = submission(str(own / "job.toml"), [], ["--master", "local[2]"], quiet=True)
    ended(*command, cwd=ROOT, PYSPARK_PYTHON=str(bare), PYSPARK_DRIVER_PYTHON=str(bare))
    assert found(own) == expected()


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and a sdist of the tree as it is."""
    pytest.importorskip("setuptools", minversion="77", reason="building a package needs setuptools 77 or newer")
    tree = tmp_path_factory.mktemp("tree")
    for name in SHIPPED:
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    build = "from setuptools.build_meta import build_sdist as s, build_wheel as w; s('made'); w('made')"
    ended(sys.executable, "-W", "ignore", "-c", build, cwd=tree)
    return tree / "made"


def modules_of_a_wheel() -> set[str]:
    """Every file of ours that is imported, under the one name that it has, but for what experiments alone need."""
    packed = (Path(folder, name) for folder, _, names in os.walk(ROOT / "eddy", followlinks=True) for name in names)
    names = {path.relative_to(ROOT).as_posix() for path in packed if path.suffix == ".py"}
    return {name for name in names if not name.startswith("eddy/jobs/experiments/")}


def install(wheel: Path, bare: Path, folder: Path) -> None:
    ended(sys.executable, "-m", "pip", "--python", bare, "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)


@pytest.mark.process
def test_a_wheel_has_one_name_and_runs_beside_them(own: Path, bare: Path, packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    assert {name for name in names if name.endswith(".py")} == modules_of_a_wheel()
    (info,) = {name.partition("/")[0] for name in names} - {"eddy"}
    assert info.endswith(".dist-info")
    top = next(name for name in names if name.endswith("top_level.txt"))
    with zipfile.ZipFile(wheel) as packed:
        assert packed.read(top).split() == [b"eddy"]
    install(wheel, bare, own)
    assert ended(bare, "local.py", cwd=own) == "[500, 502]\n"
    assert "job.toml" in ended(bare.parent / "eddy", "validate", "job.toml", cwd=own)
    assert "Firefox" in ended(bare, "-c", blocks("README.md")[0], cwd=own)


@pytest.mark.process
def test_what_only_a_clone_has_is_told_of(own: Path, bare: Path, packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    install(wheel, bare, own)
    (own / "lab.toml").write_text(JOB.replace('"web"\nparameters = { rows = 200 }', '"lab"'))
    for command, what in (("validate", 'workload "lab"'), ("compare", f'"{EXPERIMENT}"')):
        asked: list[str | Path] = [bare.parent / "eddy", command, "lab.toml" if command == "validate" else EXPERIMENT]
        done = subprocess.run(asked, cwd=own, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"{what}: expected a clone of the repository, where experiments are" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.process
def test_a_project_of_a_wheel_and_of_the_zip(own: Path, bare: Path, packages: Path) -> None:
    """A project is made, is right, and passes its tests."""
    (wheel,) = packages.glob("*.whl")
    install(wheel, bare, own)
    dist.pack(own / "eddy.zip")
    zipped = {"PYTHONPATH": str(own / "eddy.zip")}
    for name, python, more in (("wheel", bare, {}), ("zip", python_without_eddy(own / "other"), zipped)):
        eddy: list[str | Path] = [python, "-m", "eddy.jobs.cli"]
        assert f"next: cd {name} && eddy run job.toml" in ended(*eddy, "init", name, cwd=own, **more)
        assert "3 passed" in ended(python, "-m", "pytest", "-q", cwd=own / name, **more)


@pytest.mark.long  # the job of a checkout is run in every test
@pytest.mark.process
def test_a_job_of_a_wheel(own: Path, bare: Path, packages: Path) -> None:
    (wheel,) = packages.glob("*.whl")
    install(wheel, bare, own)
    ended(bare.parent / "eddy", "run", "job.toml", "--quiet", cwd=own, PYSPARK_PYTHON=str(bare))
    assert found(own) == expected()
    ended(bare.parent / "eddy", "init", "demo", cwd=own)
    told = ended(bare.parent / "eddy", "run", "job.toml", cwd=own / "demo", PYSPARK_PYTHON=str(bare))
    assert "finished after micro-batch" in told


@pytest.mark.long  # a wheel is installed without what it needs in every test
@pytest.mark.process
def test_a_wheel_in_an_empty_environment(tmp_path: Path, packages: Path) -> None:
    """It installs what it needs, and the first program of the README runs, as does a project's check."""
    (wheel,) = packages.glob("*.whl")
    venv.create(tmp_path / "empty", symlinks=True)
    python = tmp_path / "empty" / "bin" / "python"
    asked: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "-q", wheel]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stderr or "Connection" in done.stderr:
        pytest.skip("no registry of packages can be reached")
    assert done.returncode == 0, done.stderr
    assert "Firefox" in ended(python, "-c", blocks("README.md")[0], cwd=tmp_path)
    ended(python.parent / "eddy", "init", "demo", cwd=tmp_path)
    assert "is right" in ended(python.parent / "eddy", "validate", "job.toml", cwd=tmp_path / "demo")


@pytest.mark.process
def test_a_sdist_has_every_file_once(packages: Path) -> None:
    (sdist,) = packages.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        names = [name.partition("/")[2] for name in packed.getnames() if name.endswith(".py")]
    assert set(names) == modules_of_a_wheel()
    assert len(names) == len(set(names))


def test_a_folder_that_another_one_hides_is_named(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (own / "json").mkdir()
    mistakes = Mistakes(file=str(own / "job.toml"))
    assert import_function("json.mine:is_large", ("filters", "large", "function"), mistakes) is None
    ((_, told),) = mistakes.found
    assert 'no module "json.mine" for "json.mine:is_large"; "json" comes from ' in told
    assert told.endswith(f'and hides "{own}/json"')
