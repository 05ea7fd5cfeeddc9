"""Files as jobs: what is read, what is filled in, what every mistake is answered with."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eddy import Range, Rows, Unbounded
from eddy.errors import QueryError
from eddy.jobs.config.config import Job, load, write_resolved, write_stated
from eddy.jobs.config.overrides import from_command, from_spark
from eddy.jobs.config.places import find_nearest, join_key, lines, split
from eddy.jobs.config.references import read_type
from eddy.redaction import HIDDEN

GOOD = """
[query]
name = "small"
joins = [
  "a.k = b.k",  # [ in a comment
  'a.t = b.`t`',
]
select = ["a.k"]

[streams.a]
time = "t"
window = "10 minutes"
delay = "1 minute"
source = { format = "rate", per_second = 5 }

[streams.b]
time = "t"
rows = 3

[streams.b.source]
format = "kafka"
servers = "localhost:9092"
topic = "b"
schema = { t = "timestamp", k = "bigint", tags = "array<struct<a: int, b: decimal(10, 2)>>" }
[streams.b.source.options]
kafka.sasl.jaas.config = "user hush"

[filters.odd]
on = "a"
where = "k % 2 = 1"
[filters.named]
on = "b"
function = "math:isfinite"
columns = ["k"]
rowwise = true

[policy]
name = "lottery"
half_life = 50

[spark]
sql.shuffle.partitions = 4
"spark.sql.ansi.enabled" = true
"""


def written(place: Path, text: str) -> Path:
    file = place / "job.toml"
    file.write_text(text, "utf-8")
    return file


def read(place: Path, text: str = GOOD, *sets: str) -> Job:
    return load(written(place, text), [from_command(one) for one in sets])


def refused(place: Path, text: str, *sets: str) -> list[str]:
    with pytest.raises(QueryError) as caught:
        read(place, text, *sets)
    return str(caught.value).splitlines()


def test_a_file_is_a_job(tmp_path: Path) -> None:
    job = read(tmp_path)
    assert job.query.name == "small"
    assert [stream.window for stream in job.query.streams] == [Range("10 minutes"), Rows(3)]
    assert [f.name for f in job.query.filters] == ["odd", "named"]
    assert job.policy == {"name": "lottery", "half_life": 50}
    assert job.sources["a"] == {
        "format": "rate",
        "per_second": 5,
        "partitions": None,
        "select": [],
        "options": {},
    }
    assert job.sources["b"]["options"] == {"kafka.sasl.jaas.config": "user hush"}
    assert job.spark == {"spark.sql.shuffle.partitions": "4", "spark.sql.ansi.enabled": "true"}
    assert job.sink["format"] == "console"
    assert (job.checkpoint, job.engine["cells"], job.engine["pushdown"]) == (None, None, True)


def test_what_is_not_said_is_filled_in(tmp_path: Path) -> None:
    job = read(tmp_path, '[streams.a]\ntime = "timestamp"\nsource = { format = "rate" }\n')
    assert job.query.streams[0].window == Unbounded()
    assert job.policy == {"name": "auto"}


def test_values_from_outside_win_and_are_told_from_the_file(tmp_path: Path) -> None:
    settings = {"spark.eddy.policy.name": "fixed", "spark.eddy.engine.seed": "7", "spark.master": "local"}
    overrides = [
        *from_spark(settings),
        from_command("policy.name=lottery"),
        from_command("streams.a.source.per_second=9"),
        from_command("spark.sql.shuffle.partitions=8"),
        from_command("streams.b.source.options.kafka.sasl.jaas.config=other"),
        from_command("query.name=other"),
    ]
    job = load(written(tmp_path, GOOD), overrides)
    assert (job.policy["name"], job.engine["seed"], job.sources["a"]["per_second"]) == ("lottery", 7, 9)
    assert job.spark["spark.sql.shuffle.partitions"] == "8"
    assert job.sources["b"]["options"] == {"kafka.sasl.jaas.config": "other"}
    assert job.query.name == "other"
    assert job.origins["policy", "name"] == "--set"
    assert job.origins["engine", "seed"] == "--conf"
    assert job.origins["policy", "half_life"] == "line 39"


def test_a_limit_to_times_ahead_names_what_it_is_held_against(tmp_path: Path) -> None:
    job = read(tmp_path, GOOD, "streams.a.max_ahead=1 hour", "streams.a.arrived=at")
    assert (job.query.streams[0].max_ahead, job.query.streams[0].arrived) == ("1 hour", "at")
    (_, *told) = refused(tmp_path, GOOD, "streams.a.max_ahead=1 hour")
    assert 'streams.a: stream "a": max_ahead: expected arrived to name the column' in " ".join(told)
    (_, *told) = refused(tmp_path, GOOD, "streams.a.max_ahead=1 our", "streams.a.arrived=at")
    assert [line for line in told if "arrived" in line] == []


def test_indexes_are_those_keys_that_were_given(tmp_path: Path) -> None:
    assert read(tmp_path).index is None
    assert read(tmp_path, GOOD, "index.kind=bits").index == {"kind": "bits"}
    job = read(tmp_path, GOOD + '[index]\nkind = "bits"\nbits = 4\n', "index.assess=dia")
    assert job.index == {"kind": "bits", "bits": 4, "assess": "dia"}
    assert "index.training" not in write_resolved(job)
    assert "index.period" in write_resolved(job)


def test_a_value_can_be_taken_away_from_outside(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD, "streams.a.delay=", "streams.a.nothing=").query.streams[0].delay is None


def test_every_value_is_shown_with_its_origin_and_no_secret(tmp_path: Path) -> None:
    told = write_resolved(read(tmp_path, GOOD, "engine.cells=2"))
    rows = {line.split()[0]: line for line in told.splitlines()}
    assert rows["engine.cells"].split()[1:] == ["2", "--set"]
    assert rows["engine.seed"].split()[1:] == ["0", "default"]
    assert rows["policy.name"].split()[1:] == ['"lottery"', "line", "38"]
    assert rows["streams.a.time"].split()[1:] == ['"t"', "line", "11"]
    assert rows['streams.b.source.options."kafka.sasl.jaas.config"'].split()[1:] == [HIDDEN, "line", "26"]
    assert "hush" not in told


def test_a_log_has_a_line_for_each_value_that_was_given(tmp_path: Path) -> None:
    lines = list(write_stated(read(tmp_path, GOOD, "engine.cells=2")))
    assert 'config engine.cells=2 from="--set"' in lines
    assert 'config policy.half_life=50 from="line 39"' in lines
    assert f'config streams.b.source.options."kafka.sasl.jaas.config"={HIDDEN} from="line 26"' in lines
    assert [line for line in lines if "engine.seed" in line or "hush" in line] == []


SOURCE = 'source = { format = "rate" }\n'


def test_a_stream_that_is_only_filtered_needs_no_time(tmp_path: Path) -> None:
    assert read(tmp_path, f"[streams.a]\n{SOURCE}").query.streams[0].time is None
    _, told = refused(tmp_path, f'[streams.a]\n{SOURCE}delay = "1 minute"\n')
    assert "streams.a.time: expected the column that holds the event time, got none; delay is by event time" in told
    both = refused(tmp_path, f'[streams.a]\n{SOURCE}[streams.b]\n{SOURCE}[query]\njoins = ["a.value = b.value"]\n')
    assert [line for line in both if "a join goes by time" in line] == both[-2:]


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("policy.nam=x", 'unknown parameter "nam"; did you mean "name"?'),
        ("query.nam=x", '--set, query.nam: unknown key "nam"; did you mean "name"?'),
        ("engine.cells=many", '--set, engine.cells: expected a whole number of 1 or more, got "many"'),
        ("query.joins=a.k = b.k", "expected a key of a single value"),
        ("query.name.first=x", "name is no table"),
        ("index.bits=4", '--set, index.bits: the kind "patterns" does not use it, only "bits", "static" do'),
        ("index.kind=told", '--set, index.kind: the kind "told" knows what is to come'),
    ],
)
def test_a_wrong_value_from_outside_is_told_as_such(override: str, expected: str, tmp_path: Path) -> None:
    assert expected in "\n".join(refused(tmp_path, GOOD, override))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[query", "not TOML"),
        ("[a]\n[a]", "not TOML"),
        ("", "expected a table [streams.NAME], got none; add it"),
        ("streams = 3", "expected a table [streams], got 3"),
        ("[streams]", "expected at least one stream"),
        ("[[filters]]", "expected a table [filters]"),
    ],
)
def test_a_file_of_another_shape_is_refused(text: str, expected: str, tmp_path: Path) -> None:
    assert expected in "\n".join(refused(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"nowhere\.toml.*No such file"):
        load(tmp_path / "nowhere.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(QueryError, match="not a text in UTF-8"):
        load(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("isfinite", "expected an import path"),
        ("math:is finite", "expected an import path"),
        ("nowhere_at_all:f", 'no module "nowhere_at_all"'),
        ("math:pi", "to be a function, got float"),
        ("broken_one:f", "cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_function_that_cannot_be_had_is_told(
    path: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_one.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    (_, told) = refused(tmp_path, GOOD.replace("math:isfinite", path))
    assert expected in told


@pytest.mark.parametrize("text", ["array<>", "array<int", "set<int>", "map<int>", "decimal(99)", "struct<a>", ""])
def test_a_type_that_there_is_not_is_refused(text: str) -> None:
    with pytest.raises(QueryError):
        read_type(text, where="here")


NAME = st.text("ab.- \"'é", min_size=1, max_size=4).filter(lambda name: not {'"', "'"} <= set(name))
VALUE = st.sampled_from(["1", '"a # ["', "'''\n[no]\nb = 1\n'''", "[\n 1,\n [2],\n]", '"""\nx = "y"\n"""', "{ n = 1 }"])


def quoted(name: str) -> str:
    return f"'{name}'" if '"' in name else f'"{name}"'


@given(st.dictionaries(NAME, st.dictionaries(NAME, VALUE, max_size=3), max_size=3))
def test_every_key_is_found_on_its_line(tables: dict[str, dict[str, str]]) -> None:
    text = ""
    expected: dict[tuple[str, ...], int] = {}
    for table, keys in tables.items():
        expected[table,] = text.count("\n") + 1
        text += f"[{quoted(table)}] # x\n"
        for key, value in keys.items():
            expected[table, key] = text.count("\n") + 1
            text += f"  {quoted(key)} = {value} # y = [\n"
    found = lines(text)
    assert tomllib.loads(text).keys() == tables.keys()
    assert {path: line for path, line in found.items() if path[-1] != "n" or len(path) < 3} == expected


@given(st.lists(NAME, min_size=1, max_size=3))
def test_a_dotted_key_is_split_as_it_was_joined(parts: list[str]) -> None:
    assert split(".".join(map(quoted, parts))) == tuple(parts)
    assert split(join_key(tuple(parts))) == tuple(parts)


def test_what_has_no_line_has_that_of_the_table_around_it() -> None:
    known: dict[tuple[str, ...], int] = {("a",): 3}
    assert (find_nearest(known, ("a", "b", "c")), find_nearest(known, ("b",))) == (3, None)


def test_the_page_is_what_the_code_says() -> None:
    from eddy.jobs.config.docs import page
    from tests.house import ROOT

    assert (ROOT / "docs" / "configuration.md").read_text("utf-8") == page()


FILES = """
[streams.a]
time = "t"
source = { format = "csv", path = "in", schema = { t = "timestamp" } }
[checkpoint]
location = "../checkpoint"
[sink]
format = "parquet"
path = "s3a://bucket/out"
"""


def test_a_path_in_the_file_is_beside_it_and_one_from_outside_is_beside_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jobs" / "in").mkdir(parents=True)
    (tmp_path / "else" / "other").mkdir(parents=True)
    file = written(tmp_path / "jobs", FILES)
    monkeypatch.chdir(tmp_path / "else")
    job = load("../jobs/job.toml")
    assert job.sources["a"]["path"] == f"file://{tmp_path}/jobs/in"
    assert job.checkpoint == f"file://{tmp_path}/checkpoint"
    assert job.sink["path"] == "s3a://bucket/out"
    job = load(file, [from_command("streams.a.source.path=other"), *from_spark({"spark.eddy.sink.path": "out"})])
    assert job.sources["a"]["path"] == f"file://{tmp_path}/else/other"
    assert job.sink["path"] == f"file://{tmp_path}/else/out"
    told = refused(tmp_path / "jobs", FILES.replace('"in"', '"inn"'))
    assert f'no such file or folder: "{tmp_path}/jobs/inn"' in told[1]


def test_a_module_is_found_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "else").mkdir()
    (tmp_path / "jobs" / "beside_the_job.py").write_text("def odd(k): return k % 2 == 1")
    (tmp_path / "jobs" / "colorsys.py").write_text("def odd(k): return k % 2 == 1")
    (tmp_path / "else" / "where_i_am.py").write_text("def odd(k): return k % 2 == 1")
    monkeypatch.chdir(tmp_path / "else")
    monkeypatch.setattr("sys.path", list(sys.path))
    job = read(tmp_path / "jobs", GOOD.replace("math:isfinite", "beside_the_job:odd"))
    assert job.query.filters[1].function is not None
    for name, expected in {
        "where_i_am:odd": f'it is looked for in the folder of the job\'s file, "{tmp_path}/jobs"',
        "beside_the_jop:odd": 'did you mean "beside_the_job"?',
        "beside_the_job:old": 'did you mean "odd"?',
        "beside_the_job:anything": 'has no "anything"; known: "odd"',
        "colorsys:odd": f'hides "{tmp_path}/jobs/colorsys.py": call your module otherwise',
    }.items():
        (_, told) = refused(tmp_path / "jobs", GOOD.replace("math:isfinite", name))
        assert expected in told


@pytest.mark.parametrize(
    ("old", "new", "place", "meant"),
    [
        ("rowwise = true", "row_wise = true", "line 35, filters.named.row_wise", "rowwise"),
        ("function =", "functoin =", "line 33, filters.named.functoin", "function"),
        ('where = "k', 'were = "k', "line 30, filters.odd.were", "where"),
        ('name = "lottery"', 'nam = "lottery"', "line 38, policy.nam", "name"),
        ("[policy]", "[polcy]", "line 37, polcy", "policy"),
        ('"kafka"', '"kafak"', "line 21, streams.b.source.format", "kafka"),
        ('name = "lottery"', 'name = "lotery"', "line 38, policy.name", "lottery"),
    ],
)
def test_a_slip_is_one_mistake(old: str, new: str, place: str, meant: str, tmp_path: Path) -> None:
    assert GOOD.count(old) == 1
    (_, told) = refused(tmp_path, GOOD.replace(old, new))
    assert told.startswith(f"  {place}: ")
    assert f'did you mean "{meant}"?' in told


def test_a_filter_may_wait_for_others(tmp_path: Path) -> None:
    job = read(tmp_path, GOOD.replace("rowwise = true", 'rowwise = true\nafter = "odd"'))
    assert [(f.name, f.after) for f in job.query.filters] == [("odd", None), ("named", ("odd",))]
    job = read(tmp_path, GOOD, 'filters.named.after=["odd"]')
    assert [f.after for f in job.query.filters] == [None, ("odd",)]


@pytest.mark.parametrize(
    ("after", "told"),
    [
        ("3", "line 36, filters.named.after: expected a text or a list of texts, got 3"),
        ("[]", "line 36, filters.named.after: expected a text or a list of texts, got []"),
        ('"ood"', 'line 36, filters.named.after: unknown filter "ood"; did you mean "odd"? known: "odd"'),
        ('["odd", "odd"]', 'line 36, filters.named.after: filter "named": after: entry "odd" stands twice'),
        ('"named"', "line 36, filters.named.after: expected other filters of the query, got this one; leave it out"),
    ],
)
def test_what_a_filter_cannot_wait_for_is_one_mistake(after: str, told: str, tmp_path: Path) -> None:
    (_, line) = refused(tmp_path, GOOD.replace("rowwise = true", f"rowwise = true\nafter = {after}"))
    assert line.startswith(f"  {told}")


def test_a_circle_is_told_beside_the_other_mistakes(tmp_path: Path) -> None:
    text = GOOD.replace("rowwise = true", 'after = "odd"').replace("k % 2 = 1", "k %").replace("[policy]", "[polcy]")
    told = refused(tmp_path, text.replace("[filters.named]", 'after = "named"\n[filters.named]'))
    assert [line.split(":")[0] for line in told if not line.startswith("    ")][1:] == [
        "  line 30, filters.odd.where",
        "  line 31, filters.odd.after",
        "  line 38, polcy",
    ]
    assert 'got a circle, "odd" after "named" after "odd"; leave one out' in "\n".join(told)


@pytest.mark.parametrize(
    ("odd", "named", "told"),
    [
        ("", "cost = -3", "line 36, filters.named.cost: expected a number of 0 or more, or a time such as"),
        ("", 'cost = "3 tokens"', 'line 36, filters.named.cost: filter "named": cost: expected a duration such as'),
        ("cost = 2", 'cost = "3 seconds"', "line 31, filters.odd.cost: expected times, or numbers in one unit, got a"),
        ("cost = 2", "", 'line 31, filters.odd.cost: expected a number for every function, since filter "odd" has one'),
    ],
)
def test_costs_that_cannot_be_compared_are_one_mistake(odd: str, named: str, told: str, tmp_path: Path) -> None:
    text = GOOD.replace("rowwise = true", f"rowwise = true\n{named}")
    (_, line) = refused(
        tmp_path, text.replace("[filters.named]", f"{odd}\n[filters.named]" if odd else "[filters.named]")
    )
    assert line.startswith(f"  {told}")


def test_a_misspelt_key_hides_nothing_about_its_value(tmp_path: Path) -> None:
    told = refused(tmp_path, GOOD.replace('delay = "1 minute"', 'dely = "1 minit"'))
    assert [line.split(":")[0] for line in told[1:3]] == ["  line 13, streams.a.dely"] * 2
