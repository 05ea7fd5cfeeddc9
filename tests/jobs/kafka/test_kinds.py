"""What a job may say of Kafka, each against the broker: keys, values, where to begin, limits, logins."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from eddy.jobs.commands.run import environment, spark_submit
from tests.conftest import FEW_ROWS
from tests.house import ROOT
from tests.jobs.kafka.broker import PASSWORD, PLAIN, USER, Broker, Sent
from tests.jobs.kafka.jars import Jars

PATIENCE = 200
"""Seconds for all jobs: what takes longer hangs."""

SETTINGS = {
    **FEW_ROWS,
    "spark.log.level": "INFO",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}
"""With what the jobs run; everything that Spark and the client say is said."""

JOB = """
[query]
name = "{name}"
[streams.s]
time = "kafka_timestamp"
[streams.s.source]
format = "kafka"
servers = "{servers}"
topic = "{topic}"
starting = '{starting}'
value = "{value}"
add = ["key", "topic", "partition", "offset", "timestamp", "malformed"]
schema = {{ id = "bigint", word = "string" }}
{source}
[engine]
cells = 1
[trigger]
available_now = true
"""
MEMORY = '[sink]\nformat = "memory"\n'
LOGIN = """
[streams.s.source.options]
kafka.security.protocol = "SASL_PLAINTEXT"
kafka.sasl.mechanism = "PLAIN"
kafka.sasl.jaas.config = '{plain} required username="{user}" password="{password}";'
fetchOffset.numRetries = 1
"""
FAILS = '[filters.fails]\non = "s"\nfunction = "tests.jobs.test_sources:fails"\ncolumns = ["id"]\n'
WRONG = "never-told-0815"

VALUES = {
    "json": ['{"id": 1, "word": "a"}', '{"id": "one", "word": "b"}', "{", None, '{"word": "ü"}'],
    "csv": ["1,a", "one,b", "1,a,b", None, ",ü"],
}
"""Five values of a topic: right, in part right, wrong, none, and right with a column that is null."""

NUMBERED = 10
"""Messages in each of the two partitions of a topic that has numbers and nothing else."""


@dataclass(frozen=True, kw_only=True)
class Gave:
    """What a job gave."""

    batches: list[int]
    answers: list[dict[str, Any]]
    told: str


@dataclass(frozen=True, kw_only=True)
class Done:
    """What all jobs gave, by name, what the driver said meanwhile, and what is in a checkpoint."""

    gave: dict[str, Gave]
    log: str
    checkpoint: bytes


def job(place: Path, name: str, servers: str, *, topic: str, value: str = "json", **more: str) -> None:
    given = {"name": name, "servers": servers, "topic": topic, "value": value}
    text = JOB.format(**given, starting=more.get("starting", "earliest"), source=more.get("source", ""))
    (place / f"{name}.toml").write_text(text + more.get("rest", MEMORY))


def login(password: str) -> str:
    return LOGIN.format(plain=PLAIN, user=USER, password=password)


def sink(place: Path, name: str, servers: str, password: str, more: str = "") -> str:
    options = login(password).replace("streams.s.source", "sink").replace("fetchOffset.numRetries = 1", "")
    written = f'[sink]\nformat = "kafka"\nservers = "{servers}"\ntopic = "out"\n{more}\n{options}'
    return f'[checkpoint]\nlocation = "{place}/{name}"\n{written}'


def arranged(kafka: Broker, place: Path) -> None:
    """Topics, what is in them, and jobs that read them."""
    kafka.topics("json", "csv", "committed", "out")
    kafka.topics("numbers", partitions=2)
    for kind, values in VALUES.items():
        kafka.send(kind, [Sent(value=v, key=None if n == 1 else f"k{n}", at=n + 1) for n, v in enumerate(values)])
        job(place, kind, kafka.servers, topic=kind, value=kind)
    numbers = [Sent(value=f"{n},p{p}", at=n + 1, partition=p) for p in (0, 1) for n in range(NUMBERED)]
    kafka.send("numbers", numbers)
    offsets = '{"numbers": {"0": 4, "1": -2}}'
    job(place, "offsets", kafka.servers, topic="numbers", value="csv", starting=offsets)
    job(place, "limited", kafka.servers, topic="numbers", value="csv", source="per_trigger = 6")
    kafka.send("committed", [Sent(value="1,kept", at=1)], **{"transactional.id": "first"}).commit_transaction()
    kafka.send("committed", [Sent(value="2,given up", at=2)], **{"transactional.id": "second"}).abort_transaction()
    committed = '[streams.s.source.options]\nkafka.isolation.level = "read_committed"'
    job(place, "committed", kafka.servers, topic="committed", value="csv", source=committed)
    job(place, "uncommitted", kafka.servers, topic="committed", value="csv")
    known = sink(place, "login", kafka.login, PASSWORD, 'key = "s_id"\nvalue = "csv"')
    job(place, "login", kafka.login, topic="json", source=login(PASSWORD), rest=known)
    job(place, "refused", kafka.login, topic="json", source=login(WRONG))
    job(
        place,
        "failing",
        kafka.login,
        topic="json",
        source=login(PASSWORD),
        rest=FAILS + sink(place, "failing", kafka.login, PASSWORD),
    )
    job(place, "unwritten", kafka.servers, topic="json", rest=sink(place, "unwritten", kafka.login, WRONG))


@pytest.fixture(scope="module")
def done(kafka: Broker, fetched: Jars, tmp_path_factory: pytest.TempPathFactory) -> Done:
    place = tmp_path_factory.mktemp("cases")
    arranged(kafka, place)
    given = [word for name, value in SETTINGS.items() for word in ("--conf", f"{name}={value}")]
    spark = [spark_submit(), "--master", "local[2]", "--jars", ",".join(map(str, fetched.connector)), *given]
    command = [*spark, str(ROOT / "tests" / "jobs" / "kafka" / "cases.py"), str(place)]
    env = environment({**os.environ, "PYTHONPATH": str(ROOT)})
    with (place / "log").open("w") as log:
        ended = subprocess.run(
            command, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=PATIENCE, check=False
        )
    told = (place / "log").read_text("utf-8")
    assert ended.returncode == 0, told
    gave = {file.stem: Gave(**json.loads(file.read_text())) for file in place.glob("*.json")}
    kept = b"".join(file.read_bytes() for file in (place / "login").rglob("*") if file.is_file())
    return Done(gave=gave, log=told, checkpoint=kept)


pytestmark = [pytest.mark.process, pytest.mark.timeout(3 * PATIENCE)]


@pytest.mark.parametrize("kind", list(VALUES))
def test_values_are_columns_and_what_cannot_be_read_is_kept(kind: str, done: Done) -> None:
    rows = sorted(done.gave[kind].answers, key=lambda row: int(row["s_kafka_offset"]))
    assert [row.get("s_kafka_key") for row in rows] == ["k0", None, "k2", "k3", "k4"]
    assert {(row["s_kafka_topic"], row["s_kafka_partition"]) for row in rows} == {(kind, 0)}
    assert rows[3]["s_kafka_timestamp"] == "1970-01-01 00:00:00.004000+00:00"
    assert [row.get("s_kafka_malformed") for row in rows] == [None, *VALUES[kind][1:3], "", None]
    assert [row.get("s_id") for row in rows][:2] == [1, None]
    assert [row.get("s_word") for row in rows][:2] == ["a", "b"]
    assert rows[4].get("s_id") is None
    assert rows[4]["s_word"] == "ü"


def test_a_job_begins_where_it_is_told_to(done: Done) -> None:
    rows = sorted((row["s_kafka_partition"], row["s_id"]) for row in done.gave["offsets"].answers)
    assert rows == [(0, n) for n in range(4, NUMBERED)] + [(1, n) for n in range(NUMBERED)]


def test_a_micro_batch_has_no_more_than_is_allowed(done: Done) -> None:
    limited = done.gave["limited"]
    assert sum(limited.batches) == len(limited.answers) == 2 * NUMBERED
    assert max(limited.batches) == 6


def test_what_a_producer_gave_up_is_read_unless_the_file_says_not_to(done: Done) -> None:
    assert [row["s_word"] for row in done.gave["committed"].answers] == ["kept"]
    assert sorted(row["s_word"] for row in done.gave["uncommitted"].answers) == ["given up", "kept"]


def test_who_has_the_password_reads_and_writes(done: Done, kafka: Broker) -> None:
    assert done.gave["login"].told == ""
    found = [(message.key(), message.value()) for message in kafka.read("out")]
    assert len(found) == len(VALUES["json"])
    assert (b"1", b"1,a,k0,json,0,0,1970-01-01T00:00:00.001000Z,") in found


def test_who_has_it_not_is_told_so(done: Done) -> None:
    assert "SaslAuthenticationException" in done.gave["refused"].told
    assert "SaslAuthenticationException" in done.gave["unwritten"].told


def test_no_password_is_told_by_anybody(done: Done) -> None:
    assert "the user's own mistake" in done.gave["failing"].told
    # The client tells of its settings: it was listened to.
    assert "sasl.jaas.config = [hidden]" in done.log
    for text in (done.log, *(gave.told for gave in done.gave.values())):
        assert PASSWORD not in text
        assert WRONG not in text
    assert b'{"json":{"0":5}}' in done.checkpoint
    assert PASSWORD.encode() not in done.checkpoint


def test_an_error_does_not_go_on_with_the_plan_of_the_query(done: Done) -> None:
    for name in ("failing", "refused", "unwritten"):
        assert "Streaming Query" not in done.gave[name].told
        assert "SQLSTATE" not in done.gave[name].told
