"""Jobs whose query is one statement."""

from __future__ import annotations

import io
import re
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy
import eddy.jobs.workloads.web
from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config.config import Job, load, read_job
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import check
from eddy.jobs.sources.known_columns import find_columns
from eddy.jobs.workloads.web import has_session, looks_scripted

ROOT = Path(__file__).parent.parent.parent

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


SHOP = """
[query]
sql = '''
SELECT page, price, country
FROM STREAM clicks WATERMARK at DELAY OF INTERVAL 1 MINUTE AS c
JOIN STREAM orders WATERMARK at DELAY OF INTERVAL 1 MINUTE AS o
  ON click = c.id AND o.at BETWEEN c.at AND c.at + INTERVAL 2 MINUTES
JOIN users AS u ON u.id = o.user
WHERE price > 50
'''
[streams]
clicks.source = { format = "workload", kind = "shop", parameters = { rows = 300 } }
orders.source = { format = "workload", kind = "shop", parameters = { rows = 300 } }
[tables]
users.source = { format = "workload", kind = "shop", parameters = { rows = 300 } }
"""


def read_whole(folder: Path, text: str, statement: str | None = None) -> Job:
    """Read a job as the commands do."""
    file = folder / "job.toml"
    file.write_text(text, "utf-8")
    return read_job(file, statement=statement, find_columns=find_columns)


def test_a_bare_column_is_of_the_input_that_has_it(tmp_path: Path) -> None:
    job = read_whole(tmp_path, SHOP)
    assert job.query.select == ("c.page AS page", "o.price AS price", "u.country AS country")
    assert job.query.joins[0] == "o.click = c.id"
    assert [(one.on, one.where) for one in job.query.filters] == [(("o",), "price > 50")]
    assert check(job).binding is not None
    with pytest.raises(QueryError, match=r'column "click" names no input, .*write c\.click or o\.click'):
        read(tmp_path, SHOP)
    every = read_whole(tmp_path, SHOP.replace("page, price, country", "o.*, count(*) + price"))
    assert every.query.select is not None
    assert len(every.query.select) == 5
    assert every.after is not None
    assert "count(*) + `o_price`" in every.after.text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("page, price", "id, price", 'query.sql: column "id" is in "c", "o", "u"; write c.id or the like'),
        ("page, price", "pege, price", 'query.sql: unknown column "pege"; did you mean "page"'),
        # What is wrong with a source hides its columns, and is told.
        (
            '"shop", parameters = { rows = 300 } }\n[tables]',
            '"shp" }\n[tables]',
            'streams.orders.source: .*unknown kind "shp"',
        ),
        ("rows = 300 } }\n[tables]", "raws = 300 } }\n[tables]", 'did you mean "rows"'),
        ('format = "workload", kind = "shop", parameters = { rows = 300 } }\n[tables]', "}\n[tables]", "source.format"),
        # Spark alone knows what its expressions give.
        ("300 } }\n[tables]", '300 }, select = ["*"] }\n[tables]', 'column "click" names no input'),
    ],
)
def test_what_bare_columns_may_not_be(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in SHOP
    with pytest.raises(QueryError, match=told):
        check(read_whole(tmp_path, SHOP.replace(old, new)))


def test_columns_are_known_from_a_schema_and_from_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "country": ["at"]}), tmp_path / "users.parquet")
    users = 'users.source = { format = "parquet", path = "users.parquet" }\n'
    clicks = (
        '[streams.clicks.source]\nformat = "json"\npath = "."\nadd = ["modified"]\n'
        'schema = { at = "timestamp", id = "bigint", page = "string" }\n'
    )
    text = SHOP.partition("clicks.source")[0].replace("[streams]\n", "").replace("SELECT", "SELECT file_modified,")
    orders = '[streams.orders]\nsource = { format = "workload", kind = "shop" }\n'
    job = read_whole(tmp_path, f"{text}{clicks}{orders}[tables]\n{users}")
    assert job.query.select == (
        *("c.file_modified AS file_modified", "c.page AS page", "o.price AS price", "u.country AS country"),
    )
    assert check(job).binding is not None


def test_the_commands_know_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.toml"
    file.write_text(SHOP, "utf-8")
    for command in (["validate"], ["explain"], ["sql", "SELECT * FROM STREAM clicks JOIN users USING (id)"]):
        assert cli.main([command[0], str(file), *command[1:]]) == 0
    assert "select clicks.id AS id, clicks.at AS at, clicks.user AS user" in capsys.readouterr().out


DRAWN = """
plan
  the eddy: select c.page AS page, o.price AS price, u.country AS country
  └─ join: u.id = o.user
     ├─ join: o.click = c.id and o.at BETWEEN c.at AND c.at + INTERVAL 2 MINUTES
     │  ├─ watermark of c: 1 minute behind the newest "at"
     │  │  └─ stream clicks AS c
     │  └─ watermark of o: 1 minute behind the newest "at"
     │     └─ filter price_NAME: price > 50, by Spark
     │        └─ stream orders AS o
     └─ table users AS u

access
"""


def test_a_statement_is_drawn_with_its_watermarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.toml"
    file.write_text(SHOP, "utf-8")
    assert cli.main(["explain", str(file)]) == 0
    assert DRAWN.strip() in re.sub(r"price_\w{4}:", "price_NAME:", capsys.readouterr().out)


def test_the_docs_draw_what_explain_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "statements.md").read_text("utf-8")
    assert cli.main(["explain", str(ROOT / "conf" / "aggregate_sql.toml")]) == 0
    plan = capsys.readouterr().out.partition("\nplan\n")[2].partition("\n\n")[0]
    assert f"```text\n{textwrap.dedent(plan)}\n```" in page
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert check(read_whole(tmp_path, text)).warnings == ()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, None),
        ({"BETWEEN c.at AND c.at + INTERVAL 2 MINUTES": "<= c.at"}, '"o_at" is the time of "o", .* nothing could be'),
        ({"BETWEEN c.at AND c.at + INTERVAL 2 MINUTES": "<= c.at", "window(o": "window(c"}, None),
        (
            {"WATERMARK at DELAY OF INTERVAL 1 MINUTE AS c": "AS c", "[streams]": '[streams]\nclicks.time = "at"'},
            r'query\.sql: expected a delay for each stream, .* got none for "c"',
        ),
    ],
)
def test_groups_must_close(tmp_path: Path, changes: dict[str, str], told: str | None) -> None:
    text = SHOP.replace("page, price, country", "count(*) AS n").replace("50\n", "50 GROUP BY window(o.at, '1 day')\n")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    if told is None:
        assert check(read_whole(tmp_path, text)).binding is not None
        return
    with pytest.raises(QueryError, match=told):
        check(read_whole(tmp_path, text))


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
        ("w.at, w.agent", "RSTREAM(w.at) EVERY 5", "line 5, query.sql: times are a timestamp, so the length of EVERY"),
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


@pytest.mark.parametrize(
    ("columns", "grouped", "is_after"),
    [("w.at", "", False), ("w.size + 1 AS more", "", True), ("count(*) AS n", "GROUP BY window(w.at, '1 hour')", True)],
)
def test_rows_before_spark_groups_them_are_called_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], columns: str, grouped: str, *, is_after: bool
) -> None:
    read(tmp_path, JOB.replace("max_results = 9", ""))
    text = f"SELECT {columns} FROM STREAM web AS w WHERE w.size > 4000 {grouped}"
    assert cli.main(["sql", str(tmp_path / "job.toml"), text, "--sample", "500"]) == 0
    assert (
        "\nthe eddy's rows, as they are before Spark computes and groups them:\n" in capsys.readouterr().out
    ) == is_after


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
