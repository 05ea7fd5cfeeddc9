"""Sources and sinks on a real session: what the file says is what Spark reads and writes."""

from __future__ import annotations

import io
import json
import os
import re
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eddy
from eddy.errors import QueryError
from eddy.jobs import cli
from eddy.jobs.config import connectors
from eddy.jobs.config.config import Job, load
from eddy.jobs.config.overrides import from_command
from eddy.jobs.run import error_text, run_job, sinks
from eddy.jobs.run.checking import check
from eddy.jobs.run.progress_line import InCheckpoint, Teller, Total, fields, sums_of
from eddy.jobs.run.sinks import SINKS
from eddy.jobs.sources.kafka import Kafka
from eddy.jobs.sources.registry import SOURCES
from eddy.jobs.workloads.web import requests
from eddy.spark.versions import HAS_READ_LIMITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PATIENCE = 120
"""Seconds in which a row must come: much more than it takes, so that a hang is an error."""

PACE = [200, 200, 100] if HAS_READ_LIMITS else [500]
"""Rows of the micro-batches in which a workload comes."""

TAKEN: list[tuple[int, int]] = []


def take(frame: DataFrame, number: int) -> None:
    """A sink by import path."""
    TAKEN.append((number, frame.count()))


def fails(v: Any) -> Any:
    raise KeyError("the user's own mistake")


def job(place: Path, source: str, rest: str, time: str = "at") -> Job:
    text = f"""
[query]
name = "{place.name}"
[streams.s]
time = "{time}"
[streams.s.source]
{source}
[engine]
cells = 2
[policy]
name = "fixed"
{rest}
"""
    (place / "job.toml").write_text(text)
    return load(place / "job.toml")


def ran(spark: SparkSession, asked: Job) -> Any:
    query = sinks.write_answer(run_job.answer(asked, spark), asked).start()
    query.awaitTermination()
    return query


WEB = 'format = "workload"\nkind = "web"\ninput = "web"\nparameters = { rows = 500 }\nper_trigger = 200'
NOW = "[trigger]\navailable_now = true\n"


def test_what_is_described_is_what_there_is() -> None:
    assert set(SOURCES) == set(connectors.STREAM_SOURCES)
    assert set(SOURCES) >= set(connectors.TABLE_SOURCES)
    assert set(SINKS) == set(connectors.SINKS)


def test_a_workload_comes_in_micro_batches_in_order(spark: SparkSession, tmp_path: Path) -> None:
    asked = job(tmp_path, WEB, NOW + '[sink]\nformat = "memory"\nname = "webs"')
    query = ran(spark, asked)
    assert [progress["numInputRows"] for progress in query.recentProgress] == PACE
    found = spark.table("webs").toArrow()
    assert found.num_rows == 500
    assert sorted(found["s_body"].to_pylist()) == sorted(requests(500)["body"].to_pylist())
    (first, *_) = query.recentProgress
    told = fields(first, str(PACE[0]), sums_of(first))
    assert told.startswith(f"batch=0 rows={PACE[0]} total={PACE[0]} rows_per_second=")
    assert told.endswith(f" results={PACE[0]}")


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_are_read_as_the_schema_says(kind: str, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(2):
        rows = [{"at": f"2026-01-01T00:00:0{n}Z", "v": n + 10 * number} for n in range(3)]
        lines = [json.dumps(row) for row in rows]
        lines = lines if kind == "json" else ["at,v", *(f"{row['at']},{row['v']}" for row in rows)]
        (tmp_path / "in" / f"{number}.{kind}").write_text("\n".join(lines))
    source = f'format = "{kind}"\npath = "{tmp_path}/in"\nfiles_per_trigger = 1\n'
    source += 'schema = { at = "timestamp", v = "bigint" }'
    query = ran(spark, job(tmp_path, source, NOW + f'[sink]\nformat = "memory"\nname = "{kind}s"'))
    assert len(query.recentProgress) == 2
    assert sorted(row.s_v for row in spark.table(f"{kind}s").collect()) == [0, 1, 2, 10, 11, 12]


def test_rows_of_files_are_held_against_the_time_at_which_they_were_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    for number, written in enumerate(("2026-01-01T00:30:00", "2026-01-01T01:30:00")):
        file = tmp_path / "in" / f"{number}.json"
        file.write_text("\n".join(json.dumps({"at": f"2026-01-01T0{n}:00:00Z", "v": n}) for n in range(4)))
        when = datetime.fromisoformat(f"{written}Z").timestamp() + 0.0015
        os.utime(file, (when, when))
    source = f'format = "json"\npath = "{tmp_path}/in"\nadd = ["modified"]\nschema = {{ at = "timestamp", v = "int" }}'
    sink = '[sink]\nformat = "memory"\nname = "modified"\n[query]\nselect = ["s.v", "s.file_modified as m"]'
    text = f'[streams.s]\ntime = "at"\nmax_ahead = "1 hour"\narrived = "file_modified"\n[streams.s.source]\n{source}\n'
    (tmp_path / "job.toml").write_text(f"{text}[engine]\ncells = 2\n{NOW}{sink}")
    asked = load(tmp_path / "job.toml")
    files = SOURCES["json"]("s", asked.sources["s"])
    sample = files.sample(1)
    assert sample is not None
    assert sample.schema == files.schema() == check(asked).schemas["s"]
    query = ran(spark, asked)
    found = spark.table("modified").toArrow()
    assert sorted(found["v"].to_pylist()) == [0, 0, 1, 1, 2]
    assert set(found["m"].to_pylist()) >= set(sample["file_modified"].to_pylist())
    assert eddy.report_of(query).batches()["ahead"].sum() == 3
    with pytest.raises(QueryError, match='source of "s": add: unknown column "size"'):
        SOURCES["json"]("s", {**asked.sources["s"], "add": ["size"]})


def test_rows_come_at_a_rate(spark: SparkSession, tmp_path: Path) -> None:
    asked = job(tmp_path, 'format = "rate"\nper_second = 50', '[sink]\nformat = "memory"\nname = "rates"', "timestamp")
    query = sinks.write_answer(run_job.answer(asked, spark), asked).start()
    end = time.monotonic() + PATIENCE
    while not spark.table("rates").count() and query.isActive and time.monotonic() < end:
        time.sleep(0.2)
    query.stop()
    assert spark.table("rates").columns == ["s_timestamp", "s_value"]
    assert spark.table("rates").agg({"s_value": "min"}).first() == (0,)


def test_a_function_takes_every_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    TAKEN.clear()
    rest = f'{NOW}[sink]\nformat = "foreach_batch"\nfunction = "tests.jobs.test_sources:take"\n'
    ran(spark, job(tmp_path, WEB, f'{rest}[checkpoint]\nlocation = "{tmp_path}/c"'))
    assert list(enumerate(PACE)) == TAKEN


def test_parquet_files_are_read_and_written(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(3):
        pq.write_table(requests(300).slice(100 * number, 100), tmp_path / "in" / f"{number}.parquet")
    source = f'format = "parquet"\npath = "{tmp_path}/in"\nfiles_per_trigger = 2'
    sink = f'[sink]\nformat = "parquet"\npath = "{tmp_path}/out"\npartition_by = ["s_signed"]'
    rest = f'[filters.small]\non = "s"\nwhere = "size < 5000"\n{NOW}{sink}\n[checkpoint]\nlocation = "{tmp_path}/c"'
    query = ran(spark, job(tmp_path, source, rest))
    assert len(query.recentProgress) == 2
    assert {place.name for place in (tmp_path / "out").glob("s_signed=*")} == {"s_signed=false", "s_signed=true"}
    found = pq.read_table(tmp_path / "out")
    sizes = [size for size in requests(300)["size"].to_pylist() if size < 5_000]
    assert sorted(found["s_size"].to_pylist()) == sorted(sizes)


def test_options_are_heeded_where_the_columns_are_read_as_well(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(requests(300).drop_columns(["size"]), tmp_path / "in" / "0.parquet")
    pq.write_table(requests(200), tmp_path / "in" / "1.parquet")
    source = f'format = "parquet"\npath = "{tmp_path}/in"\noptions = {{ mergeSchema = true }}'
    rest = f'[filters.all]\non = "s"\nwhere = "size is null"\n{NOW}[sink]\nformat = "memory"\nname = "merged"'
    asked = job(tmp_path, source, rest)
    assert check(asked).schemas == {}
    ran(spark, asked)
    assert spark.table("merged").count() == 300


def test_what_goes_nowhere_is_computed_all_the_same(spark: SparkSession, tmp_path: Path) -> None:
    query = ran(spark, job(tmp_path, WEB, NOW + '[sink]\nformat = "noop"'))
    assert list(eddy.report_of(query).batches()["results"]) == PACE


def test_a_setup_runs_once_in_every_worker(spark: SparkSession, tmp_path: Path) -> None:
    names = 'function = "tests.jobs.models:small"\nsetup = "tests.jobs.models:load"\ncolumns = ["size"]'
    for number in range(2):
        rest = f'[filters.small]\non = "s"\n{names}\n{NOW}[sink]\nformat = "memory"\nname = "small{number}"'
        query = ran(spark, job(tmp_path, WEB, rest))
        assert len(query.recentProgress) == len(PACE)
        expected = sum(size < 5_000 for size in requests(500)["size"].to_pylist())
        assert spark.table(f"small{number}").count() == expected


def test_a_damaged_checkpoint_is_told_with_its_place(spark: SparkSession, tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    place.mkdir()
    (place / "metadata").write_text("no JSON")
    rest = f'{NOW}[sink]\nformat = "parquet"\npath = "out"\n[checkpoint]\nlocation = "checkpoint"'
    asked = job(tmp_path, WEB, rest)
    with pytest.raises(eddy.QueryError) as caught:
        run_job.start(sinks.write_answer(run_job.answer(asked, spark), asked), asked)
    told = error_text.explain_error(caught.value)
    assert told.startswith(
        f'error: the checkpoint "{place}" or the folder of the sink cannot be used by Spark: JsonParse'
    )
    assert told.endswith("\n  restore what Spark has written there, or name another folder")
    assert "calling" not in told


def test_a_checkpoint_of_a_newer_spark_is_told(spark: SparkSession, tmp_path: Path) -> None:
    rest = f'{NOW}[sink]\nformat = "parquet"\npath = "out"\n[checkpoint]\nlocation = "checkpoint"'
    asked = job(tmp_path, WEB, rest)
    run_job.start(sinks.write_answer(run_job.answer(asked, spark), asked), asked).awaitTermination()
    for log in (tmp_path / "checkpoint" / "offsets").iterdir():
        if log.suffix == ".crc":
            log.unlink()
        else:
            log.write_text(re.sub(r"\Av\d+", "v99", log.read_text()))
    with pytest.raises(error_text.EXPECTED) as caught:
        run_job.start(sinks.write_answer(run_job.answer(asked, spark), asked), asked).awaitTermination()
    told = error_text.explain_error(caught.value)
    assert "encountered v99" in told
    assert told.endswith(
        "a newer Spark has written the checkpoint: run the job with that one, or name a new checkpoint"
    )


def test_a_setup_that_fails_is_told_without_the_way_to_it(spark: SparkSession, tmp_path: Path) -> None:
    names = 'function = "tests.jobs.models:small"\nsetup = "tests.jobs.models:missing"\ncolumns = ["size"]'
    asked = job(tmp_path, WEB, f'[filters.small]\non = "s"\n{names}\n{NOW}[sink]\nformat = "noop"')
    with pytest.raises(error_text.EXPECTED) as caught:
        ran(spark, asked)
    told = error_text.explain_error(caught.value)
    assert told.startswith('error: filter "small": setup "missing" raised FileNotFoundError: no model.bin, at line')
    assert "Traceback" not in told


def test_what_a_users_function_raises_is_told_without_the_way_to_it(spark: SparkSession, tmp_path: Path) -> None:
    rest = '[filters.wrong]\non = "s"\nfunction = "tests.jobs.test_sources:fails"\ncolumns = ["size"]\n'
    asked = job(tmp_path, WEB, f'{rest}{NOW}[sink]\nformat = "noop"')
    with pytest.raises(error_text.EXPECTED) as caught:
        ran(spark, asked)
    told = error_text.explain_error(caught.value)
    assert 'filter "wrong"' in told
    assert "the user's own mistake" in told
    assert "Traceback" not in told
    assert "\tat " not in told


def test_a_column_that_the_answer_does_not_have_is_told(spark: SparkSession, tmp_path: Path) -> None:
    rest = f'[sink]\nformat = "parquet"\npath = "{tmp_path}/out"\npartition_by = ["s_siz"]\n'
    asked = job(tmp_path, WEB, f'{rest}[checkpoint]\nlocation = "{tmp_path}/c"')
    with pytest.raises(QueryError, match=r'line 19, sink\.partition_by: unknown output column "s_siz"; did you mean'):
        sinks.write_answer(run_job.answer(asked, spark), asked)


def test_the_timestamp_of_a_message_may_say_when_its_row_arrived(tmp_path: Path) -> None:
    limit = '[streams.s]\ntime = "at"\nmax_ahead = "1 hour"\narrived = "kafka_timestamp"\n[streams.s.source]\n'
    source = (
        'format = "kafka"\nservers = "localhost:1"\ntopic = "t"\nadd = ["timestamp"]\nschema = { at = "timestamp" }'
    )
    (tmp_path / "job.toml").write_text(f"{limit}{source}")
    binding = check(load(tmp_path / "job.toml")).binding
    assert binding is not None
    assert binding.schema.names == ["s_at"]
    (tmp_path / "job.toml").write_text(f"{limit}{source}".replace('"timestamp" }', '"timestamp_ntz" }'))
    with pytest.raises(QueryError, match=r'arrived: expected a column of the kind of time "at", .*; cast one of them'):
        check(load(tmp_path / "job.toml"))


def test_what_the_connector_is_told() -> None:
    values = {
        "servers": "a:1,b:2",
        "topic": "t",
        "starting": "earliest",
        "per_trigger": 7,
        "value": "json",
        "add": ["key"],
        "schema": {"at": "timestamp"},
        "options": {"failOnDataLoss": False},
    }
    source = Kafka("s", values)
    assert source.options() == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "subscribe": "t",
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "7",
        "failOnDataLoss": "false",
    }
    assert source.schema() == pa.schema({"at": pa.timestamp("us", "UTC"), "kafka_key": pa.string()})
    with pytest.raises(QueryError, match='unknown column "kee"'):
        Kafka("s", {**values, "add": ["kee"]})


LASTS = """
[checkpoint]
location = "checkpoint"
[sink]
format = "noop"
"""

TIMES: list[list[str | None]] = [["10:00:00", "10:00:50", "10:00:51"], ["09:00:00", "09:00:01", None, "10:01:00"]]


def test_rows_that_take_no_part_are_told_and_the_total_goes_on(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two starts on one checkpoint; in the second come rows of an hour before, and one without a time."""
    (tmp_path / "in").mkdir()
    source = 'format = "json"\npath = "in"\nschema = { at = "timestamp", v = "bigint" }'
    file = job(tmp_path, source, NOW + LASTS).file
    said = []
    for number, times in enumerate(TIMES):
        rows = [{"v": 1} if at is None else {"at": f"2026-01-01T{at}Z", "v": 1} for at in times]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(map(json.dumps, rows)))
        asked, out = load(file, [from_command("streams.s.delay=10 seconds")]), io.StringIO()
        teller = Teller(quiet=False, live=False, out=out)
        teller.go_on(Total(InCheckpoint(spark, str(asked.checkpoint))))
        for progress in ran(spark, asked).recentProgress:
            teller.tell(progress)
        teller.end("over")
        said.append(out.getvalue().splitlines())
    first, second = said
    assert " rows=3 total=3 " in first[0]
    assert "late" not in "".join(first)
    assert " rows=4 total=7 " in second[0]
    assert " results=1 late=2 late_in=s:2 bad=1 bad_in=s:1 " in second[0]
    assert second[-1] == "over; rows=4 results=1 late=2 late_in=s:2 bad=1 bad_in=s:1"
    assert cli.main(["inspect", str(tmp_path / "checkpoint")]) == 0
    assert re.search(r"\n  s +7 +2  2026-01-01 .*  1 without a time\n", capsys.readouterr().out)
