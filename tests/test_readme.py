"""The code of the README and of the docs runs, and prints what it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/spark.md", "docs/from_pandas_udf.md", "docs/statements.md", "docs/together.md"]

PATIENCE = 900
"""Seconds for a process that starts a Spark of its own, on a machine with other work."""

FOREIGN = """#!/bin/sh
echo "this Python knows nothing of us" >&2
exit 3
"""
"""What stands first on the path of somebody who has called ours by its place in a virtual environment."""


def blocks(page: str) -> list[str]:
    """The programs of a page; each may go on from the one before."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


def said(program: str) -> list[str]:
    """What a program says that it prints."""
    return re.findall(r"^print\(.*\)\s+# ([\[{].*[\]}])$", program, re.MULTILINE)


@pytest.mark.process
@pytest.mark.timeout(PATIENCE)
def test_the_readme_from_another_folder(tmp_path: Path) -> None:
    """Nobody has said which Python Spark is to start its workers with, and the one on the path is no good."""
    foreign = tmp_path / "bin" / "python3"
    foreign.parent.mkdir()
    foreign.write_text(FOREIGN)
    foreign.chmod(0o755)
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks("README.md")))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment["PATH"] = f"{foreign.parent}{os.pathsep}{environment['PATH']}"
    command = [sys.executable, program.name]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert said(program.read_text())
    assert [text for text in said(program.read_text()) if text not in ran.stdout] == []
    assert "Warning" not in ran.stderr
    assert "Exception" not in ran.stderr, "the JVM lives on for a moment, and may not ask a Python that has ended"


def test_a_combination_can_be_followed_as_the_docs_say(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks("docs/wrong_answer.md")
    exec(program, {})
    printed = capsys.readouterr().out
    assert len(said(program)) == 2
    assert [text for text in said(program) if text not in printed] == []


def commands(page: str, program: str) -> list[list[str]]:
    """The commands of a page that start with a program."""
    shown = "\n".join(re.findall(r"```sh\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL))
    return [words for line in shown.splitlines() if (words := shlex.split(line, comments=True))[:1] == [program]]


@pytest.mark.process
def test_the_commands_of_the_readme_from_another_folder(tmp_path: Path) -> None:
    """All but those that start Spark, which `eddy run` does in other tests."""
    (job,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "job.toml").write_text(job)
    asked = commands("README.md", "eddy")
    assert {words[1] for words in asked} == {"init", "run", "validate", "explain"}
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for words in (words for words in asked if words[1] != "run"):
        command = [sys.executable, "-m", "eddy.jobs.cli", *words[1:]]
        ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "demo" / "job.toml").is_file()


def test_no_command_of_the_readme_is_of_a_clone_but_make() -> None:
    """A path that only a clone has would not be there from another folder."""
    shown = "".join(re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL))
    assert not re.findall(r"\.venv/|jobs/|conf/", shown)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("page", PAGES[1:])
def test_code_in_the_docs(capsys: pytest.CaptureFixture[str], page: str) -> None:
    known = {"__name__": "__main__"}  # functions of a program of its own are sent to Spark's workers as they are
    for block in blocks(page):
        exec(compile(block, page, "exec"), known)
        printed = capsys.readouterr().out
        assert said(block)
        assert [text for text in said(block) if text not in printed] == []


def test_there_is_code_in_the_docs() -> None:
    assert [len(blocks(page)) for page in PAGES] == [3, 1, 4, 2, 2]
