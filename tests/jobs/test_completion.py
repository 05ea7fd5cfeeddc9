"""Shells complete what the parser reads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from eddy.jobs import cli
from eddy.jobs.commands.completion import PLACES, read_commands


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.fixture
def complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "eddy.bash").write_text(script("bash", capsys), "utf-8")
    (tmp_path / "job.toml").touch()
    return tmp_path


def completed(place: Path, *words: str) -> list[str]:
    """What bash offers for the last of some words."""
    listed = " ".join(f"'{word}'" for word in ("eddy", *words))
    asked = f"COMP_WORDS=({listed}); COMP_CWORD={len(words)}; _eddy; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    told = subprocess.check_output(["bash", "-c", f". ./eddy.bash; {asked}"], cwd=place, text=True)
    return told.split()


@pytest.mark.process
def test_bash_completes_what_there_is(complete: Path) -> None:
    assert completed(complete, "") == [*cli.COMMANDS, "--help", "--version"]
    assert completed(complete, "va") == ["validate"]
    assert completed(complete, "run", "jo") == ["job.toml"]
    assert completed(complete, "run", "job.toml", "--log") == ["--log-format"]
    assert completed(complete, "run", "job.toml", "--log-format", "") == ["text", "json"]
    assert completed(complete, "completion", "z") == ["zsh"]
    assert "--resume" in completed(complete, "compare", "job.toml", "--re")
    assert completed(complete, "nothing", "--") == []


def test_every_option_of_every_command_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {one.name: one for one in read_commands(cli.make_parser())}
    assert set(commands) == set(cli.COMMANDS)
    names = {name for option in commands["run"].options for name in option.names}
    assert {"--profile", "--set", "--log-format", "--quiet", "-h"} <= names
    for shell in PLACES:
        told = script(shell, capsys)
        for command in commands.values():
            for option in command.options:
                assert all(name.lstrip("-") in told for name in option.names)


@pytest.mark.process
@pytest.mark.parametrize("shell", PLACES)
def test_the_shell_reads_it(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "eddy").write_text(script(shell, capsys), "utf-8")
    subprocess.run([shell, "-n", str(tmp_path / "eddy")], check=True)
