"""Whatever Spark reads and writes: formats by name, tables of catalogs, and columns made on the way in."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eddy.errors import QueryError
from eddy.jobs.config.config import Job, load, write_resolved
from eddy.jobs.run import error_text, run_job
from eddy.jobs.run.checking import check
from eddy.jobs.run.one_pass import run_once
from eddy.jobs.run.progress_line import Teller
from eddy.jobs.run.stopping import Stop
from eddy.jobs.sources.kafka import OWN_COLUMNS, Kafka
from eddy.jobs.sources.select import select_columns
from tests.sparks import WITHOUT_STATE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = """
[query]
name = "any"
{select}
[streams.s.source]
format = "spark"
{source}
[filters.odd]
on = "s"
where = "k % 2 = 1"
[sink]
format = "spark"
{sink}
{rest}
"""

NOW = '[trigger]\navailable_now = true\n[checkpoint]\nlocation = "mark"\n'
K = 'select = ["s.k"]'
ROWS = 20


def job(place: Path, source: str, sink: str, rest: str = "", select: str = K) -> Job:
    (place / "job.toml").write_text(JOB.format(source=source, sink=sink, rest=rest, select=select))
    return load(place / "job.toml")


def stream(spark: SparkSession, asked: Job) -> None:
    run_job.run_stream(asked, spark, Stop(), Teller(quiet=True, live=False, out=io.StringIO()))


def once(spark: SparkSession, asked: Job) -> None:
    frame = run_job.answer(asked, spark)
    run_once(asked, frame, Stop(), Teller(quiet=True, live=False, out=io.StringIO()))


@pytest.fixture
def numbers(spark: SparkSession, tmp_path: Path) -> Path:
    place = tmp_path / "in"
    spark.range(ROWS).selectExpr("id AS k", "cast(id AS string) AS t").write.orc(str(place))
    return place


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    spark.range(ROWS).selectExpr("id AS k").write.saveAsTable("of_numbers")
    yield "spark_catalog.default.of_numbers"
    for name in ("of_numbers", "of_odd_numbers"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


ODD = [k for k in range(ROWS) if k % 2]


@pytest.mark.usefixtures("numbers")
def test_a_format_is_streamed_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    source = 'name = "orc"\npath = "in"\nschema = { k = "bigint", t = "string" }\n'
    source += 'select = ["k", "upper(t) || \'!\' AS said"]\n[streams.s.source.options]\nmaxFilesPerTrigger = 1'
    sink = 'name = "orc"\npath = "out"\nselect = ["k", "k % 3 AS part", "said"]\npartition_by = ["part"]'
    asked = job(tmp_path, source, sink, NOW, 'select = ["s.k", "s.said"]')
    assert check(asked).warnings[-1].startswith('the columns of "s" are known only when Spark reads it')
    stream(spark, asked)
    found = spark.read.orc(str(tmp_path / "out")).collect()
    assert sorted((row["k"], row["said"], row["part"]) for row in found) == [(k, f"{k}!", k % 3) for k in ODD]


def test_tables_of_catalogs_are_streamed(spark: SparkSession, tmp_path: Path, table: str) -> None:
    spark.sql("CREATE TABLE of_odd_numbers (k BIGINT) USING parquet")
    stream(spark, job(tmp_path, f'table = "{table}"', 'table = "spark_catalog.default.of_odd_numbers"', NOW))
    assert sorted(row["k"] for row in spark.table("of_odd_numbers").collect()) == ODD


@WITHOUT_STATE
@pytest.mark.usefixtures("numbers")
def test_a_batch_says_what_becomes_of_rows_that_are_there(spark: SparkSession, tmp_path: Path) -> None:
    source = 'name = "orc"\npath = "in"\nmode = "batch"'
    for existing, times in (("error", 1), ("append", 2), ("overwrite", 1)):
        once(spark, job(tmp_path, source, f'name = "orc"\npath = "out"\nexisting = "{existing}"'))
        assert sorted(row["k"] for row in spark.read.orc(str(tmp_path / "out")).collect()) == sorted(ODD * times)
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        once(spark, job(tmp_path, source, 'name = "orc"\npath = "out"'))


@WITHOUT_STATE
def test_a_batch_goes_into_a_table(spark: SparkSession, tmp_path: Path, table: str) -> None:
    sink = 'table = "of_odd_numbers"\nname = "parquet"'
    once(spark, job(tmp_path, f'table = "{table}"\nmode = "batch"', sink))
    assert sorted(row["k"] for row in spark.table("of_odd_numbers").collect()) == ODD


def test_messages_are_bytes_for_the_expressions_of_spark(spark: SparkSession) -> None:
    """The columns are those of the connector, and expressions read them."""
    kafka = Kafka("s", {"value": "bytes", "schema": {}, "add": [], "options": {}})
    assert kafka.schema() == OWN_COLUMNS
    messages = spark.createDataFrame([(b"a", b'{"k": 7}')], "key binary, value binary")
    text = "from_json(cast(value AS string), 'k bigint').k AS k"
    assert select_columns(kafka.columns(messages), [text], where="here").collect() == [(7,)]
    with pytest.raises(QueryError, match=r"here: Spark says: \[UNRESOLVED_COLUMN\.WITH_SUGGESTION\] [^\n]+$"):
        select_columns(messages, ["valeu"], where="here")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("delta", r"Spark comes without its connector; add \"--packages io\.delta:delta-spark_4\.\d_2\.13:VERSION\""),
        ("avro", r"add \"--packages org\.apache\.spark:spark-avro_2\.13:4[.\d]+\" to spark-submit, or start the job"),
        (
            "nonsense",
            r"Spark knows no format \"nonsense\"; check its name, or .* \"--packages GROUP:ARTIFACT:VERSION\"",
        ),
    ],
)
def test_a_missing_package_is_one_line_that_says_what_to_do(
    spark: SparkSession, tmp_path: Path, name: str, told: str
) -> None:
    asked = job(tmp_path, f'name = "{name}"\npath = "in"', 'name = "noop"', NOW)
    with pytest.raises(Exception, match=r"(?i)find (the )?data source") as caught:
        run_job.answer(asked, spark)
    text = error_text.explain_error(caught.value, asked.hide)
    assert "\n" not in text
    assert re.search(told, text)


def test_functions_of_a_missing_package_say_what_to_do(spark: SparkSession) -> None:
    with pytest.raises(QueryError) as caught:
        select_columns(spark.range(1), ["from_avro(cast('a' AS binary), '{}', map()) AS v"], where="here")
    assert "spark-avro_2.13" in error_text.explain_error(caught.value)


@pytest.mark.parametrize(
    ("source", "sink", "told"),
    [
        ("", 'name = "noop"', "expected the name of a format"),
        ('name = "orc"\ntable = "t"\npath = "in"', 'name = "noop"', "a table of a catalog has its own path"),
        ('name = "orc"', 'path = "in"', "expected the name of a format"),
        ('name = "orc"', 'name = "noop"\nexisting = "append"', "a stream adds to what is there"),
    ],
)
def test_keys_that_do_not_go_together(tmp_path: Path, source: str, sink: str, told: str) -> None:
    with pytest.raises(QueryError, match=told):
        job(tmp_path, source, sink, NOW)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ("", "expected the columns of the value, got none"),
        ('value = "bytes"\nadd = ["key"]', 'value = "bytes" gives the columns of the connector'),
        ('value = "bytes"\nschema = { k = "int" }', 'value = "bytes" gives the columns of the connector'),
    ],
)
def test_values_that_nobody_can_read(tmp_path: Path, keys: str, told: str) -> None:
    text = f'[streams.s.source]\nformat = "kafka"\nservers = "h:1"\ntopic = "t"\n{keys}\n'
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(QueryError, match=told):
        load(tmp_path / "job.toml")


def test_secrets_in_options_of_any_format_are_hidden(tmp_path: Path) -> None:
    names = ["sfPassword", "es.net.http.auth.pass", "pulsar.client.authParams", "awsSecretKey", "http.Authorization"]
    names += ["eventhubs.connectionString", "fs.azure.account.key.box", "token"]
    options = "\n".join(f'"{name}" = "c4n4ry{place}"' for place, name in enumerate(names))
    url = "jdbc:postgresql://me:c4n4ry@h/d?password=c4n4ry"
    asked = job(tmp_path, f'name = "jdbc"\n[streams.s.source.options]\nurl = "{url}"\n{options}', 'name = "noop"', NOW)
    for text in (write_resolved(asked), error_text.explain_error(ValueError(f"{url} {options}"), asked.hide)):
        assert "c4n4ry" not in text
