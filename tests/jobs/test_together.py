"""Several queries of a job that are answered together, from the file on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import eddy
from eddy.errors import QueryError
from eddy.jobs.config.config import Job, load, read_job
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run.checking import check

JOB = """
[queries.led]
joins = ["clicks.id = orders.click"]
filters = ["dear"]
select = ["orders.id", "clicks.page"]
max_results = 900

[queries.paid]
joins = ["orders.id = payments.order_id", "orders.user = users.id"]
filters = ["french", "dear"]
windows = { orders = "1 minute" }

[queries.sale]
filters = ["on_sale"]

[streams.clicks]
time = "at"
rows = 500
delay = "1 minute"
source = { format = "workload", kind = "shop", parameters = { rows = 300 } }

[streams.orders]
time = "at"
window = "2 minutes"
delay = "1 minute"
source = { format = "workload", kind = "shop", parameters = { rows = 300 } }

[streams.payments]
time = "at"
window = "2 minutes"
delay = "1 minute"
source = { format = "workload", kind = "shop", parameters = { rows = 300 } }

[tables.users]
source = { format = "workload", kind = "shop", parameters = { rows = 300 } }

[filters]
dear = { on = "orders", where = "price > 50" }
french = { on = "users", where = "country = 'fr'" }
on_sale = { on = "clicks", where = "page = 'sale'" }

[sink]
format = "console"
"""


def read(folder: Path, text: str = JOB) -> Job:
    file = folder / "job.toml"
    file.write_text(text, "utf-8")
    return load(file)


def tell(folder: Path, text: str) -> list[str]:
    """List the mistakes of a file, and of its columns."""
    file = folder / "job.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(QueryError) as raised:
        check(read_job(file))
    return re.findall(r"^  (\S.*)", str(raised.value), re.MULTILINE)


def test_each_query_reads_what_it_names_with_its_own_windows(tmp_path: Path) -> None:
    job = read(tmp_path)
    assert isinstance(job.asked, eddy.Queries)
    led, paid, sale = job.asked.members
    clicks = eddy.Stream("clicks", time="at", window=eddy.Rows(500), delay="1 minute")
    orders = eddy.Stream("orders", time="at", window=eddy.Range("2 minutes"), delay="1 minute")
    payments = eddy.Stream("payments", time="at", window=eddy.Range("2 minutes"), delay="1 minute")
    dear = eddy.Filter("dear", on="orders", where="price > 50")
    assert led == eddy.Query(
        name="led",
        streams=[clicks, orders],
        joins=["clicks.id = orders.click"],
        filters=[dear],
        select=["orders.id", "clicks.page"],
        max_results=900,
    )
    assert paid == eddy.Query(
        name="paid",
        streams=[eddy.Stream("orders", time="at", window=eddy.Range("1 minute"), delay="1 minute"), payments],
        tables=[eddy.Table("users")],
        joins=["orders.id = payments.order_id", "orders.user = users.id"],
        filters=[eddy.Filter("french", on="users", where="country = 'fr'"), dear],
    )
    # Alone a row is always the newest, so a window of rows says nothing.
    assert sale == eddy.Query(
        name="sale",
        streams=[eddy.Stream("clicks", time="at", delay="1 minute")],
        filters=[eddy.Filter("on_sale", on="clicks", where="page = 'sale'")],
    )


def test_inputs_that_nothing_names_are_said(tmp_path: Path) -> None:
    text = JOB.replace('filters = ["on_sale"]\n', 'inputs = ["clicks", "users"]\ncross = true\n')
    job = read(tmp_path, text.replace('on_sale = { on = "clicks", where = "page = \'sale\'" }\n', ""))
    assert job.members["sale"].query.given == ("clicks", "users")
    assert check(job).warnings == ()


def test_a_stream_that_no_query_reads_is_read_all_the_same(tmp_path: Path) -> None:
    more = '[streams.more]\nsource = { format = "workload", kind = "shop", input = "clicks" }\n'
    job = read(tmp_path, f"{JOB}{more}")
    assert isinstance(job.asked, eddy.Queries)
    assert job.asked.streams == (eddy.Stream("more"),)
    assert check(job).sources.keys() == {"clicks", "orders", "payments", "users", "more"}


def test_a_second_name_of_a_stream_is_one_source(tmp_path: Path) -> None:
    again = '[streams.again]\nsame_as = "clicks"\nwindow = "1 minute"\n'
    job = read(tmp_path, f'{JOB}{again}[queries.twice]\njoins = ["clicks.user = again.user"]\n')
    assert isinstance(job.asked, eddy.Queries)
    assert [one.name for _, one in job.asked.sources["clicks"]] == ["clicks", "clicks", "clicks", "again"]
    assert check(job).warnings == ()


def test_one_value_can_be_set_from_outside_and_by_a_profile(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(
        f"{JOB}[profile.wide.queries.paid]\nwindows = {{ orders = '3 minutes' }}\n", "utf-8"
    )
    job = load(tmp_path / "job.toml", [from_command("queries.led.max_results=7")], "wide")
    assert job.members["led"].query.max_results == 7
    assert job.members["paid"].query.streams[0].window == eddy.Range("3 minutes")
    with pytest.raises(QueryError, match=r"--set, queries.led.max_results: expected a whole number"):
        load(tmp_path / "job.toml", [from_command("queries.led.max_results=x")], "wide")


MISTAKES = {
    "both": (
        "[queries.led]",
        "[query]\nname = 'a'\n[queries.led]",
        "line 4, queries: [query] says what is asked already",
    ),
    "no query": (JOB[: JOB.index("[streams")], "[queries]\n", "line 1, queries: expected at least one query, got none"),
    "a key": (
        "max_results",
        "max_result",
        'queries.led.max_result: unknown key "max_result"; did you mean "max_results"',
    ),
    "a value": (
        "max_results = 900",
        "max_results = 0",
        "line 6, queries.led.max_results: expected a whole number of 1",
    ),
    "a name": ("[queries.led]", '[queries."l-d"]', "queries.l-d: expected a name of letters, digits and under"),
    "a join": ("orders.click", "orders.clik", 'line 3, queries.led.joins: join "clicks.id = orders.clik": unknown col'),
    "a stream": (
        "clicks.id =",
        "click.id =",
        'line 3, queries.led.joins: join "click.id = orders.click": unknown stre',
    ),
    "SQL": ('orders.click"', 'orders.click >"', "line 3, queries.led.joins: join"),
    "not joined": ('"clicks.page"]', '"clicks.page", "payments.paid"]', "line 2, queries.led: no join leads from"),
    "select": (
        '"clicks.page"]',
        '"clicks.pag"]',
        'line 5, queries.led.select: select "clicks.pag": unknown column "pag"',
    ),
    "a filter": ('["dear"]', '["dare"]', 'line 4, queries.led.filters: unknown filter "dare"; did you mean "dear"?'),
    "twice": ('["dear"]', '["dear", "dear"]', 'line 4, queries.led.filters: filter "dear" stands twice'),
    "a window": (
        'orders = "1 m',
        'order = "1 m',
        'line 11, queries.paid.windows.order: unknown stream "order"; did you',
    ),
    "a length": (
        '"1 minute" }\n\n[q',
        '"1 minuet" }\n\n[q',
        "queries.paid.windows.orders: window Range: expected a dur",
    ),
    "inputs": (
        'filters = ["on_sale"]',
        'filters = ["on_sale"]\ninputs = ["click"]',
        "queries.sale.inputs: unknown stream or",
    ),
    "no inputs": (
        'filters = ["on_sale"]',
        "",
        "line 13, queries.sale: expected a stream among the inputs that it reads, g",
    ),
    "a table alone": (
        '["on_sale"]\n',
        '["french"]\n',
        'queries.sale: expected a stream among the inputs that it reads, got "u',
    ),
    "no filter's": (
        'filters = ["on_sale"]',
        'inputs = ["clicks"]',
        "filters.on_sale: no query has it; name it in filters of",
    ),
    "no table's": ('\nfilters = ["french", "dear"]', '\nfilters = ["dear"]', "filters.french: no query has it"),
    "a guard": (
        'where = "price > 50"',
        "where = 'price > 50', after = 'french'",
        'filters: "dear" acts after "french"; nam',
    ),
    "apart": (
        '["clicks.id = orders.click"]\nfilters = ["dear"]\nselect = ["orders.id", "clicks.page"]',
        '[]\nfilters = ["on_sale"]\nselect = ["clicks.id"]',
        'queries: "paid" share no stream with "led"',
    ),
    "types": (
        'filters = ["on_sale"]',
        'filters = ["on_sale"]\nselect = ["clicks.page AS id"]',
        "line 13, queries.sale: colu",
    ),
    "a column query": ('clicks.page"', 'clicks.page AS query"', 'line 2, queries.led: "led" has a column "query"'),
    "state": (
        "[sink]",
        "[engine]\nstate = 'none'\n[sink]",
        'engine.state: expected "store", since queries share a state',
    ),
    "remember": (
        "[sink]",
        "[engine]\nremember = 'x'\n[sink]",
        "engine.remember: expected none, since the checkpoint has",
    ),
    "batch": (
        'kind = "shop"',
        'mode = "batch", kind = "shop"',
        "streams.clicks.source.mode: one pass is for one query alone",
    ),
    "a topic": (
        "max_results = 900",
        'topic = "a"',
        'line 6, queries.led.topic: the sink "console" has no topics; leave',
    ),
    "reject": (
        '"price > 50"',
        '"price > 50", on_error = "reject"',
        "filters.dear.on_error: rows are put aside for one query",
    ),
}


@pytest.mark.parametrize(("old", "new", "told"), MISTAKES.values(), ids=MISTAKES)
def test_each_mistake_is_told_once_where_it_stands(old: str, new: str, told: str, tmp_path: Path) -> None:
    assert old in JOB
    found = tell(tmp_path, JOB.replace(old, new, 1))
    assert [line for line in found if told not in line] == []
    assert len(found) == 1
