"""kill -9 of conf/kafka.toml in the middle of writing: nothing is lost, and the key tells what came twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from eddy.jobs.commands.run import environment, submission
from tests.house import ROOT
from tests.jobs.kafka.broker import PASSWORD, PLAIN, USER, Broker, Sent
from tests.jobs.kafka.jars import Jars

PATIENCE = 120
"""Seconds to wait for a job: it is not what is tested, and a machine may be busy."""

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
WINDOW, NEAR = timedelta(minutes=5), 5
SENSORS, HELD = 10, 77
"""Sensors that have many readings, and the one whose only reading holds up its cell."""

READINGS, PER_TRIGGER = 400, 100
LATER = 300
"""Readings that are sent while the job is dead."""

HOLDS = 210
"""The place of the reading that holds up: the third micro-batch has it."""

FILTERS = """
import time
from pathlib import Path
import pandas as pd

def passes(sensor: pd.Series) -> pd.Series:
    while (sensor == {held}).any() and Path("{place}/hold").exists():
        time.sleep(0.05)
    return sensor >= 0
"""
"""A filter that all pass, and that one reading waits in, so that the other cell is done and this one is not."""

LOGIN = 'KafkaClient {{ {plain} required username="{user}" password="{password}"; }};'

Row = tuple[int, datetime, float]


def readings() -> list[Row]:
    rows = [(n % SENSORS, START + timedelta(seconds=n), float(n * 7 % 40)) for n in range(READINGS)]
    rows[HOLDS] = (HELD, START + timedelta(seconds=HOLDS), 20.0)
    return rows


def alarms() -> list[Row]:
    rows = [(n % SENSORS, START + timedelta(seconds=10 * n), float(n * 3 % 40)) for n in range(READINGS // 10)]
    return [*rows, (HELD, START + timedelta(seconds=HOLDS + 1), 21.0)]


def expected() -> dict[str, Any]:
    """The naive answer: every pair of a reading and an alarm that belong together, by its key."""
    found = {}
    for sensor, at, temperature in readings():
        for other, raised, threshold in alarms():
            if sensor == other and abs(at - raised) <= WINDOW and abs(temperature - threshold) <= NEAR:
                key = {"sensor": sensor, "at": text(at), "raised": text(raised)}
                spelled = json.dumps(key, separators=(",", ":"))
                found[spelled] = {**key, "temperature": temperature, "threshold": threshold}
    return found


def text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1_000)


def sent(kafka: Broker, first: int, end: int) -> None:
    """Some readings, in turns over two partitions, and among them one that nobody can read."""
    rows = [
        Sent(value=json.dumps({"at": text(at), "sensor": sensor, "temperature": value}), partition=number % 2)
        for number, (sensor, at, value) in enumerate(readings()[first:end])
    ]
    kafka.send("readings", [*rows, Sent(value=b"\xff{ this is no JSON")])


def arranged(kafka: Broker, place: Path) -> None:
    """Topics, what is in them at first, and the files of the job."""
    kafka.topics("readings", "alarms", "matches", partitions=2)
    sent(kafka, 0, LATER)
    raised = [Sent(value=f"{s},{v}", key=str(s), at=milliseconds(at), partition=s % 2) for s, at, v in alarms()]
    kafka.send("alarms", [*raised, Sent(value="no number,20.0", at=milliseconds(START))])
    (place / "waiting.py").write_text(FILTERS.format(held=HELD, place=place))
    (place / "login.conf").write_text(LOGIN.format(plain=PLAIN, user=USER, password=PASSWORD))
    (place / "hold").touch()


def command(kafka: Broker, jars: Jars, place: Path) -> list[str]:
    """What `eddy run` becomes."""
    kafkas = ("streams.readings.source", "streams.alarms.source", "sink")
    login = {"kafka.security.protocol": "SASL_PLAINTEXT", "kafka.sasl.mechanism": "PLAIN"}
    sets = {
        **{f"{where}.servers": kafka.login for where in kafkas},
        **{f"{where}.options.{name}": value for where in kafkas for name, value in login.items()},
        "streams.readings.source.per_trigger": PER_TRIGGER,
        "filters.waiting.on": "readings",
        "filters.waiting.function": "waiting:passes",
        "engine.cells": 2,
        "spark.sql.shuffle.partitions": 2,
        "trigger.every": "",
        "trigger.available_now": "true",
        "checkpoint.location": place / "checkpoint",
    }
    spark = ["--master", "local[2]", "--jars", ",".join(map(str, jars.connector))]
    spark += ["--driver-java-options", f"-Djava.security.auth.login.config={place}/login.conf"]
    spark += ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.session.timeZone=UTC"]
    given = [f"{name}={value}" for name, value in sets.items()]
    return submission(str(ROOT / "conf" / "kafka.toml"), given, spark, quiet=False)


@contextmanager
def started(line: Sequence[str], place: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A job, in a group of processes of its own; nothing of it is left."""
    with log.open("w") as file:
        process = subprocess.Popen(
            line,
            cwd=place,
            env=environment({**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{place}"}),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)


def until(true: Callable[[], bool], process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert process.poll() is None, log.read_text("utf-8")
        assert time.monotonic() < end, log.read_text("utf-8")
        time.sleep(0.1)


def batches(log: Path) -> list[Mapping[str, str]]:
    """The lines of progress, as fields."""
    lines = [line for line in log.read_text("utf-8").splitlines() if line.startswith("batch=")]
    return [dict(field.split("=", 1) for field in line.split()) for line in lines]


@pytest.mark.long
@pytest.mark.timeout(5 * PATIENCE)
def test_the_example_survives_a_kill_in_the_middle_of_writing(kafka: Broker, fetched: Jars, tmp_path: Path) -> None:
    arranged(kafka, tmp_path)
    line, first, second = command(kafka, fetched, tmp_path), tmp_path / "first.log", tmp_path / "second.log"
    try:
        with started(line, tmp_path, first) as job:
            until(lambda: len(batches(first)) == 2, job, first)
            told = sum(int(one["results"]) for one in batches(first))
            until(lambda: kafka.count("matches") > told, job, first)
            os.killpg(job.pid, signal.SIGKILL)
    finally:
        (tmp_path / "hold").unlink()
    sent(kafka, LATER, READINGS)
    with started(line, tmp_path, second) as job:
        assert job.wait(PATIENCE) == 0, second.read_text("utf-8")
    assert batches(second)[0]["batch"] == "2"
    messages = kafka.read("matches")
    found = {message.key() or b"": message.value() or b"" for message in messages}
    # What the dead job had written of its last micro-batch is there twice, and alike.
    assert len(messages) > len(found)
    assert len({(message.key(), message.value()) for message in messages}) == len(found)
    assert {key.decode(): json.loads(value) for key, value in found.items()} == expected()
    for log in (first, second):
        assert PASSWORD not in log.read_text("utf-8")


def test_the_answer_that_is_expected_is_no_empty_one() -> None:
    keys = [json.loads(key)["sensor"] for key in expected()]
    assert keys.count(HELD) == 1
    assert set(keys) == {*range(SENSORS), HELD}
    assert len(keys) > READINGS // 2
