"""The examples are right; a broken one is answered with what to change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eddy.config import load
from jobs import cli
from jobs.checking import check
from tests.house import ROOT

EXAMPLES = sorted((ROOT / "conf").glob("*.toml"))
QUICKSTART = (ROOT / "conf" / "quickstart.toml").read_text("utf-8")


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in the examples are relative to the checkout."""
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_right(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checked = check(load(example))
    assert checked.binding is not None
    assert checked.warnings == ()
    assert cli.main(["validate", str(example)]) == 0
    assert "is right" in capsys.readouterr().out


def test_there_is_an_example_of_every_kind() -> None:
    jobs = [load(example) for example in EXAMPLES]
    shapes = {(len(job.query.streams), len(job.query.tables)) for job in jobs}
    assert {(1, 0), (2, 0), (3, 2)} <= shapes
    assert any(job.sink["format"] == "kafka" for job in jobs)


BROKEN = {
    "a key is misspelt": (
        'delay = "10 seconds"',
        'dely = "10 seconds"',
        "line 15, streams.web.dely: ",
        '"delay"',
    ),
    "a value has the wrong type": ("cells = 2", 'cells = "two"', "engine.cells: expected a whole number", "got 'two'"),
    "a duration is none": ("10 seconds", "10 secs", "line 15, streams.web.delay: ", 'unit "secs"'),
    "a policy is misspelt": ('name = "content"', 'name = "contents"', "policy.name: unknown policy", '"content"'),
    "a function is not there": (
        "looks_scripted",
        "looks_script",
        "filters.scripted.function: ",
        '"looks_scripted"',
    ),
    "a module is not there": ("jobs.web:bad", "jobs.wep:bad", 'no module "jobs.wep"', "--py-files"),
    "a column is not there": ("signed and size", "singed and size", "filters.signed.where: ", 'did you mean "signed"?'),
    "a stream is not there": ('on = "web"\nwhere', 'on = "wep"\nwhere', "filters.signed: ", 'did you mean "web"?'),
    "SQL is cut short": ("size > 100", "size >", "filters.signed.where: ", "expected a value, the text ends here"),
    "a text has no quotes": ('time = "at"', "time = at", "not TOML", "at line 14"),
    "a format is misspelt": ('format = "console"', 'format = "consol"', "sink.format: unknown format", '"console"'),
    "a section is misspelt": ("[trigger]", "[triger]", "triger: unknown key", 'did you mean "trigger"?'),
    "a workload's parameter is unknown": ("rows = 20_000", "row = 1", "streams.web.source: ", 'did you mean "rows"?'),
    "a selected column is not there": ('"web.size"', '"web.sice"', "query.select: ", 'did you mean "size"?'),
    "the sink needs a checkpoint": (
        'format = "console"\nrows = 3',
        'format = "parquet"\npath = "build/x"',
        "checkpoint.location: expected a folder",
        "add it",
    ),
}


@pytest.mark.parametrize(("old", "new", "where", "what"), BROKEN.values(), ids=BROKEN)
def test_a_broken_job_says_what_to_change(
    old: str, new: str, where: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in QUICKSTART
    (tmp_path / "broken.toml").write_text(QUICKSTART.replace(old, new, 1), "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err
    assert where in told
    assert what in told
    assert "Traceback" not in told


def test_the_first_job_of_the_readme_is_right(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "job.toml").write_text(text, "utf-8")
    assert check(load(tmp_path / "job.toml")).warnings == ()


def test_mistakes_against_the_data_are_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        QUICKSTART.replace("signed and", "singed and")
        .replace('"agent"]\n', '"agend"]\n')
        .replace("web.size", "web.sice")
    )
    (tmp_path / "broken.toml").write_text(text, "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err
    assert "3 mistakes" in told
    assert [word for word in ('"signed"', '"agent"', '"size"') if f"did you mean {word}?" not in told] == []
