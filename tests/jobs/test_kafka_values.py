"""Kafka without a broker: every way in which a value can be wrong, keys that are no text, and no connector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eddy.jobs.run import error_text, run_job
from eddy.jobs.run.sinks import write_answer
from eddy.jobs.sources.kafka import Kafka
from tests.jobs.test_sources import job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Columns = tuple[int | None, str | None, int | None]

SCHEMA = {"k": "bigint", "s": "string", "it's": "int"}

RIGHT: dict[str, dict[bytes, Columns]] = {
    "json": {
        b'{"k": 1, "s": "a", "it\'s": 2}': (1, "a", 2),
        b'{"s": null}': (None, None, None),
        b"{}": (None, None, None),
        b'{"k": 1, "more": 5}': (1, None, None),
        b'{"s": "\xff"}': (None, "\ufffd", None),
    },
    "csv": {
        b"1,a,2": (1, "a", 2),
        b",,": (None, None, None),
        b'1,"a,b",': (1, "a,b", None),
        b"1,\xff,": (1, "\ufffd", None),
    },
}
"""Values that fit, and what is read of them."""

WRONG: dict[str, dict[bytes, Columns]] = {
    "json": {
        b'{"k": "x", "s": "a"}': (None, "a", None),
        b'{"k": 1.5, "s": "a"}': (None, "a", None),
        b'{"k": 99999999999999999999}': (None, None, None),
        b'{"k": 1,': (None, None, None),
        b"null": (None, None, None),
        b'[{"k": 1}]': (None, None, None),
        b"5": (None, None, None),
        b" ": (None, None, None),
        b"\xff\xfe": (None, None, None),
    },
    "csv": {
        b"x,a,2": (None, "a", 2),
        b" 1,a,2": (None, "a", 2),
        b"1.5,a,": (None, "a", None),
        b"1": (1, None, None),
        b"1,a,2,more": (1, "a", 2),
        b'1,"a': (1, "a", None),
        b"1,a\n2,b": (1, "a\n2", None),
    },
}
"""Values that do not, and what is read of them all the same."""

NO_VALUE = (None, b"")


def read(spark: SparkSession, kind: str, values: list[bytes | None], *added: str) -> list[tuple[Any, ...]]:
    """Rows as they reach Python, in the order of the messages."""
    source = Kafka("s", {"value": kind, "add": ["offset", *added], "schema": SCHEMA})
    columns = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
    rows: Any = [(b"\xff%d" % n, value, "t", 0, n, None) for n, value in enumerate(values)]
    messages: DataFrame = spark.createDataFrame(rows, columns)
    found = source.columns(messages).toArrow()
    found.validate(full=True)
    assert found.column_names == [*SCHEMA, "kafka_offset", *(f"kafka_{name}" for name in added)]
    ordered = found.sort_by("kafka_offset").drop_columns("kafka_offset").to_pydict()
    return list(zip(*ordered.values(), strict=True))


@pytest.mark.parametrize("kind", list(RIGHT))
def test_what_fits_is_read_and_said_to_be_right(kind: str, spark: SparkSession) -> None:
    assert read(spark, kind, list(RIGHT[kind]), "malformed") == [(*row, None) for row in RIGHT[kind].values()]


@pytest.mark.parametrize("kind", list(WRONG))
def test_what_does_not_fit_is_kept_as_it_came(kind: str, spark: SparkSession) -> None:
    expected = [(*row, value.decode("utf-8", "replace")) for value, row in WRONG[kind].items()]
    assert read(spark, kind, list(WRONG[kind]), "malformed") == expected


@pytest.mark.parametrize("kind", list(RIGHT))
def test_a_message_without_a_value_is_not_right_either(kind: str, spark: SparkSession) -> None:
    assert read(spark, kind, list(NO_VALUE), "malformed") == [(None, None, None, "")] * 2


@pytest.mark.parametrize("kind", list(RIGHT))
def test_the_columns_are_the_same_when_nobody_asks_what_is_wrong(kind: str, spark: SparkSession) -> None:
    values = {**RIGHT[kind], **WRONG[kind]}
    assert read(spark, kind, list(values)) == list(values.values())


def test_a_key_that_is_no_text_is_no_reason_to_fail(spark: SparkSession) -> None:
    assert read(spark, "json", [b"{}"], "key") == [(None, None, None, "\ufffd0")]


@pytest.mark.parametrize("place", ["source", "sink"])
def test_without_the_connector_one_sentence_says_what_to_do(place: str, spark: SparkSession, tmp_path: Path) -> None:
    kafka = 'format = "kafka"\nservers = "localhost:1"\ntopic = "t"'
    source = f'{kafka}\nschema = {{ at = "timestamp" }}' if place == "source" else 'format = "rate"'
    time = "at" if place == "source" else "timestamp"
    asked = job(tmp_path, source, f'[sink]\n{kafka}\n[checkpoint]\nlocation = "{tmp_path}/c"', time=time)
    with pytest.raises(error_text.EXPECTED) as caught:
        write_answer(run_job.answer(asked, spark), asked).start()
    told = error_text.explain_error(caught.value)
    assert told.startswith("error: the job reads or writes Kafka, and Spark comes without its connector; add")
    assert f'"eddy run JOB -- --packages org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"' in told
    assert len(told.splitlines()) == 1
