"""The tests notice what they are for: every bug of a list is put in, by itself, and some test must fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bugs import BUGS, Bug
from tests.house import ROOT

FOLDERS = ("eddy", "operators", "policies", "jobs", "benchmarks", "tests", "conf", "docs")
FILES = ("setup.cfg", "ruff.toml")

FAILED = 1
"""What pytest ends with when tests have failed: not when there were none, or when it could not begin."""

PATIENCE = 300
"""Seconds for one bug; a test that hangs has not found it."""

BY_NAME = {bug.name: bug for bug in BUGS}


def broken(text: str, bug: Bug) -> str:
    """A file with a bug in it."""
    count = text.count(bug.old)
    assert count == 1, (
        f'bug "{bug.name}": expected its text once in {bug.file}, got it {count} times; '
        f"renew its entry in tests/bugs.py for the code as it is now: {bug.old}"
    )
    return text.replace(bug.old, bug.new)


def test_there_are_bugs_of_every_kind() -> None:
    assert len(BY_NAME) == len(BUGS) >= 20
    rooms = {bug.file.rpartition("/")[0] for bug in BUGS}
    assert {
        "eddy/engine",
        "eddy/spark",
        "eddy/spark/layout",
        "eddy/sql/kernels",
        "operators",
        "policies/content",
    } <= rooms


@pytest.mark.parametrize("name", BY_NAME)
def test_a_bug_fits_the_code(name: str) -> None:
    bug = BY_NAME[name]
    changed = broken((ROOT / bug.file).read_text("utf-8"), bug)
    compile(changed, bug.file, "exec")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of everything that a test needs."""
    place = tmp_path_factory.mktemp("tree")
    for folder in FOLDERS:
        # The links within stay links: a bug goes into the file that is imported.
        shutil.copytree(ROOT / folder, place / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for file in FILES:
        shutil.copy(ROOT / file, place / file)
    return place


def ended(tree: Path, tests: tuple[str, ...], patience: float = PATIENCE) -> subprocess.CompletedProcess[str]:
    """Run some tests in a tree, until the first that fails."""
    quick = {"EDDY_HYPOTHESIS_PROFILE": "bugs", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(tree)}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not long", *tests]
    return subprocess.run(
        command, cwd=tree, env={**os.environ, **quick}, capture_output=True, text=True, timeout=patience, check=False
    )


@pytest.mark.long
@pytest.mark.parametrize("name", BY_NAME)
def test_a_bug_is_noticed(name: str, tree: Path) -> None:
    bug = BY_NAME[name]
    file = tree / bug.file
    right = file.read_text("utf-8")
    file.write_text(broken(right, bug), "utf-8")
    try:
        done = ended(tree, bug.tests)
    finally:
        file.write_text(right, "utf-8")
    assert done.returncode == FAILED, done.stdout[-2_000:] + done.stderr[-2_000:]
    assert "failed" in done.stdout.splitlines()[-1], done.stdout[-2_000:]


@pytest.mark.long
@pytest.mark.timeout(2_000)
def test_without_a_bug_nothing_is_noticed(tree: Path) -> None:
    """Else what fails above would say nothing. All of their files are run at once, with tests that no bug asks for."""
    files = dict.fromkeys(word.partition("::")[0] for bug in BUGS for word in bug.tests if "/" in word)
    done = ended(tree, tuple(files), patience=1_800)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
