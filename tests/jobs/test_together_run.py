"""Several queries of a job on Spark: a folder, a topic or a function for each, and what is told of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import eddy
from eddy.jobs import cli
from eddy.jobs.config.config import Job, load
from eddy.jobs.run import sinks
from eddy.jobs.run.calls_saved import tell_savings
from eddy.jobs.run.progress_line import Teller, sums_of
from eddy.jobs.run.run_job import answer
from eddy.jobs.run.sinks import write_answer
from eddy.jobs.workloads.shop import shop
from eddy.observe import wire
from eddy.observe.counters import StreamCount
from eddy.spark.monitoring.metrics import METRICS
from eddy.spark.monitoring.news import BatchNews, list_fields
from eddy.spark.progress import OBSERVED
from tests import reference
from tests.jobs.test_together import JOB, tell

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

KEPT = '[checkpoint]\nlocation = "checkpoint"\n[trigger]\navailable_now = true\n[engine]\ncells = 2\n'
FOLDERS = JOB.replace('format = "console"', 'format = "parquet"\npath = "out"\nper_query = true') + KEPT
FUNCTIONS = (
    JOB.replace('format = "console"', 'format = "foreach_batch"')
    + "".join(["[sink.functions]\n", *(f'{name} = "{__name__}:take_{name}"\n' for name in ("led", "paid", "sale"))])
    + KEPT
)
TOPICS = JOB.replace('format = "console"', 'format = "kafka"\nservers = "localhost:9"\ntopic = "others"\nkey = "id"')
TOPICS = TOPICS.replace("max_results = 900", 'topic = "it\'s \\"led\\""') + KEPT

Rows = Counter[tuple[Any, ...]]

TAKEN: dict[str, list[pa.Table]] = {}


def take_led(batch: DataFrame, number: int) -> None:
    TAKEN.setdefault("led", []).append(batch.toArrow())


def take_paid(batch: DataFrame, number: int) -> None:
    TAKEN.setdefault("paid", []).append(batch.toArrow())


def take_sale(batch: DataFrame, number: int) -> None:
    TAKEN.setdefault("sale", []).append(batch.toArrow())


def count(table: pa.Table) -> Rows:
    return Counter(tuple(map(reference.plain, row.values())) for row in table.to_pylist())


def expect(job: Job, data: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """What each query answers alone."""
    return {
        query.name: eddy.run_local(query, {name: data[name] for name in query.given}).results for query in job.queries
    }


def read(folder: Path, text: str) -> Job:
    file = folder / "job.toml"
    file.write_text(text, "utf-8")
    return load(file)


@pytest.fixture(scope="module")
def ran(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StreamingQuery]:
    """A job with a folder for each query, after a run."""
    place = tmp_path_factory.mktemp("together")
    job = read(place, FOLDERS)
    query = write_answer(answer(job, spark), job).start()
    query.awaitTermination()
    return place, query


def test_each_query_has_a_folder_with_what_it_answers_alone(
    spark: SparkSession, ran: tuple[Path, StreamingQuery]
) -> None:
    place, query = ran
    job = load(place / "job.toml")
    expected = expect(job, shop(rows=300).data)
    found = spark.read.parquet(str(place / "out")).toArrow()
    for name, alone in expected.items():
        own = found.filter(pc.equal(found.column("query"), name)).select(alone.schema.names)
        assert count(own.cast(alone.schema)) == count(alone)
        assert (place / "out" / f"query={name}").is_dir() == bool(alone.num_rows)
    sums = [sums_of(progress) for progress in query.recentProgress]
    assert sum((one.queries for one in sums), Counter()) == Counter({n: t.num_rows for n, t in expected.items()})
    assert sum(one.results for one in sums) == sum(table.num_rows for table in expected.values())
    report = eddy.report_of(query)
    assert isinstance(report, eddy.ReportTogether)
    assert [line for line in tell_savings(job.queries, report) if "asked for again" in line] == []


def test_inspect_and_explain_tell_what_each_query_has_learned(
    ran: tuple[Path, StreamingQuery], capsys: pytest.CaptureFixture[str]
) -> None:
    place, _ = ran
    assert cli.main(["inspect", str(place / "checkpoint")]) == 0
    told = capsys.readouterr().out
    assert 'queries: "led", "paid", "sale"\n\ncells: 2, of which 2 have had rows, stored once for all\n' in told
    assert 'query "paid"\n  stream "orders": time: at\n  stream "orders": window: Range(\'1 minute\')\n' in told
    assert cli.main(["explain", str(place / "job.toml"), "--checkpoint"]) == 0
    told = capsys.readouterr().out
    assert told.startswith('3 queries answered together: "led", "paid", "sale"\n')
    assert f'learned in "{place}/checkpoint" of query "sale"' in told


def test_a_query_may_go_and_another_come_on_the_same_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    first = read(tmp_path, FOLDERS)
    write_answer(answer(first, spark), first).start().awaitTermination()
    before = count(spark.read.parquet(str(tmp_path / "out")).toArrow())
    text = FOLDERS.replace("[queries.paid]", "[queries.more]").replace(
        'filters = ["french", "dear"]', 'filters = ["french"]'
    )
    again = read(tmp_path, text.replace('"orders.id = payments.order_id", ', ""))
    assert isinstance(again.asked, eddy.Queries)
    assert [one.name for one in again.asked.streams] == ["payments"]
    query = write_answer(answer(again, spark), again).start()
    query.awaitTermination()
    assert query.exception() is None
    assert count(spark.read.parquet(str(tmp_path / "out")).toArrow()) == before


def test_each_query_has_a_function_that_gets_its_columns(spark: SparkSession, tmp_path: Path) -> None:
    TAKEN.clear()
    job = read(tmp_path, FUNCTIONS)
    write_answer(answer(job, spark), job).start().awaitTermination()
    for name, alone in expect(job, shop(rows=300).data).items():
        whole = pa.concat_tables(TAKEN[name])
        assert whole.schema.names == alone.schema.names
        assert count(whole.cast(alone.schema)) == count(alone)


def test_each_query_has_a_topic(spark: SparkSession, tmp_path: Path) -> None:
    job = read(tmp_path, TOPICS)
    rows = spark.createDataFrame([("led", 1), ("paid", 2), ("sale", 3)], "query string, id bigint")
    frame, values = sinks._pick_columns(rows, job, "sink")
    written = sinks._make_messages(frame, values).toArrow().to_pylist()
    assert {(row["topic"], row["key"], row["value"]) for row in written} == {
        ('it\'s "led"', "1", '{"query":"led","id":1}'),
        ("others", "2", '{"query":"paid","id":2}'),
        ("others", "3", '{"query":"sale","id":3}'),
    }
    assert sinks._list_kafka_options(values) == {"kafka.bootstrap.servers": "localhost:9"}


MISTAKES = {
    "one query": (
        FOLDERS[FOLDERS.index("[streams.orders]") : FOLDERS.index("[streams.payments]")]
        + FOLDERS[FOLDERS.index("[sink]") :],
        "sink.per_query: expected [queries], got one query, which has one folder; leave it out",
    ),
    "a folder twice": (
        FOLDERS.replace("per_query = true", 'per_query = true\npartition_by = ["query"]'),
        'sink.partition_by: per_query has "query" first; leave one of the two out',
    ),
    "a column": (
        FOLDERS.replace("per_query = true", 'per_query = true\npartition_by = ["pag"]'),
        'sink.partition_by: sink: unknown output column "pag"; did you mean "page"?',
    ),
    "no topic": (
        TOPICS.replace('topic = "others"\n', ""),
        'sink.topic: expected a text, got none; add it, since there is none of "paid", "sale"',
    ),
    "a topic of nobody": (
        TOPICS.replace('filters = ["on_sale"]', 'filters = ["on_sale"]\ntopic = "c"').replace(
            'filters = ["french", "dear"]', 'filters = ["french", "dear"]\ntopic = "b"'
        ),
        "sink.topic: each of [queries] has a topic of its own; leave it out",
    ),
    "a function too few": (
        FUNCTIONS.replace(f'sale = "{__name__}:take_sale"\n', ""),
        'sink.functions: expected a function for every query, got none for "sale"',
    ),
    "a function too many": (
        FUNCTIONS.replace("[sink.functions]\n", f'[sink.functions]\nsales = "{__name__}:take_sale"\n'),
        'sink.functions.sales: unknown query "sales"; did you mean "sale"?',
    ),
    "a function that is not there": (
        FUNCTIONS.replace(":take_sale", ":take_sales"),
        'sink.functions.sale: module "tests.jobs.test_together_run" has no "take_sales"; did you mean "take_sale"?',
    ),
    "two": (
        FUNCTIONS.replace('"foreach_batch"', f'"foreach_batch"\nfunction = "{__name__}:take_sale"'),
        "sink.function: functions says it for each query; leave one of the two out",
    ),
    "no function": (
        FUNCTIONS[: FUNCTIONS.index("[sink.functions]")] + KEPT,
        "sink.function: expected a text, got none; add it: its import path",
    ),
}


@pytest.mark.parametrize(("text", "told"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_of_a_sink_are_told_at_their_keys(text: str, told: str, tmp_path: Path) -> None:
    (line,) = tell(tmp_path, text)
    assert told in line


def test_one_query_is_compared_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, JOB)
    assert cli.main(["compare", str(tmp_path / "job.toml")]) == cli.FAILED
    assert 'a comparison is of one query, got "led", "paid", "sale"; put one of them' in capsys.readouterr().err


def test_validate_counts_queries_and_tries_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job = read(tmp_path, JOB)
    assert cli.main(["validate", str(tmp_path / "job.toml"), "--sample", "300"]) == 0
    told = capsys.readouterr().out
    assert f'"{tmp_path}/job.toml" is right: 3 queries, 3 streams, 1 table, 3 filters, policy "auto"' in told
    for name, alone in expect(job, shop(rows=300).data).items():
        assert f'query "{name}": {alone.num_rows} result' in told


def test_the_line_of_progress_has_the_results_of_each_query(tmp_path: Path) -> None:
    job = read(tmp_path, JOB)
    report = eddy.run_local(job.together, shop(rows=300).data, batch_rows=1_000).report
    reports = [
        json.dumps({"cell": 0, "query": name, **wire.to_plain(one.counters[0])}) for name, one in report.members.items()
    ]
    progress: dict[str, Any] = {"batchId": 0, "numInputRows": 480, "durationMs": {"addBatch": 1}, "eventTime": {}}
    progress["observedMetrics"] = {OBSERVED: {"reports": reports}}
    out = StringIO()
    Teller(quiet=False, live=False, out=out).tell(progress)
    counted = {query["query"]: query["results"] for query in report.queries().to_dict("records")}
    told = ",".join(f"{name}:{results}" for name, results in counted.items())
    assert f" results={sum(counted.values())} results_of={told} " in f"{out.getvalue()} "
    assert 0 not in counted.values()


def test_a_stream_is_told_of_with_its_query() -> None:
    counts = StreamCount(rows=3, untimed=0, late=2, ahead=0, stored=0, nbytes=0)
    report = {"cell": 0, "query": "led", "results": 0, "streams": {"clicks": [*astuple(counts)]}}
    progress = {"numInputRows": 3, "observedMetrics": {OBSERVED: {"reports": [json.dumps(report)]}}}
    assert sums_of(progress).text(whole=True) == "rows=3 results=0 late=2 late_in=led.clicks:2"


def test_news_and_metrics_have_the_results_of_each_query(tmp_path: Path) -> None:
    report = eddy.run_local(read(tmp_path, JOB).together, shop(rows=300).data).report
    results = {name: one.counters[0].results for name, one in report.members.items()}
    told = BatchNews(query="queries", step="attach", whole=report.counters[0], results=results)
    assert dict(list_fields(told))["results_by_query"] == results
    (metric,) = [one for one in METRICS if one.name == "query_results"]
    assert {name: value for (name,), value in metric.read(told)} == results
