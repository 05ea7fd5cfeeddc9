"""The demo runs as `make demo` runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jobs import demo
from jobs.commands.demo import POLICIES
from tests.house import ROOT


def test_every_order_gives_the_same_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    printed = capsys.readouterr().out
    assert "answers: all the same" in printed
    assert "random" in printed


@pytest.mark.timeout(600)
def test_every_policy_gives_the_same_answer_on_spark() -> None:
    command = [sys.executable, "-m", "jobs.cli", "demo", "--rows", "4000"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:-2]] == list(POLICIES)
    assert "answers: all the same" in done.stdout
