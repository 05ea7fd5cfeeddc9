"""Jobs whose query is one statement."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import eddy
import eddy.jobs.workloads.web
from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config.config import Job, load
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import check
from eddy.jobs.workloads.web import has_session, looks_scripted

JOB = """
[query]
name = "asked"
max_results = 9
sql = '''
SELECT /*+ POLICY(content), CELLS(3) */ w.at, w.agent
FROM STREAM web AS w WHERE has_session(w.cookie) AND w.size > 100 AND scripted(w.agent)
'''
[streams.web]
time = "at"
delay = "1 minute"
source = { format = "workload", kind = "web" }
[functions]
has_session = { function = "eddy.jobs.workloads.web:has_session" }
scripted = { function = "eddy.jobs.workloads.web:looks_scripted", on_error = "drop" }
"""


def read(folder: Path, text: str = JOB, *sets: str) -> Job:
    file = folder / "job.toml"
    file.write_text(text, "utf-8")
    return load(file, map(from_command, sets))


def test_a_statement_says_what_lists_say(tmp_path: Path) -> None:
    job = read(tmp_path)
    assert job.query == eddy.Query(
        name="asked",
        streams=[eddy.Stream("w", time="at", delay="60 seconds")],
        filters=[
            eddy.Filter("has_session", on="w", function=has_session, columns=["cookie"]),
            eddy.Filter(job.query.filters[1].name, on="w", where="size > 100"),
            eddy.Filter("scripted", on="w", function=looks_scripted, columns=["agent"], on_error="drop"),
        ],
        select=["w.at", "w.agent"],
        max_results=9,
    )
    assert (job.policy["name"], job.engine["cells"]) == ("content", 3)
    # A workload knows its rows by the name of the source, and not by the alias.
    assert job.sources["w"]["input"] == "web"
    assert check(job).binding is not None


def test_what_the_file_says_goes_before_a_hint(tmp_path: Path) -> None:
    job = read(tmp_path, JOB, "policy.name=source", "engine.cells=2")
    assert (job.policy["name"], job.engine["cells"]) == ("source", 2)


def test_lists_add_to_a_statement(tmp_path: Path) -> None:
    more = JOB + '[filters.large]\non = "w"\nwhere = "size > 200"\n[engine.sizes]\nw = 3\n'
    assert [one.where for one in read(tmp_path, more).query.filters] == [None, "size > 100", None, "size > 200"]


def test_one_source_under_two_names(tmp_path: Path) -> None:
    twice = JOB.replace("AS w WHERE", "AS w JOIN STREAM web AS x ON w.cookie = x.cookie AND w.at = x.at WHERE")
    job = read(tmp_path, twice)
    assert [*job.sources] == ["w", "x"]
    assert job.sources["w"] == job.sources["x"]
    assert [stream.delay for stream in job.query.streams] == ["1 minute", "1 minute"]
    assert [stream.source for stream in job.query.streams] == ["web", "web"]
    assert check(job).warnings == ()


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("w.size > 100", "w.size >", "line 5, query.sql: .*\n.*WHERE has_session"),
        ("scripted(w", "scriptd(w", 'query.sql: unknown function "scriptd"; did you mean "scripted"'),
        ("w.agent\n", "w.agnt\n", 'line 5, query.sql: select "w.agnt": unknown column "agnt"; did you mean "agent"'),
        ("w.size >", "w.sice >", 'line 5, query.sql: filter "sice_.*unknown column "sice"'),
        ("STREAM web", "STREAM wep", 'query.sql: unknown stream or table "wep"; did you mean "web"'),
        ("AS w WHERE", "AS w JOIN usrs AS u ON u.id = w.size WHERE", 'query.sql: unknown stream or table "usrs"'),
        ("AS w WHERE has", "AS w JOIN STREAM web AS x ON w.at = x.at WHERE size > 1 AND has", "write w.size or x.size"),
        (
            "AS w WHERE",
            "AS w JOIN STREAM web AS x ON w.at = x.agent - INTERVAL 1 DAY WHERE",
            "line 5, query.sql: join .*cast the text",
        ),
        ("max_results", 'select = ["w.at"]\nmax_results', "line 4, query.select: the statement in sql says it"),
        ("web:has_session", "web:has_sesion", 'functions.has_session.function: .*did you mean "has_session"'),
        ('on_error = "drop"', 'on_eror = "drop"', 'functions.scripted.on_eror: unknown key "on_eror"'),
        ('delay = "1 minute"', "", None),
        (
            "[functions]",
            '[tables.other]\nsource={format="workload", kind="shop", input="users"}\n[functions]',
            "not read",
        ),
        ("STREAM web AS w", "web AS w", None),
        ("AS w WHERE", "WATERMARK at DELAY OF INTERVAL 2 MINUTES AS w WHERE", "delay: the statement says 2 minutes"),
        ("[streams.web]", "[tables.web]", "leave the word STREAM out"),
    ],
)
def test_mistakes_have_their_place(tmp_path: Path, old: str, new: str, told: str | None) -> None:
    assert old in JOB
    text = JOB.replace(old, new)
    if told is None:
        assert check(read(tmp_path, text)).binding is not None
        return
    with pytest.raises(QueryError, match=told):
        check(read(tmp_path, text)).job.mistakes.check()


def test_the_command_tells_the_plan_and_shows_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = '[filters.large]\non = "w"\nwhere = "size > 200"\n[engine.sizes]\nw = 3\n'
    read(tmp_path, JOB.replace("max_results = 9", "") + more)
    text = "SELECT v.size, v.agent FROM STREAM web AS v WHERE v.size > 4000 AND scripted(v.agent)"
    assert cli.main(["sql", str(tmp_path / "job.toml"), text, "--sample", "500"]) == 0
    told = capsys.readouterr().out
    assert "filter scripted: a Python function" in told
    assert "large" not in told
    data = eddy.jobs.workloads.web.web().data["web"].sort_by("at").slice(0, 500).to_pylist()
    expected = [row for row in data if row["size"] > 4000 and "script" in row["agent"]]
    assert f"{len(expected)} results over a sample of 500 rows of v; the first 20:" in told
    assert [line.split()[0] for line in told.splitlines()[-21:-1]] == [str(row["size"]) for row in expected[:20]]


def test_statements_come_from_the_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    read(tmp_path)
    first, second = "SELECT w.at FROM STREAM web AS w;", "SELECT w.size\nFROM STREAM web AS w\nWHERE w.sice > 1"
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{first}\n\n{second}\n"))
    assert cli.main(["sql", str(tmp_path / "job.toml")]) == 2
    told = capsys.readouterr()
    assert "select w.at AS at" in told.out
    assert 'the statement, query.sql: filter "sice_' in told.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))
    assert cli.main(["sql", str(tmp_path / "job.toml")]) == 2
    assert "expected a statement such as" in capsys.readouterr().err


def test_a_function_that_nothing_calls_needs_a_statement(tmp_path: Path) -> None:
    text = JOB.partition("sql = ")[0] + JOB.partition("'''\n[")[2].join(["[", ""])
    with pytest.raises(QueryError, match=r"functions\.scripted: expected a statement that calls it"):
        read(tmp_path, text)
