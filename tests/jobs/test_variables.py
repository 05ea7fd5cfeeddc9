"""Values of the environment, and profiles: who wins, and that nobody is told what a variable says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config.config import Job, load, write_resolved, write_stated
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.error_text import explain_error
from eddy.redaction import HIDDEN

CANARY = "c4n4ry"

JOB = """
[query]
name = "q"
[streams.web]
time = "at"
[streams.web.source]
format = "workload"
kind = "web"
per_trigger = 500
[filters.signed]
on = "web"
where = "signed"
[policy]
name = "content"
alpha = 0.5
[sink]
format = "console"
rows = 3
[profile.prod.engine]
cells = 32
[profile.prod.policy]
name = "fixed"
[profile.prod.sink]
format = "parquet"
path = "out"
[profile.prod.checkpoint]
location = "checkpoint"
[profile.dev.sink]
rows = 5
[profile.wrong.engine]
cells = "many"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "job.toml"


def read(place: Path, text: str = JOB, *sets: str, profile: str | None = None) -> Job:
    place.write_text(text, "utf-8")
    return load(place, map(from_command, sets), profile)


SAID: Mapping[str, tuple[str, str, str, object]] = {
    "a whole number": ("cells", "engine", "8", 8),
    "a flag": ("pushdown", "engine", "false", False),
    "a text of digits stays a text": ("x.password", "spark", "0123", "0123"),
    "a fraction of a policy": ("alpha", "policy", "0.25", 0.25),
    "a duration": ("every", "trigger", "2 seconds", "2 seconds"),
    "no variable within a variable": ("x", "spark", "${HOME}", "${HOME}"),
    "no list": ("x", "spark", "[1, 2]", "[1, 2]"),
}


@pytest.mark.parametrize("case", SAID)
def test_a_variable_is_taken_as_it_is(case: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, section, said, expected = SAID[case]
    monkeypatch.setenv("EDDY_TEST", said)
    line = f'[{section}]\n{key} = "${{EDDY_TEST}}"\n'
    text = JOB.replace("alpha = 0.5\n", line.partition("\n")[2]) if section == "policy" else JOB + line
    job = read(place, text)
    found = job.spark[f"spark.{key}"] if section == "spark" else job.values[section][key]
    assert (found, type(found)) == (expected, type(expected))
    assert '"${EDDY_TEST}"' in write_resolved(job) or key == "x.password"


def test_a_part_of_a_text_a_default_and_a_dollar(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_TEST", "box")
    monkeypatch.setenv("EDDY_EMPTY", "")
    lines = 'a = "s3a://${EDDY_TEST}/${EDDY_NONE:-in}"\nb = "$${HOME}"\nc = "${EDDY_EMPTY:-e}"\nd = "${EDDY_NONE:-}."\n'
    job = read(place, f"{JOB}[spark]\n{lines}")
    assert [job.spark[f"spark.{key}"] for key in "abcd"] == ["s3a://box/in", "${HOME}", "e", "."]
    stated = "\n".join(write_stated(job))
    assert "s3a://${EDDY_TEST}/${EDDY_NONE:-in}" in stated
    assert "box" not in stated


def test_sql_may_have_a_dollar(place: Path) -> None:
    job = read(place, JOB.replace('"signed"\n[policy]', "\"signed or agent = '$${x}'\"\n[policy]"))
    assert job.query.filters[0].where == "signed or agent = '${x}'"


def test_from_outside_too(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a secret need not stand in a command that everybody on the machine can list."""
    monkeypatch.setenv("EDDY_TEST", "7")
    assert read(place, JOB, "engine.cells=${EDDY_TEST}").engine["cells"] == 7


WRONG = {
    "not set": ("rows = 3", 'rows = "${EDDY_NONE}"', ('"EDDY_NONE" is not set', "line 18, sink.rows", ":-default}")),
    "no name": ("rows = 3", 'rows = "${1}"', ("line 18, sink.rows", 'expected a variable as "${NAME}"')),
    "no end": ("rows = 3", 'rows = "${EDDY"', ("line 18, sink.rows", 'write "$${"')),
    "in SQL": ('where = "signed"', 'where = "${EDDY_TEST}"', ("line 12, filters.signed.where", "not for SQL")),
    "no number": ("rows = 3", 'rows = "${EDDY_TEST}"', ("line 18, sink.rows", '1 or more, got "${EDDY_TEST}"')),
    "a name": ('"content"\nalpha = 0.5', '"${EDDY_TEST}"', ("line 14, policy.name", "unknown policy")),
}


@pytest.mark.parametrize("case", WRONG)
def test_one_mistake_says_which_variable_key_and_line(case: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDDY_TEST", "word")
    before, after, told = WRONG[case]
    with pytest.raises(QueryError) as caught:
        read(place, JOB.replace(before, after))
    assert "1 mistake\n" in str(caught.value) or case == "in SQL"
    for one in told:
        assert one in str(caught.value)


@pytest.mark.parametrize("key", ["password", "note"])
def test_what_a_secret_variable_says_is_in_no_text(
    key: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its key is that of a secret, or its own name is."""
    name = "EDDY_PASSWORD" if key == "note" else "EDDY_TEST"
    monkeypatch.setenv(name, CANARY)
    job = read(place, f'{JOB}[spark]\n{key} = "x ${{{name}}}"\n')
    assert job.hide(f"cannot log in with {CANARY}!") == f"cannot log in with {HIDDEN}!"
    assert CANARY not in explain_error(ValueError(f"no {CANARY}"), job.hide)
    for command in ("validate", "explain"):
        assert cli.main([command, str(place), *(["--resolved"] if command == "validate" else [])]) == 0
    assert cli.main(["validate", str(place), "--set", f"policy.name=${{{name}}}"]) == cli.FAILED
    told = capsys.readouterr()
    assert CANARY not in told.out + told.err
    assert CANARY not in "\n".join(write_stated(job))


def test_a_profile_wins_over_the_file_and_an_override_over_both(place: Path) -> None:
    assert read(place).sink["rows"] == 3
    assert read(place, profile="dev").sink["rows"] == 5
    assert read(place, JOB, "sink.rows=9", profile="dev").sink["rows"] == 9
    prod = read(place, profile="prod")
    assert (prod.sink["format"], prod.sink["path"]) == ("parquet", f"file://{place.parent}/out")
    assert "rows" not in prod.sink
    assert (prod.policy, prod.engine["cells"]) == ({"name": "fixed"}, 32)
    assert "engine.cells                    32" in write_resolved(prod)


def test_mistakes_of_a_profile_stand_in_it(place: Path) -> None:
    with pytest.raises(QueryError, match=r'line 31, profile\.wrong\.engine\.cells: .* got "many"'):
        read(place, profile="wrong")
    with pytest.raises(QueryError, match='unknown profile "pord"; did you mean "prod"'):
        read(place, profile="pord")
    with pytest.raises(QueryError, match=r"the file has no profile; add \[profile\.prod\]"):
        read(place, JOB.partition("[profile")[0], profile="prod")
    with pytest.raises(QueryError, match=r"expected tables \[profile\.NAME\]"):
        read(place, f"profile = 3\n{JOB.partition('[profile')[0]}")
