"""The examples are right; a broken one is answered with what to change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config.config import load, write_stated
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import check
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
    assert all(one.binding is not None for one in checked.members.values() or [checked])
    assert checked.warnings == ()
    assert cli.main(["validate", str(example)]) == 0
    assert "is right" in capsys.readouterr().out


def test_there_is_an_example_of_every_kind() -> None:
    jobs = [load(example) for example in EXAMPLES]
    shapes = {(len(query.streams), len(query.tables)) for job in jobs for query in job.queries}
    assert {(1, 0), (2, 0), (3, 2)} <= shapes
    assert any(len(job.queries) > 1 for job in jobs)
    assert any(job.sink["format"] == "kafka" for job in jobs)


EXAMPLE = {path.stem: path.read_text("utf-8") for path in EXAMPLES}
EXAMPLE["lists"] = """[streams.web]
time = "at"
source = { format = "workload", kind = "web", parameters = { rows = 10_000 } }
[filters]
session = { on = "web", function = "eddy.jobs.workloads.web:has_session", columns = ["cookie"] }
scripted = { on = "web", function = "eddy.jobs.workloads.web:looks_scripted", columns = ["agent"] }
bad_token = { on = "web", function = "eddy.jobs.workloads.web:bad_token", columns = ["body"], rowwise = true }
[policy]
name = "content"
[trigger]
available_now = true
"""

# A file, what is broken in it, the place that must be named, and what must be said to do or to know.
BROKEN = {
    "a key is misspelt": ("quickstart", 'delay = "10 seconds"', 'dely = "10 seconds"', "streams.web.dely: ", '"delay"'),
    "a value has the wrong type": ("quickstart", "cells = 2", 'cells = "two"', "engine.cells: ", "a whole number"),
    "a list is a text": ("lists", '["body"]', '"body"', "filters.bad_token.columns: ", "a list of texts"),
    "a duration is none": ("quickstart", "10 seconds", "10 secs", "streams.web.delay: ", 'unit "secs"'),
    "an interval is none": ("kafka", '"10 seconds"', '"soon"', "trigger.every: ", "expected a duration such as"),
    "two triggers": ("lists", "available_now = true", 'available_now = true\nevery = "1 s"', "trigger", "got both"),
    "the time is not there": ("lists", 'time = "at"', 'time = "when"', "streams.web: ", 'unknown column "when"'),
    "the time is not said": ("two_streams", 'time = "at"\n', "", "streams.clicks.time: ", "window is by event time"),
    "the time is a text": ("lists", 'time = "at"', 'time = "body"', "streams.web: ", "cast it"),
    "two windows": ("lists", "[filters]", 'window = "1 minute"\nrows = 3\n[filters]', "streams.web: ", "got both"),
    "a parameter of a policy is wrong": (
        *("quickstart", 'name = "auto"', 'name = "content"\nalpha = 5'),
        *("policy.alpha: ", "a share above 0 and up to 1, got 5"),
    ),
    "a parameter of a policy is missing": ("quickstart", '"auto"', '"knows"', "policy: ", 'the parameter "truth"'),
    "a classifier is not there": (
        "three_way",
        '["clicks.page", ',
        '["clicks.pag", ',
        "policy.attributes: ",
        '"clicks.page"',
    ),
    "a function takes less": ("lists", '["body"]', '["body", "size"]', ".function: ", "cannot be called with 2"),
    "a setup takes arguments": (
        *("lists", "rowwise = true", 'rowwise = true, setup = "eddy.jobs.workloads.web:bad_token"'),
        *("filters.bad_token", "cannot be called without arguments"),
    ),
    "a setup is not there": (
        *("lists", "rowwise = true", 'rowwise = true, setup = "eddy.jobs.workloads.web:bad"'),
        *("filters.bad_token.setup: ", 'has no "bad"'),
    ),
    "where and function": ("lists", '"body"]', '"body"], where = "true"', "filters.bad_token", "got both"),
    "a column is not there": ("quickstart", "signed and", "singed and", "signed.where: ", 'did you mean "signed"?'),
    "a stream is not there": ("quickstart", 'on = "web"\nwh', 'on = "wep"\nwh', "filters.signed: ", 'mean "web"?'),
    "SQL is cut short": ("quickstart", "size > 100", "size >", "filters.signed.where: ", "the text ends here"),
    "SQL is no condition": ("quickstart", "signed and size > 100", "size", "signed.where: ", "got bigint"),
    "a join has an unknown column": ("two_streams", "orders.click", "orders.clik", "query.joins: ", '"orders.click"'),
    "a join has an unknown stream": ("two_streams", "= orders.click", "= order.click", "query.joins: ", '"orders"?'),
    "a join is of one stream": ("two_streams", "= orders.click", "= 3", "query.joins: ", "is a filter"),
    "a text has no quotes": ("quickstart", 'time = "at"', "time = at", "not TOML", "at line 14"),
    "a bracket is missing": ("lists", "[streams.web]", "[streams.web", "not TOML", "at line 1"),
    "a filter stands twice": ("lists", "bad_token = {", "scripted = {", "not TOML", "stands only once"),
    "an input stands twice": ("three_way", "[tables.users]", "[tables.orders]", "streams: ", '"orders" stands twice'),
    "a name has a space": (
        "lists",
        "bad_token = {",
        '"bad token" = {',
        'filters."bad token": ',
        "letters",
    ),
    "the streams are misspelt": ("lists", "[streams.web]", "[stream.web]", "stream: ", 'did you mean "streams"?'),
    "a workload is not there": ("lists", '"web", p', '"wep", p', "streams.web.source: ", 'did you mean "web"?'),
    "a workload's parameter is unknown": (
        "lists",
        "{ rows",
        "{ row",
        "source.parameters.row: ",
        'did you mean "rows"?',
    ),
    "a workload's parameter is wrong": ("lists", "10_000", '"many"', "source.parameters.rows: ", "got 'many'"),
    "a workload's parameter is a date": (
        *("lists", "10_000", "2026-01-01"),
        *("streams.web.source.parameters.rows: ", "a number, true or false"),
    ),
    "a seed is no parameter": (
        *("lists", "10_000", "10_000, seed = 3"),
        *("streams.web.source.parameters.seed: ", 'unknown parameter "seed"'),
    ),
    "a format is called otherwise": (
        *("lists", "format =", "fromat ="),
        *("streams.web.source.format: ", 'did you mean "format" by "fromat"?'),
    ),
    "a format is not said": ("lists", 'format = "workload", ', "", "source.format: ", 'expected one of "parquet", '),
    "a file is not there": ("three_way", "countries.csv", "county.csv", ".source.path: ", "relative to the folder"),
    "a type is not there": ("three_way", 'code = "string"', 'code = "strin"', "source.schema.code: ", '"string"?'),
    "a size is of no stream": ("three_way", "orders = 2_000", "order = 2_000", "engine.sizes.order: ", '"orders"?'),
    "too many cells": ("three_way", "cells = 4", "cells = 4_000", "engine", "from 1 to 1,024"),
    "a selected column is not there": ("quickstart", "web.size", "web.sice", "query.select: ", 'did you mean "size"?'),
    "a selected column has no stream": ("quickstart", '"web.size"', '"size"', "query.select: ", '"stream.size"'),
    "a message has another form": ("kafka", 'value = "json"', 'value = "avro"', "source.value: ", '"csv", "json"'),
    "a topic begins nowhere": (
        "kafka",
        '"earliest"',
        '"earlyest"',
        "readings.source.starting: ",
        '"earliest", "latest"',
    ),
    "a column of messages is unknown": ("kafka", '"timestamp"]', '"time"]', "alarms.source: ", 'known: "key"'),
    "the sink needs a checkpoint": (
        *("quickstart", 'format = "console"\nrows = 3', 'format = "parquet"\npath = "build/x"'),
        *("checkpoint.location: expected a folder", "add it"),
    ),
    "a folder of the answer is unknown": (
        *("two_streams", 'path = "../build/', 'partition_by = ["prize"]\npath = "../build/'),
        *("sink.partition_by: ", 'did you mean "price"?'),
    ),
}


@pytest.mark.parametrize(("example", "old", "new", "where", "what"), BROKEN.values(), ids=BROKEN)
def test_a_broken_job_says_what_to_change(
    example: str, old: str, new: str, where: str, what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in EXAMPLE[example]
    text = EXAMPLE[example].replace(old, new, 1)
    (tmp_path / "broken.toml").write_text(text, "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err
    assert where in told
    assert what in told
    assert "Traceback" not in told
    lines = [int(number) for number in re.findall(r"^  line (\d+), ", told, re.MULTILINE)]
    assert all(line <= len(text.splitlines()) for line in lines)
    assert lines or "not TOML" in told or "checkpoint.location" in told


@pytest.mark.parametrize(("coded", "expected"), [("utf-16", "save it as UTF-8"), ("utf-8-sig", "is right")])
def test_how_a_file_is_coded_is_told_or_does_not_matter(
    coded: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.toml").write_text(QUICKSTART, coded)
    cli.main(["validate", str(tmp_path / "job.toml")])
    assert expected in "".join(capsys.readouterr())


def test_mistakes_in_one_part_hide_none_of_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = EXAMPLE["lists"].replace('"content"', '"query_mesh"\ncosts = "money"\nbudget_ms = "much"')
    (tmp_path / "broken.toml").write_text(text, "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err
    assert 'line 10, policy.costs: policy "query_mesh": costs: expected "time" or "unit"' in told
    assert 'line 11, policy.budget_ms: policy "query_mesh": budget_ms: expected a number' in told
    text = EXAMPLE["lists"].replace(
        "rowwise = true", 'rowwise = true, on_error = "skip", nulls = "drop", time_limit = "-5 s"'
    )
    (tmp_path / "broken.toml").write_text(text, "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err
    assert 'filters.bad_token.on_error: unknown on_error "skip"; known: "drop", "fail", "keep"' in told
    assert 'filters.bad_token.nulls: unknown nulls "drop"; known: "show", "skip"' in told
    assert "time_limit: expected a duration" in told


@pytest.mark.parametrize(
    ("example", "given", "said"),
    [
        ("three_way", 'policy={name="x_join", tree="((clicks order) users)"}', "  --set, policy.tree: "),
        ("batch_filters", "filters.scripted.cache=lots", '  --set, filters.scripted.cache: filter "scripted": cache'),
        ("batch_filters", "filters.bad_token.batch_size=2", "  --set, filters.bad_token.batch_size: "),
        ("batch_filters", "filters.scriptd.cache=9", 'no [filters.scriptd], did you mean "filters.scripted"?'),
    ],
)
def test_what_is_wrong_from_outside_is_told_there(example: str, given: str, said: str) -> None:
    with pytest.raises(QueryError, match="1 mistake") as raised:
        check(load(ROOT / "conf" / f"{example}.toml", [from_command(given)]))
    assert said in str(raised.value)


def test_a_section_from_outside_is_said_to_be_from_there() -> None:
    job = load(ROOT / "conf" / "three_way.toml", [from_command('policy={name="x_join"}')])
    assert 'policy.name="x_join" from="--set"' in "\n".join(write_stated(job))


def test_the_first_job_of_the_readme_is_right(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (tmp_path / "job.toml").write_text(text, "utf-8")
    assert check(load(tmp_path / "job.toml")).warnings == ()


def test_indexes_of_a_job_that_joins_nothing_are_a_warning() -> None:
    checked = check(load(ROOT / "conf" / "quickstart.toml", [from_command("index.kind=bits")]))
    (told,) = checked.warnings
    assert 'it joins nothing, so there are no indexes; take "index" away' in told
    assert check(load(ROOT / "conf" / "two_streams.toml", [from_command("index.kind=bits")])).warnings == ()


@pytest.mark.parametrize(("most", "warned"), [(10_000, True), (100_000_000, False)])
def test_rows_that_leave_no_room_for_indexes_are_a_warning(most: int, warned: bool, tmp_path: Path) -> None:
    text = (ROOT / "conf" / "two_streams.toml").read_text("utf-8").replace('window = "2 minutes"', "rows = 5_000")
    (tmp_path / "job.toml").write_text(text.replace("[query]", f"[query]\nmax_state = {most}"), "utf-8")
    told = [one for one in check(load(tmp_path / "job.toml")).warnings if "leaves no room for an index" in one]
    assert len(told) == warned


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


HIDING = """
[query]
joins = ["clicks.id = orders.clik", "clicks.id = order.id"]
select = ["orders.prize", "click.page"]
[streams.clicks]
time = "at"
window = "2 minutes"
source = { format = "workload", kind = "shop" }
[streams.orders]
time = "att"
window = "2 minutes"
source = { format = "workload", kind = "shop" }
[tables.users.source]
format = "workload"
kind = "shopp"
[filters.a]
on = "wbe"
where = "page = 'x'"
[filters.b]
on = "clicks"
where = "pag = 'x'"
[filters.c]
on = "orders"
where = "price >"
[filters.d]
on = "clicks"
function = "eddy.jobs.workloads.web:bad_tokn"
columns = ["pagge"]
time_limit = "-3 s"
[filters.e]
on = "users"
where = "whatever > 1"
[policy]
name = "content"
alpha = 5
[sink]
format = "console"
rows = 0
"""

HIDDEN = [
    ("line 3, query.joins: ", 'did you mean "orders.click"?'),
    ("line 3, query.joins: ", 'did you mean "orders"?'),
    ("line 4, query.select: ", 'did you mean "price"?'),
    ("line 4, query.select: ", 'did you mean "clicks"?'),
    ("line 9, streams.orders: ", 'did you mean "at"?'),
    ("line 13, tables.users.source: ", 'did you mean "shop"?'),
    ("line 16, filters.a: ", 'unknown stream or table "wbe"'),
    ("line 21, filters.b.where: ", 'did you mean "page"?'),
    ("line 24, filters.c.where: ", "the text ends here"),
    ("line 27, filters.d.function: ", 'did you mean "bad_token"?'),
    ("line 28, filters.d.columns: ", 'did you mean "page"?'),
    ("line 29, filters.d.time_limit: ", "time_limit: expected a duration"),
    ("line 38, sink.rows: ", "a whole number of 1 or more"),
]
"""Every mistake of the file above, and nothing that only follows from one."""


def test_all_mistakes_are_told_in_the_order_of_the_file_and_none_that_follows_from_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.toml").write_text(HIDING, "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = [line for line in capsys.readouterr().err.splitlines()[1:] if not line.startswith("    ")]
    whole = "\n".join(told)
    assert [line for line in told if not any(line.startswith(f"  {place}") for place, _ in HIDDEN)] == []
    assert [part for _, part in HIDDEN if part not in whole] == []
    assert len(told) == len(HIDDEN), whole
    lines = [int(number) for number in re.findall(r"^  line (\d+), ", whole, re.MULTILINE)]
    assert lines == sorted(lines)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('on = "web"\nwhere', 'on = "wbe"\nwhere', ["filters.signed: ", "filters.bad_token.columns: "]),
        ("[filters.signed]", "[filter.signed]", ["filter: "]),
        (
            '"web.size"]',
            '"web.size", "web.at AS size"]\njoins = ["web.size = 3"]',
            ["query.joins: ", '"size" stands twice'],
        ),
        ('"auto"', '"content"\nalpha = 5', ["filters.bad_token.columns: ", "policy.alpha: "]),
        ("cells = 2", "cells = 5_000", ["filters.bad_token.columns: ", "engine: "]),
    ],
)
def test_a_wrong_column_is_told_beside_other_mistakes(
    old: str, new: str, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = QUICKSTART.replace(old, new, 1).replace('columns = ["body"]', 'columns = ["bodi"]')
    (tmp_path / "broken.toml").write_text(text, "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err
    assert [part for part in expected if part not in told] == []
    assert 'did you mean "body"?' in told or "filter: " in told


READ = """
[streams.web]
time = "at"
source = { format = "csv", path = "in", schema = { at = "timestamp" } }
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('path = "in"', "path = 5", ["line 4, streams.web.source.path: expected a text, got 5"]),
        (
            '"csv", path = "in"',
            '"parquet"',
            ["line 4, streams.web.source.path: expected a text, got none; add it: a folder, a file or a pattern"],
        ),
        ('"timestamp"', "5", ["line 4, streams.web.source.schema.at: expected a text, got 5"]),
        (", schema = { at", ", options = { at", ["line 4, streams.web.source.schema: expected a table "]),
        (
            '"csv", path = "in", schema = { at = "timestamp" }',
            '"workload", kind = []',
            ["line 4, streams.web.source.kind: expected a text, got []"],
        ),
        ('time = "at"', 'time = ["at"]\ndelay = "1 second"', ["line 3, streams.web.time: expected a text, got "]),
    ],
    ids=["path", "no path", "type", "no schema", "kind", "time"],
)
def test_what_cannot_be_read_is_told_once(
    old: str, new: str, expected: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "broken.toml").write_text(READ.replace(old, new, 1), "utf-8")
    assert cli.main(["validate", str(tmp_path / "broken.toml")]) == cli.FAILED
    told = capsys.readouterr().err.splitlines()[1:]
    assert [line for line in told if not any(line.startswith(f"  {text}") for text in expected)] == []
    assert len(told) == len(expected)


def test_names_are_told_apart_by_case_where_spark_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    text = READ.replace('at = "timestamp"', 'at = "timestamp", v = "bigint", V = "bigint"')
    text += '[filters]\nf = { on = "web", where = "v > 3" }\n[spark]\n'
    for setting, code in (("sql.caseSensitive = false", cli.FAILED), ("sql.caseSensitive = true", 0)):
        (tmp_path / "job.toml").write_text(text + setting, "utf-8")
        assert cli.main(["validate", str(tmp_path / "job.toml")]) == code
    assert 'column "v" is ambiguous' in capsys.readouterr().err
