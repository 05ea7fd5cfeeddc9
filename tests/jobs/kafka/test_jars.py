"""Why there are no jars is said: no Maven, one that fails, one that hangs; older ones are taken where they must be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.jobs.kafka import jars

PROGRAM = """#!/bin/sh
for word in "$@"; do
    case "$word" in -Dbroker=*|-Dconnector=*|-Dtokens=*|-DoutputDirectory=*) export "${{word#-D}}"; esac
done
{body}
"""
"""A program by the name of mvn that knows what it is asked for."""

FETCHES = 'mkdir -p "$outputDirectory"; touch "$outputDirectory/a$broker$connector$tokens.jar"'
BEHIND = f'if [ "$tokens" = "{jars.CONNECTORS[-1][1]}" ] || [ -n "$broker" ]; then {FETCHES}; else {{fails}}; fi'
FAILS = 'echo "[ERROR] no such jar: $connector $tokens -> [Help 1]"; echo "[ERROR] more"; exit 1'


def maven(place: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "bin").mkdir()
    program = place / "bin" / "mvn"
    program.write_text(PROGRAM.format(body=body))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}")


def test_no_maven_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(jars.Missing, match="mvn: not found; install Maven"):
        jars.jars(tmp_path)


@pytest.mark.process
def test_why_it_fails_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maven(tmp_path, FAILS, monkeypatch)
    with pytest.raises(jars.Missing, match=rf"^broker {jars.BROKER}: no such jar:  $"):
        jars.jars(tmp_path / "jars")
    assert list((tmp_path / "jars").iterdir()) == []


@pytest.mark.process
def test_one_that_hangs_is_ended_with_its_children(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maven(tmp_path, "sleep 600 & wait", monkeypatch)
    monkeypatch.setattr(jars, "PATIENCE", 0)
    with pytest.raises(jars.Missing, match="not done after 0 seconds"):
        jars.jars(tmp_path / "jars")


@pytest.mark.process
def test_a_repository_that_is_behind_gives_older_ones_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    maven(tmp_path, BEHIND.format(fails=FAILS), monkeypatch)
    found = jars.jars(tmp_path / "jars")
    assert [one.name for one in found.broker] == [f"a{jars.BROKER}.jar"]
    assert [one.name for one in found.connector] == [f"a{''.join(jars.CONNECTORS[-1])}.jar"]
    (tmp_path / "bin" / "mvn").unlink()
    assert jars.jars(tmp_path / "jars") == found
